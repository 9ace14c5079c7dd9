//! Histories in a bucket of a real S3 server: moto, which `.ci/run` installs.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use flakewise_testkit::{Output, TestContext};
use serde_json::Value;

use crate::{context, python};

/// Starts a server on a free port, makes a bucket, and prints the port.
const SERVER: &str = "
import boto3, moto.server
server = moto.server.ThreadedMotoServer(ip_address='127.0.0.1', port=0, verbose=False)
server.start()
port = server.get_host_and_port()[1] if hasattr(server, 'get_host_and_port') else server._server.port
client = boto3.client('s3', endpoint_url=f'http://127.0.0.1:{port}', region_name='us-east-1',
                      aws_access_key_id='key', aws_secret_access_key='secret')
client.create_bucket(Bucket='acme')
print(port, flush=True)
import sys
sys.stdin.read()
";

const REPORT: &str = r#"<testsuite name="pytest" tests="1">
<testcase classname="tests.test_cart" file="tests/test_cart.py" name="test_total" time="0.1">OUTCOME</testcase>
</testsuite>"#;

/// A server that ends when nobody holds it any more.
struct Server {
    process: Child,
    endpoint: String,
}

impl Server {
    fn start() -> Self {
        Self::start_with("FLAKEWISE_TEST_S3_PYTHON")
    }

    /// The server of the Python that this variable names.
    fn start_with(variable: &str) -> Self {
        let python = std::env::var(variable)
            .unwrap_or_else(|_| panic!("{variable} is a Python with `moto[server]`; .ci/run makes one"));
        let mut process = Command::new(python)
            .args(["-c", SERVER])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the server starts");
        let mut port = String::new();
        let stdout = process.stdout.take().expect("it is piped");
        BufReader::new(stdout).read_line(&mut port).expect("the server says its port");
        assert!(!port.trim().is_empty(), "the server ended");
        Self { process, endpoint: format!("http://127.0.0.1:{}", port.trim()) }
    }

    fn command(&self, context: &TestContext) -> Command {
        let mut command = context.command();
        command
            .env("AWS_ENDPOINT_URL", &self.endpoint)
            .env("AWS_ALLOW_HTTP", "true")
            .env("AWS_ACCESS_KEY_ID", "key")
            .env("AWS_SECRET_ACCESS_KEY", "secret")
            .env("AWS_REGION", "us-east-1")
            // moto lets several writers win now and then.
            .env("FLAKEWISE_SINGLE_WRITER", "1")
            .env("FLAKEWISE_STORE", "s3://acme/history")
            .env("FLAKEWISE_PROJECT", "acme/shop");
        command
    }

    /// What is in the bucket.
    fn files(&self) -> Vec<String> {
        let python = std::env::var("FLAKEWISE_TEST_S3_PYTHON").expect("it started the server");
        let script = "
import boto3, sys
client = boto3.client('s3', endpoint_url=sys.argv[1], region_name='us-east-1',
                      aws_access_key_id='key', aws_secret_access_key='secret')
for entry in client.list_objects_v2(Bucket='acme').get('Contents', []):
    print(entry['Key'])
";
        let output = Command::new(python).args(["-c", script, &self.endpoint]).output().expect("it runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
    }

    fn run(&self, context: &TestContext, arguments: &[&str]) -> Output {
        context.finish(self.command(context).args(arguments))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn write_report(context: &TestContext, number: usize, failed: bool) -> String {
    let name = format!("reports/{number}.xml");
    let outcome = if failed { "<failure message=\"no\">no</failure>" } else { "" };
    context.write(&name, REPORT.replace("OUTCOME", outcome).replace("0.1", &format!("0.{number}")));
    name
}

fn without_credentials(context: &TestContext) -> Command {
    let mut command = context.command();
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("AWS_")) {
        command.env_remove(name);
    }
    command
}

#[test]
fn a_bucket_records_everything_once() {
    let (server, context) = (Server::start(), context());
    // Each is written twice, and only one of the two may count. One after the other: moto lets
    // several writers win a race, see bench/bucket for servers that do not.
    for number in 0..12 {
        let report = write_report(&context, number / 2, number / 2 == 3);
        let run = format!("run-{}", number / 2);
        let arguments = ["ingest", &report, "--run", &run, "--commit", "c1", "--branch", "main"];
        let ingested = server.run(&context, &arguments);
        assert_eq!(ingested.code, Some(0), "{}", ingested.stderr);
    }
    let counted = |context: &TestContext| {
        let query = "SELECT count(*) AS attempts, count(DISTINCT run) AS runs FROM attempts";
        let output = server.run(context, &["sql", query, "--format", "json"]);
        serde_json::from_str::<Value>(&output.stdout)
            .unwrap_or_else(|error| panic!("not JSON: {error}\n{}\n{}", output.stdout, output.stderr))
    };
    let expected = serde_json::json!({ "attempts": 6, "runs": 6 });
    assert_eq!(counted(&context), expected);
    let maintained = server.run(&context, &["maintain"]);
    assert_eq!(maintained.code, Some(0), "{}", maintained.stderr);
    assert_eq!(counted(&context), expected);
    let shown = server.run(&context, &["show", "test_total"]);
    assert!(shown.stdout.contains("FLAKY"), "{}{}", shown.stdout, shown.stderr);
}

#[test]
fn doctor_finds_out_what_a_bucket_guarantees() {
    let (server, context) = (Server::start(), context());
    let output = server.run(&context, &["doctor", "--format", "json"]);
    let report: Value = serde_json::from_str(&output.stdout).expect("JSON");
    let store = |report: &Value| {
        let checks = report["checks"].as_array().expect("a list").iter();
        checks.clone().find(|check| check["name"] == "store").cloned().expect("the store is checked")
    };
    let text = store(&report)["text"].to_string();
    // moto itself lets two writers win now and then.
    let answers = ["is writable", "writers create the same file"];
    assert!(answers.iter().any(|answer| text.contains(answer)), "{report}");
    assert!(text.contains("it has no history of this project yet"), "{text}");
    assert_eq!(server.files(), [] as [String; 0], "nothing stays in the bucket");
}

/// moto 4 knows no conditional writes, as some S3-compatible servers.
#[test]
fn a_bucket_that_overwrites_is_refused_unless_there_is_a_single_writer() {
    let (server, context) = (Server::start_with("FLAKEWISE_TEST_OLD_S3_PYTHON"), context());
    let ingest = |number: usize, is_single: bool| {
        let report = write_report(&context, number, false);
        let mut command = server.command(&context);
        command.args(["ingest", &report, "--run", &format!("run-{number}"), "--commit", "c1"]);
        if !is_single {
            command.env_remove("FLAKEWISE_SINGLE_WRITER");
        }
        context.finish(&mut command)
    };
    let refused = |output: &Output| {
        assert_ne!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
        assert!(output.stderr.contains("overwrites files that exist"), "{}", output.stderr);
        assert!(output.stderr.contains("FLAKEWISE_SINGLE_WRITER=1"), "{}", output.stderr);
    };
    refused(&ingest(0, false));
    assert_eq!(server.files(), [] as [String; 0], "no history is begun");
    let accepted = ingest(1, true);
    assert_eq!(accepted.code, Some(0), "{}{}", accepted.stdout, accepted.stderr);
    // The history remembers.
    refused(&ingest(2, false));
    let mut maintain = server.command(&context);
    refused(&context.finish(maintain.env_remove("FLAKEWISE_SINGLE_WRITER").arg("maintain")));
    let shown = context
        .finish(server.command(&context).env_remove("FLAKEWISE_SINGLE_WRITER").args(["show", "test_total"]));
    assert_eq!(shown.code, Some(0), "reading is allowed: {}", shown.stderr);
}

#[test]
fn a_bucket_without_credentials_or_server_is_explained() {
    let context = context();
    let mut command = without_credentials(&context);
    let output = context.finish(command.args(["report", "--store", "s3://acme/history"]));
    assert!(output.stderr.contains("there are no credentials in the environment"), "{}", output.stderr);
}

/// A pull request from a fork has no secrets.
#[test]
fn a_run_without_credentials_goes_to_the_spool() {
    let context = context();
    context.write("test_a.py", "def test_a():\n    pass\n");
    let mut command = without_credentials(&context);
    command.args(["run", "--store", "s3://acme/history", "--", &python(), "-m", "pytest", "-q"]);
    let output = context.finish(&mut command);
    assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
    assert!(output.stderr.contains("this run is kept in the spool"), "{}", output.stderr);
    assert!(output.stderr.contains("there are no credentials in the environment"), "{}", output.stderr);
}
