//! The processes that a test needs. Each ends when nobody holds it any more.

use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

/// Starts moto on a free port, uploads a folder into a bucket, and prints the port.
const SERVER: &str = "
import boto3, moto.server, pathlib, sys
server = moto.server.ThreadedMotoServer(ip_address='127.0.0.1', port=0, verbose=False)
server.start()
port = server.get_host_and_port()[1]
client = boto3.client('s3', endpoint_url=f'http://127.0.0.1:{port}', region_name='us-east-1',
                      aws_access_key_id='key', aws_secret_access_key='secret')
client.create_bucket(Bucket='acme')
folder = pathlib.Path(sys.argv[1])
for path in folder.rglob('*'):
    if path.is_file():
        client.upload_file(str(path), 'acme', f'history/{path.relative_to(folder).as_posix()}')
print(port, flush=True)
sys.stdin.read()
";

/// Only a hang takes longer.
const LIMIT: Duration = Duration::from_mins(3);

/// A child process.
pub(crate) struct Process(pub(crate) Child);

impl Process {
    /// Starts it, and returns its first line too.
    fn start(command: &mut Command) -> (Self, String) {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the process starts");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("it is piped");
        BufReader::new(stdout).read_line(&mut line).expect("its output can be read");
        assert!(!line.trim().is_empty(), "the process ended: {command:?}");
        (Self(child), line.trim().to_owned())
    }

    /// Ends it at once, as the end of its machine would.
    pub(crate) fn kill(mut self) {
        self.end();
    }

    fn end(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

/// An S3 server that has this folder.
pub(crate) struct Bucket {
    _server: Process,
    pub(crate) address: SocketAddr,
}

impl Bucket {
    pub(crate) fn of(folder: &Path) -> Self {
        let python = std::env::var("FLAKEWISE_TEST_S3_PYTHON")
            .expect("FLAKEWISE_TEST_S3_PYTHON is a Python with `moto[server]`; .ci/run makes one");
        let mut command = Command::new(python);
        command.args(["-c", SERVER]).arg(folder).stderr(Stdio::null());
        let (server, port) = Process::start(&mut command);
        let address = format!("127.0.0.1:{port}").parse().expect("the server says its port");
        Self { _server: server, address }
    }
}

/// The program, with the bucket of the server at this address.
pub(crate) fn program(bucket: SocketAddr) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flakewise-scaleout"));
    command
        .env_clear()
        .env("TMPDIR", std::env::temp_dir())
        .env("AWS_ENDPOINT_URL", format!("http://{bucket}"))
        .env("AWS_ALLOW_HTTP", "true")
        .env("AWS_ACCESS_KEY_ID", "key")
        .env("AWS_SECRET_ACCESS_KEY", "secret")
        .env("AWS_REGION", "us-east-1")
        .env("FLAKEWISE_SINGLE_WRITER", "1")
        .env("FLAKEWISE_STORE", "s3://acme/history")
        .env("FLAKEWISE_PROJECT", "acme/shop");
    command
}

pub(crate) struct Scheduler {
    _process: Process,
    pub(crate) address: String,
}

impl Scheduler {
    pub(crate) fn start(bucket: SocketAddr) -> Self {
        let mut command = program(bucket);
        command.args(["scheduler", "--listen", "127.0.0.1:0", "--executor-timeout", "8"]);
        let (process, line) = Process::start(&mut command);
        let address = line.strip_prefix("scheduler listening on ").expect("it says where").to_owned();
        Self { _process: process, address }
    }

    pub(crate) fn executor(&self, bucket: SocketAddr) -> Process {
        let mut command = program(bucket);
        command.args(["executor", "--listen", "127.0.0.1:0", "--cores", "1", "--scheduler", &self.address]);
        Process::start(&mut command).0
    }

    /// A command that reads the history, ready to be given arguments.
    pub(crate) fn command(&self, bucket: SocketAddr) -> Command {
        let mut command = program(bucket);
        command.env("FLAKEWISE_SCHEDULER", &self.address);
        command
    }
}

/// In front of a server: connections wait until it is opened.
pub(crate) struct Gate {
    pub(crate) address: SocketAddr,
    arrivals: Receiver<()>,
    is_open: Arc<(Mutex<bool>, Condvar)>,
}

impl Gate {
    pub(crate) fn before(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
        let address = listener.local_addr().expect("it listens");
        let is_open = Arc::new((Mutex::new(false), Condvar::new()));
        let (arrive, arrivals) = channel();
        let gate = Arc::clone(&is_open);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let (gate, arrive) = (Arc::clone(&gate), arrive.clone());
                thread::spawn(move || {
                    let _ = arrive.send(());
                    let (is_open, opened) = &*gate;
                    let closed = is_open.lock().expect("nobody panicked");
                    drop(opened.wait_while(closed, |is_open| !*is_open).expect("nobody panicked"));
                    let Ok(server) = TcpStream::connect(server) else { return };
                    let copies = [copy(&client, &server), copy(&server, &client)];
                    for copy in copies {
                        drop(copy.join());
                    }
                });
            }
        });
        Self { address, arrivals, is_open }
    }

    /// Waits for somebody to come.
    pub(crate) fn wait_for_arrival(&self) {
        self.arrivals.recv_timeout(LIMIT).expect("somebody comes");
    }

    pub(crate) fn open(&self) {
        let (is_open, opened) = &*self.is_open;
        *is_open.lock().expect("nobody panicked") = true;
        opened.notify_all();
    }
}

fn copy(from: &TcpStream, to: &TcpStream) -> thread::JoinHandle<()> {
    let (mut from, mut to) = (from.try_clone().expect("a handle"), to.try_clone().expect("a handle"));
    thread::spawn(move || {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(length) = from.read(&mut buffer)
            && length > 0
            && to.write_all(&buffer[..length]).is_ok()
        {}
        let _ = to.shutdown(Shutdown::Write);
    })
}
