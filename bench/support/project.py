"""A project to run `flakewise` in."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import measure

PYTEST = ["-m", "pytest", "-q", "-p", "no:cacheprovider"]


class Project:
    """A copy of a tree, in a repository with one commit."""

    def __init__(self, folder, tree):
        self.folder = pathlib.Path(folder, "project")
        shutil.copytree(tree, self.folder, symlinks=True)
        self.environment = measure.clean_environment(HOME=str(folder), GIT_CONFIG_GLOBAL="/dev/null")
        for words in (["init", "-q"], ["add", "-A"],
                      ["-c", "user.name=bench", "-c", "user.email=bench@example.com", "commit", "-qm", "suite"]):
            subprocess.run(["git", *words], cwd=self.folder, env=self.environment, check=True)
        (self.folder / ".git" / "info" / "exclude").write_text("__pycache__/\n.flakewise/\n")

    def command(self, path, name, interpreter, *arguments, pytest=()):
        """The words of a command that answers in JSON."""
        return [str(word) for word in (path, name, "--format", "json", *arguments, "--", interpreter, *PYTEST, *pytest)]

    def answer(self, path, name, interpreter, *arguments, pytest=(), limit=600):
        """What a command answers, and what it took."""
        done = measure.run(self.command(path, name, interpreter, *arguments, pytest=pytest), self.folder, self.environment, limit)
        if done.status != 0:
            sys.exit(f"`flakewise {name}` ended with {done.status}:\n{done.stderr[-2000:]}")
        return json.loads(done.stdout), done

    def rows(self, path, query):
        done = measure.run([path, "sql", "--format", "json", query], self.folder, self.environment)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def is_deserted(self):
        """Whether nobody works in it any more, given a moment for the kernel."""
        until = measure.now() + 15
        while True:
            there = False
            for process in pathlib.Path("/proc").glob("[0-9]*"):
                try:
                    there |= os.readlink(process / "cwd") == str(self.folder.resolve())
                except OSError:
                    continue
            if not there or measure.now() > until:
                return not there
            measure.ended(os.getpid(), 0.05)
