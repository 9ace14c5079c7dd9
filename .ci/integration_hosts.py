"""Stands in for GitHub and GitLab, for .ci/check-integrations.

`Comments` answers like their APIs for comments, on a free port of the loopback
interface. `GitHubJob` and `GitLabJob` run the scripts of action.yml and
templates/flakewise.yml, exactly as written, with the variables, shells, caches
and conditions of these systems.
"""

import glob
import http.server
import json
import pathlib
import re
import shutil
import subprocess
import threading
import urllib.parse

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[1]
TOKEN = "secret-token-of-the-checks"
# What a title, a branch or a command may contain.
HOSTILE = """x'"; touch injected; $(touch injected) `touch injected` ${{ github.token }} | touch injected"""


class Comments:
    """The comments of one pull request: number 7 of acme/shop, or of project 42."""

    def __init__(self, gitlab=False):
        self.gitlab = gitlab
        self.bodies = {}  # by id
        self.requests = []  # method and path
        self.refused = {}  # status of each method that is refused
        self.location = None  # header of what is refused
        self.fails_once = set()  # methods that answer 500 once, after they did what they should
        self.hidden = set()  # ids that the token may not read
        self.before_create = None  # called once, before a comment is created
        self.lock = threading.Lock()

    def __enter__(self):
        api = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(self):
                length = int(self.headers.get("Content-Length", 0))
                body = json.loads(self.rfile.read(length))["body"] if length else None
                with api.lock:
                    status, headers, value = api.answer(self.command, self.path, self.headers, body)
                text = b"" if status == 204 else json.dumps(value).encode()
                self.send_response(status)
                for name, content in headers.items():
                    self.send_header(name, content)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = answer

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    def add(self, body, count=1):
        for _ in range(count):
            self.bodies[len(self.bodies) + 1] = body

    def answer(self, method, path, headers, body):
        """Status, headers and JSON of the answer."""
        parsed = urllib.parse.urlsplit(path)
        self.requests.append((method, parsed.path))
        token = headers.get("PRIVATE-TOKEN") if self.gitlab else (headers.get("Authorization") or "").replace("Bearer ", "")
        if token != TOKEN:
            return 401, {}, {"message": "Unauthorized"}
        if method in self.refused:
            headers = {"Location": self.location} if self.location else {}
            return self.refused[method], headers, {"message": "Resource not accessible by integration"}
        answer = self.act(method, parsed, body)
        if method in self.fails_once:
            self.fails_once.remove(method)
            return 500, {"Retry-After": "0"}, {"message": "Server Error"}
        return answer

    def act(self, method, parsed, body):
        if self.gitlab:
            all_comments = one = "/api/v4/projects/42/merge_requests/7/notes"
        else:
            all_comments, one = "/repos/acme/shop/issues/7/comments", "/repos/acme/shop/issues/comments"
        if parsed.path == all_comments and method == "GET":
            return self.page(parsed)
        if parsed.path == all_comments and method == "POST":
            if self.before_create:
                action, self.before_create = self.before_create, None
                action()
            self.add(body)
            return 201, {}, {"id": len(self.bodies), "body": body}
        number = int(parsed.path[len(one) + 1:]) if re.fullmatch(re.escape(one) + r"/\d+", parsed.path) else None
        if self.bodies.get(number) is None:
            return 404, {}, {"message": "Not Found"}
        if method == ("PUT" if self.gitlab else "PATCH"):
            self.bodies[number] = body
            return 200, {}, {"id": number, "body": body}
        if method == "DELETE":
            self.bodies[number] = None
            return 204, {}, None
        return 405, {}, {"message": "Method Not Allowed"}

    def page(self, parsed):
        query = dict(urllib.parse.parse_qsl(parsed.query))
        size, page = min(int(query.get("per_page", 20)), 100), int(query.get("page", 1))
        # GitHub lists the oldest first, GitLab the newest.
        ids = sorted((number for number, body in self.bodies.items() if body is not None), reverse=self.gitlab)
        listed = [{"id": number, "body": self.bodies[number]} for number in ids[(page - 1) * size:page * size]
                  if number not in self.hidden]
        links = {"Link": f'<{self.url}{parsed.path}?page={page + 1}>; rel="next"'} if page * size < len(ids) else {}
        return 200, links, listed

    def starting_with(self, marker):
        return [body for body in self.bodies.values() if body is not None and body.startswith(marker)]


class Job:
    """One job in a checkout. Subclasses know the CI system."""

    def __init__(self, project, paths, variables):
        self.project = project
        self.environment = {
            "PATH": ":".join([*map(str, paths), "/usr/local/bin:/usr/bin:/bin"]),
            "HOME": str(project.parent / "home"),
            "LANG": "C.UTF-8",
            "CI": "true",
            "ENVIRONMENT_OF_TESTS": str(project.parent / "environment"),
            **variables,
        }
        self.output = ""

    def run(self, command, more=()):
        """Runs a command and returns its exit code."""
        done = subprocess.run(command, cwd=self.project, env={**self.environment, **dict(more)}, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600)
        self.output += done.stdout
        return done.returncode


def expressions(text, lookup):
    """A text of action.yml with the values of its expressions."""
    return re.sub(r"\$\{\{ *(.*?) *\}\}", lambda found: lookup(found[1]), str(text))


class GitHubJob(Job):
    """Runs action.yml: `inputs` are those of `with`, `caches` the ones of the repository."""

    def __init__(self, project, paths, api, inputs=(), event="pull_request", caches=None, job="tests", index=0, run=1):
        folder = project.parent / "runner"
        folder.mkdir(exist_ok=True)
        self.summary, self.out = folder / "summary", folder / "output"
        payload = {"pull_request": {"number": 7, "title": HOSTILE, "head": {"ref": HOSTILE}}} if event == "pull_request" else {}
        (folder / "event.json").write_text(json.dumps(payload))
        commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=project, stdout=subprocess.PIPE, text=True, check=True).stdout
        super().__init__(project, paths, {
            "GITHUB_ACTIONS": "true", "GITHUB_ACTION": "__flakewise", "GITHUB_ACTION_PATH": str(ROOT),
            "GITHUB_API_URL": api.url, "GITHUB_SERVER_URL": "https://github.com", "GITHUB_REPOSITORY": "acme/shop",
            "GITHUB_EVENT_NAME": event, "GITHUB_EVENT_PATH": str(folder / "event.json"), "GITHUB_SHA": commit.strip(),
            "GITHUB_HEAD_REF": HOSTILE if event == "pull_request" else "", "GITHUB_BASE_REF": "main",
            "GITHUB_REF_NAME": "7/merge" if event == "pull_request" else "main", "GITHUB_JOB": job,
            "GITHUB_RUN_ID": str(run), "GITHUB_RUN_ATTEMPT": "1", "GITHUB_WORKSPACE": str(project),
            "GITHUB_STEP_SUMMARY": str(self.summary), "GITHUB_OUTPUT": str(self.out), "RUNNER_TEMP": str(folder),
        })
        self.action = yaml.safe_load((ROOT / "action.yml").read_text())
        given = dict(inputs)
        assert set(given) <= set(self.action["inputs"]), f"action.yml does not declare {given}"
        self.caches = {} if caches is None else caches
        self.values = {"github.token": TOKEN, "github.job": job, "strategy.job-index": str(index), "github.run_id": str(run),
                       "github.run_attempt": "1"}
        for name, declared in self.action["inputs"].items():
            self.values[f"inputs.{name}"] = given.get(name) or expressions(declared["default"], self.value)

    def value(self, expression):
        if re.fullmatch(r"steps\.[\w.-]+", expression):
            return self.values.get(expression, "")
        return self.values[expression]

    def condition(self, text):
        """Only the forms that action.yml uses; any other is an error here."""
        for part in re.fullmatch(r"\$\{\{ (.*) \}\}", text)[1].split(" && "):
            compared = re.fullmatch(r"([\w.-]+|hashFiles\((.*)\)) (==|!=) '(\w*)'", part)
            if part == "!cancelled()":
                continue
            if compared[2]:
                patterns = re.findall(r"'(.*?)'", compared[2])
                left = "hash" if any(glob.glob(str(self.project / pattern), recursive=True) for pattern in patterns) else ""
            else:
                left = self.value(compared[1])
            if (left == compared[4]) != (compared[3] == "=="):
                return False
        return True

    def execute(self):
        """Runs all steps. Returns the exit code of the first that failed, or 0."""
        status = 0
        for step in self.action["runs"]["steps"]:
            if status and "if" not in step or "if" in step and not self.condition(step["if"]):
                continue
            if step.get("uses", "").startswith("actions/cache/"):
                given = {name: expressions(value, self.value) for name, value in step["with"].items()}
                assert step["uses"] in ("actions/cache/restore@v4", "actions/cache/save@v4"), step
                (self.restore if "restore" in step["uses"] else self.save)(given)
                continue
            assert step["shell"] == "bash" and "uses" not in step, step
            assert "${{" not in step["run"], f"an expression in a script: {step['run']}"
            script = self.project.parent / "runner" / "script.sh"
            script.write_text(step["run"])
            self.out.write_text("")
            more = {name: expressions(value, self.value) for name, value in step.get("env", {}).items()}
            # What `shell: bash` means on GitHub.
            ended = self.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)], more)
            for line in self.out.read_text().splitlines():
                name, value = line.split("=", 1)
                self.values[f"steps.{step['id']}.outputs.{name}"] = value
            status = status or ended
        return status

    def restore(self, given):
        wanted = [given["key"], *given["restore-keys"].split()]
        for prefix in wanted:
            # The newest is the last that was saved.
            for key in reversed(list(self.caches)):
                if key.startswith(prefix):
                    copy(self.caches[key], self.project, given["path"].split())
                    self.output += f"restored {key}\n"
                    return

    def save(self, given):
        assert given["key"] not in self.caches, f"{given['key']} exists; GitHub does not replace a cache"
        kept = self.project.parent / f"cache-{len(self.caches)}"
        copy(self.project, kept, given["path"].split())
        self.caches[given["key"]] = kept


class GitLabJob(Job):
    """Runs templates/flakewise.yml."""

    def __init__(self, project, paths, api, inputs=(), merge_request=True, token=TOKEN, shell="bash"):
        header, body = yaml.safe_load_all((ROOT / "templates" / "flakewise.yml").read_text())
        given = dict(inputs)
        assert set(given) <= set(header["spec"]["inputs"]), f"templates/flakewise.yml does not declare {given}"
        self.inputs = {name: given.get(name, declared["default"]) for name, declared in header["spec"]["inputs"].items()}
        self.rendered = self.interpolate(body)
        (self.name, self.job), = self.rendered.items()
        self.shell = ["bash", "-eo", "pipefail"] if shell == "bash" else ["sh", "-e"]
        variables = {name: str(value["value"] if isinstance(value, dict) else value)
                     for name, value in self.job["variables"].items()}
        if merge_request:
            variables |= {"CI_MERGE_REQUEST_IID": "7", "CI_MERGE_REQUEST_PROJECT_ID": "42", "CI_MERGE_REQUEST_TITLE": HOSTILE,
                          "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME": HOSTILE, "CI_PIPELINE_SOURCE": "merge_request_event"}
        if token:
            variables["FLAKEWISE_GITLAB_TOKEN"] = token
        commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=project, stdout=subprocess.PIPE, text=True, check=True).stdout
        # The pipeline of a fork runs in the fork, which is project 43.
        super().__init__(project, paths, {
            "GITLAB_CI": "true", "CI_API_V4_URL": f"{api.url}/api/v4", "CI_PROJECT_ID": "43", "CI_PROJECT_PATH": "acme/shop",
            "CI_COMMIT_SHA": commit.strip(), "CI_COMMIT_REF_NAME": HOSTILE, "CI_JOB_NAME": self.name, "CI_JOB_ID": "1",
            "CI_JOB_URL": "https://gitlab.example/acme/shop/-/jobs/1", "CI_PROJECT_DIR": str(project), **variables,
        })

    def interpolate(self, value):
        """GitLab does this with the parsed file, so a value cannot change its structure."""
        if isinstance(value, dict):
            return {self.interpolate(name): self.interpolate(content) for name, content in value.items()}
        if isinstance(value, list):
            return [self.interpolate(content) for content in value]
        if isinstance(value, str):
            return re.sub(r"\$\[\[ inputs\.([\w-]+) \]\]", lambda found: self.inputs[found[1]], value)
        return value

    def execute(self):
        """Runs `script`, then `after_script` in a new shell, whose exit code does not count."""
        status = self.run([*self.shell, "-c", "\n".join(self.job["script"])])
        self.run([*self.shell, "-c", "\n".join(self.job["after_script"])])
        return status

    def next_job(self):
        """Cleans the checkout as the next job does, and restores the cache."""
        kept = self.project.parent / "gitlab-cache"
        copy(self.project, kept, self.job["cache"]["paths"])
        subprocess.run(["git", "clean", "-ffdxq"], cwd=self.project, check=True)
        copy(kept, self.project, self.job["cache"]["paths"])


def copy(source, target, paths):
    for path in paths:
        if (source / path).is_dir():
            shutil.copytree(source / path, target / path, dirs_exist_ok=True)
