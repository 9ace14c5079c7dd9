"""S3 servers on loopback, for demonstrations with a bucket."""

import os
import pathlib
import shutil
import socket
import subprocess
import sys
import time

MOTO = """
import sys, moto.server
server = moto.server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
sys.stdin.read()
"""
MAKE_BUCKET = """
import boto3, sys
boto3.client("s3", endpoint_url=sys.argv[1], region_name="us-east-1", aws_access_key_id="key",
             aws_secret_access_key="secret").create_bucket(Bucket="acme")
"""


def environment(port, name):
    """The environment of a command that uses the bucket of this server through this port."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "FLAKEWISE_", "GITHUB_"))}
    return {
        **kept, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}", "AWS_ALLOW_HTTP": "true", "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1", "FLAKEWISE_STORE": "s3://acme/history",
        "FLAKEWISE_PROJECT": "acme/shop",
        # moto lets several writers win now and then.
        **({"FLAKEWISE_SINGLE_WRITER": "1"} if name == "moto" else {})}


def python():
    """A Python with moto and boto3: that of the tests."""
    named = os.environ.get("FLAKEWISE_TEST_S3_PYTHON")
    own = pathlib.Path.home() / ".cache/flakewise/s3-python/bin/python"
    if not named and not own.exists():
        sys.exit("cannot run: FLAKEWISE_TEST_S3_PYTHON names no Python with `moto[server]`")
    return named or str(own)


class Server:
    """An S3 server with an empty bucket."""

    def __init__(self, name, folder):
        self.name = name
        found = shutil.which("versitygw", path=f"{os.environ['PATH']}:{pathlib.Path.home() / 'go/bin'}")
        if name == "versitygw" and not found:
            sys.exit("cannot run: `go install github.com/versity/versitygw/cmd/versitygw@latest` first")
        if name == "versitygw":
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                self.port = free.getsockname()[1]
            data = folder / "server"
            data.mkdir()
            command = [found, "--port", f"127.0.0.1:{self.port}", "posix", str(data)]
            environment = {**os.environ, "ROOT_ACCESS_KEY": "key", "ROOT_SECRET_KEY": "secret"}
            self.process = subprocess.Popen(
                command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self._wait()
        else:
            self.process = subprocess.Popen(
                [python(), "-c", MOTO], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            self.port = int(self.process.stdout.readline())
        subprocess.run([python(), "-c", MAKE_BUCKET, f"http://127.0.0.1:{self.port}"], check=True)

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
