#!/usr/bin/env node
// Runs the binary, which is in a package of its own for each platform: npm installs
// the one of `optionalDependencies` that fits.
"use strict";

const { spawn } = require("node:child_process");
const tty = require("node:tty");

const SOURCE = "cargo install --locked --git https://github.com/flakewise/flakewise flakewise";

function find() {
  const name = `@flakewise/${process.platform}-${process.arch}`;
  try {
    return require.resolve(`${name}/bin/flakewise`);
  } catch {
    const packages = Object.keys(require("../package.json").optionalDependencies);
    const lines = packages.includes(name)
      ? [
          `error: the package \`${name}\` is not installed`,
          "hint: install `flakewise` with its optional dependencies, that is, without `--omit=optional`",
          `hint: Linux without glibc, such as Alpine, has no package: build from source with \`${SOURCE}\``,
        ]
      : [
          `error: there is no package for ${process.platform} ${process.arch}, only ${packages.join(", ")}`,
          `hint: build from source with \`${SOURCE}\``,
        ];
    console.error(lines.join("\n"));
    process.exit(1);
  }
}

function run(binary, words) {
  // Since Node 22.15: the binary becomes this process, with its signals, terminal and exit code.
  if (process.execve) {
    process.execve(binary, [binary, ...words]);
  }
  const child = spawn(binary, words, { stdio: "inherit" });
  // A terminal sends ctrl-C to both processes, and a second one would end Flakewise at once.
  const terminal = [0, 1, 2].some((descriptor) => tty.isatty(descriptor));
  for (const signal of ["SIGINT", "SIGQUIT", "SIGTERM", "SIGHUP"]) {
    const arrived = terminal && (signal === "SIGINT" || signal === "SIGQUIT");
    process.on(signal, () => arrived || child.kill(signal));
  }
  child.on("error", (error) => {
    console.error(`error: cannot run ${binary}: ${error.message}`);
    process.exit(1);
  });
  child.on("exit", (code, signal) => {
    if (signal === null) {
      process.exit(code);
    }
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

run(find(), process.argv.slice(2));
