"""S3 servers on loopback, for demonstrations with a bucket."""

import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import time

MOTO = """
import sys, moto.server
server = moto.server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print(server.get_host_and_port()[1] if hasattr(server, "get_host_and_port") else server._server.port, flush=True)
sys.stdin.read()
"""
MAKE_BUCKET = """
import boto3, sys
boto3.client("s3", endpoint_url=sys.argv[1], region_name="us-east-1", aws_access_key_id="key",
             aws_secret_access_key="secret").create_bucket(Bucket="acme")
"""


GARAGE = """
metadata_dir = "{folder}/meta"
data_dir = "{folder}/data"
db_engine = "sqlite"
replication_factor = 1
rpc_bind_addr = "127.0.0.1:{rpc}"
rpc_public_addr = "127.0.0.1:{rpc}"
rpc_secret = "{secret}"

[s3_api]
s3_region = "us-east-1"
api_bind_addr = "127.0.0.1:{port}"
"""
# Servers that are no Python packages, by how they are installed.
INSTALLED = {
    "versitygw": "go install github.com/versity/versitygw/cmd/versitygw@latest",
    "s3s-fs": "cargo install s3s-fs --version 0.14.1 --features binary --locked",
    "garage": "cargo install garage --locked",
}


def environment(port, name):
    """The environment of a command that uses the bucket of this server through this port."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "FLAKEWISE_", "GITHUB_"))}
    return {
        **kept, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}", "AWS_ALLOW_HTTP": "true", "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1", "FLAKEWISE_STORE": "s3://acme/history",
        "FLAKEWISE_PROJECT": "acme/shop",
        # moto lets several writers win now and then.
        **({"FLAKEWISE_SINGLE_WRITER": "1"} if name == "moto" else {})}


def python(variable="FLAKEWISE_TEST_S3_PYTHON", folder="s3-python"):
    """A Python with moto and boto3: that of the tests."""
    named = os.environ.get(variable)
    own = pathlib.Path.home() / f".cache/flakewise/{folder}/bin/python"
    if not named and not own.exists():
        sys.exit(f"cannot run: {variable} names no Python with `moto[server]`")
    return named or str(own)


def installed(name):
    """Where a server is."""
    folders = ":".join([os.environ["PATH"], *(str(pathlib.Path.home() / folder) for folder in ("go/bin", ".cargo/bin"))])
    found = shutil.which(name, path=folders)
    if not found:
        sys.exit(f"cannot run: `{INSTALLED[name]}` first")
    return found


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


class Server:
    """An S3 server with an empty bucket."""

    def __init__(self, name, folder):
        self.name = name
        # Of the client; Garage makes its own.
        self.key, self.secret = "key", "secret"
        if name in INSTALLED:
            self.port = free_port()
            data = folder / f"server-{name}"
            data.mkdir()
            getattr(self, "_start_" + name.replace("-", "_"))(installed(name), data)
        else:
            old = ("FLAKEWISE_TEST_OLD_S3_PYTHON", "old-s3-python") if name == "moto 4" else ()
            self.process = subprocess.Popen(
                [python(*old), "-c", MOTO], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            self.port = int(self.process.stdout.readline())
        if name != "garage":
            subprocess.run([python(), "-c", MAKE_BUCKET, f"http://127.0.0.1:{self.port}"], check=True)

    def _start(self, *command, **environment):
        self.process = subprocess.Popen(
            command, env={**os.environ, **environment}, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._wait()

    def _start_versitygw(self, path, data):
        self._start(path, "--port", f"127.0.0.1:{self.port}", "posix", str(data), ROOT_ACCESS_KEY="key", ROOT_SECRET_KEY="secret")

    def _start_s3s_fs(self, path, data):
        self._start(path, "--host", "127.0.0.1", "--port", str(self.port), "--access-key", "key", "--secret-key", "secret", str(data))

    def _start_garage(self, path, data):
        settings = data / "garage.toml"
        settings.write_text(GARAGE.format(folder=data, rpc=free_port(), port=self.port, secret="0" * 64))
        command = [path, "-c", str(settings)]
        self._start(*command, "server")

        def garage(*arguments):
            return subprocess.run([*command, *arguments], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout

        node = garage("node", "id", "-q").split("@")[0]
        garage("layout", "assign", "-z", "here", "-c", "1G", node)
        garage("layout", "apply", "--version", "1")
        key = garage("key", "create", "bench")
        self.key = re.search(r"Key ID: +(\S+)", key).group(1)
        self.secret = re.search(r"Secret key: +(\S+)", key).group(1)
        garage("bucket", "create", "acme")
        garage("bucket", "allow", "--read", "--write", "--owner", "acme", "--key", self.key)

    def _wait(self):
        for _ in range(600):
            if self.process.poll() is not None:
                sys.exit(f"{self.name} ended with {self.process.returncode}")
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)
        sys.exit(f"{self.name} does not listen")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
