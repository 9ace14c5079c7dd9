"""What the Python demonstrations need from outside, kept between runs.

Everything lies below ${XDG_CACHE_HOME:-~/.cache}/flakewise, is fetched with
the ordinary clients of package registries (Go, Maven, pip), and is used as it
is once its `.ready` is there. A lock for each entry lets two runs share it.
"""

import contextlib
import fcntl
import gzip
import hashlib
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile


class Unobtainable(Exception):
    """Something could not be fetched; the text says what and why."""


def root():
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return pathlib.Path(home, "flakewise")


def note(text):
    print(f"{pathlib.Path(sys.argv[0]).name}: {text}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def entry(place):
    """Gives a directory to fill, which becomes `place` if nothing is raised.

    Gives None when `place` is there. A half-filled directory is never seen:
    whoever is killed leaves no `.ready`, and the next one starts again.
    """
    if (place / ".ready").exists():
        yield None
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    locks = root() / "locks"
    locks.mkdir(parents=True, exist_ok=True)
    name = hashlib.sha256(str(place).encode()).hexdigest()[:16]
    with open(locks / name, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (place / ".ready").exists():
            yield None
            return
        # Filled in place, not moved there: a virtual environment's scripts
        # hold the path that they were made for.
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        yield place
        (place / ".ready").touch()


def command(arguments, **options):
    """Runs a package client; what it says is shown only if it fails."""
    try:
        done = subprocess.run(
            [str(argument) for argument in arguments],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    except FileNotFoundError:
        raise Unobtainable(f"`{arguments[0]}` is not installed") from None
    text = done.stdout.decode("utf-8", "replace")
    if done.returncode != 0:
        last = [line for line in text.splitlines() if line.strip()][-6:]
        raise Unobtainable(f"`{' '.join(map(str, arguments[:4]))} …` failed: " + " / ".join(last)[:800])
    return text


# --- Interpreters ------------------------------------------------------------

# Which package ships which CPython. The Go module embeds the builds that are
# known as python-build-standalone; it has no 3.9, which Maven Central has for
# the users of JavaCPP (without sqlite3, which nothing here needs). The newest
# patch releases that those registries serve, as of November 2026.
PYTHONS = {
    "3.9": ("maven", "3.9.6-1.5.6"),
    "3.10": ("go", "v0.0.0-3.10.16-20241219-1"),
    "3.11": ("go", "v0.0.0-3.11.11-20241219-1"),
    "3.12": ("go", "v0.0.0-3.12.3-20240415-2"),
    "3.13": ("go", "v0.0.0-3.13.1-20241219-1"),
    "3.14": ("go", "v0.0.0-3.14.6-20260610-1"),
}
GO_MODULE = "github.com/kluctl/go-embed-python"

# Imported once to see that an interpreter is whole enough for pytest and pip.
PROBE = "import ctypes, ssl, socket, subprocess, venv, zlib, platform; print(platform.python_version())"


def python(minor):
    """The interpreter of that version, installed if it was not."""
    place = root() / "pythons" / minor
    executable = place / "bin" / f"python{minor}"
    with entry(place) as folder:
        if folder:
            kind, version = PYTHONS[minor]
            note(f"installing CPython {minor}")
            try:
                {"go": _python_from_go, "maven": _python_from_maven}[kind](folder, version)
                _check_python(executable, minor)
                (folder / ".source").write_text(f"{kind} {version}\n")
            except Unobtainable as reason:
                _python_from_here(folder, minor, reason)
                _check_python(executable, minor)
    return executable


def _check_python(executable, minor):
    said = command([executable, "-I", "-c", PROBE])
    if not said.startswith(minor + "."):
        raise Unobtainable(f"what was to be CPython {minor} says that it is {said.strip()}")


def _machine(names):
    machine = platform.machine()
    if sys.platform != "linux" or machine not in names:
        raise Unobtainable(f"no package for {sys.platform} on {machine}")
    return names[machine]


def _python_from_go(folder, version):
    inside = _machine({"x86_64": "linux-amd64", "aarch64": "linux-arm64"})
    with tempfile.TemporaryDirectory() as scratch:
        # A module cache of its own, as the module has the builds of all
        # platforms; writable, so that it can be removed.
        environment = dict(os.environ, GOMODCACHE=scratch, GOFLAGS="-modcacherw", GOWORK="off")
        said = command(["go", "mod", "download", "-json", f"{GO_MODULE}@{version}"], cwd=scratch, env=environment)
        with zipfile.ZipFile(json.loads(said)["Zip"]) as archive:
            prefix = f"{GO_MODULE}@{version}/python/internal/data/{inside}/"
            listed = json.loads(archive.read(prefix + "files.json"))["files"]
            for file in listed:
                place = folder / file["name"]
                mode = file["perm"]
                if mode & 1 << 31:  # Go's bit for a directory
                    place.mkdir(parents=True, exist_ok=True)
                elif "symlink" in file:
                    place.symlink_to(file["symlink"])
                elif file.get("compressed"):
                    place.write_bytes(gzip.decompress(archive.read(prefix + file["name"] + ".gz")))
                    place.chmod(mode & 0o777)
                else:
                    place.write_bytes(archive.read(prefix + file["name"]))
                    place.chmod(mode & 0o777)
    # Nine tenths of the library are for debuggers.
    if shutil.which("strip"):
        for library in folder.glob("lib/libpython3.*.so.1.0"):
            command(["strip", "--strip-debug", library])


def _python_from_maven(folder, version):
    inside = _machine({"x86_64": "linux-x86_64", "aarch64": "linux-arm64"})
    with tempfile.TemporaryDirectory() as scratch:
        # Maven's own plug-ins come from the cache that the suites use.
        repository = root() / "suites" / "m2"
        artifact = f"org.bytedeco:cpython:{version}:jar:{inside}"
        options = ["-B", "-q", f"-Dmaven.repo.local={repository}"]
        command(["mvn", *options, "dependency:get", "-Dtransitive=false", f"-Dartifact={artifact}"], cwd=scratch)
        jar = repository / "org/bytedeco/cpython" / version / f"cpython-{version}-{inside}.jar"
        prefix = f"org/bytedeco/cpython/{inside}/"
        with zipfile.ZipFile(jar) as archive:
            for name in archive.namelist():
                rest = name[len(prefix):]
                # Its own tests are half of it.
                if not name.startswith(prefix) or name.endswith("/") or rest.startswith("lib/python3.9/test/"):
                    continue
                place = folder / rest
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(archive.read(name))
    for file in folder.glob("bin/*"):
        file.chmod(0o755)


def _python_from_here(folder, minor, reason):
    """Falls back on an interpreter that somebody installed on this machine."""
    for candidate in _installed(minor):
        try:
            _check_python(candidate, minor)
        except Unobtainable:
            continue
        note(f"CPython {minor} was not fetched ({reason}); using {candidate}")
        shutil.rmtree(folder)
        (folder / "bin").mkdir(parents=True)
        (folder / "bin" / f"python{minor}").symlink_to(candidate)
        (folder / ".source").write_text("installed on this machine\n")
        return
    raise reason


def _installed(minor):
    found = shutil.which(f"python{minor}")
    if found:
        # Not the path itself: it may be a shim that asks which Python is on.
        done = subprocess.run(
            [found, "-c", "import sys; print(sys.executable)"], capture_output=True, text=True, check=False)
        yield pathlib.Path(done.stdout.strip() or found)
    yield from sorted(pathlib.Path.home().glob(f".pyenv/versions/{minor}.*/bin/python{minor}"))


# --- Virtual environments ----------------------------------------------------

# The last pip for 3.9; `pip --python` installs into environments without one.
PIP = "pip==25.3"


def _pip():
    place = root() / "suites" / "bench-pip"
    with entry(place) as folder:
        if folder:
            command([sys.executable, "-m", "venv", folder])
            command([folder / "bin/python", "-m", "pip", "install", "--quiet", PIP])
    return [place / "bin/python", "-m", "pip", "--disable-pip-version-check"]


def environment(minor, name, requirements):
    """The interpreter of a virtual environment with these requirements.

    Its directory has its requirements in its name, so that a changed list
    makes a new one.
    """
    interpreter = python(minor)
    text = "\n".join([minor, (interpreter.parent.parent / ".source").read_text(), *map(str, requirements)])
    key = hashlib.sha256(text.encode()).hexdigest()[:12]
    place = root() / "suites" / f"bench-{name}-{minor}-{key}"
    with entry(place) as folder:
        if folder:
            note(f"installing {' '.join(str(r).rsplit('/', 1)[-1] for r in requirements)} for CPython {minor}")
            command([interpreter, "-m", "venv", "--without-pip", folder])
            command([*_pip(), "--python", folder / "bin/python", "install", "--quiet", *requirements])
    return place / "bin" / "python"


def sdist(name, version):
    """A release: its unpacked source, which nobody may write to, and a wheel of it."""
    place = root() / "suites" / f"bench-{name}-{version}"
    with entry(place) as folder:
        if folder:
            note(f"fetching the source of {name} {version}")
            with tempfile.TemporaryDirectory() as scratch:
                command([*_pip(), "download", "--quiet", "--no-deps", "--no-binary", name, "--dest", scratch,
                         f"{name}=={version}"])
                [archive] = pathlib.Path(scratch).glob("*.tar.gz")
                # From the archive, not from the tree: a build writes where it is.
                command([*_pip(), "wheel", "--quiet", "--no-deps", "--wheel-dir", folder / "wheel", archive])
                with tarfile.open(archive) as tar:
                    tar.extractall(folder / "source")
    [tree] = (place / "source").iterdir()
    [wheel] = (place / "wheel").iterdir()
    return tree, wheel


# --- Node --------------------------------------------------------------------

def node_modules(name, packages):
    """The folder `node_modules` with these packages, each as `name@version`."""
    key = hashlib.sha256("\n".join(packages).encode()).hexdigest()[:12]
    place = root() / "node" / f"{name}-{key}"
    with entry(place) as folder:
        if folder:
            note(f"installing {' '.join(packages)}")
            (folder / "package.json").write_text('{"private": true}\n')
            command(["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", folder, *packages])
    return place / "node_modules"
