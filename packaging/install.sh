#!/bin/sh
# Installs Flakewise @VERSION@: downloads the archive for this machine, compares it
# with its checksum, and copies the binary to ~/.local/bin.
#
#     curl -LsSf https://github.com/flakewise/flakewise/releases/latest/download/install.sh | sh
#
# FLAKEWISE_INSTALL_DIR    where to install it [default: ~/.local/bin]
# FLAKEWISE_DOWNLOAD_URL   where the archive is [default: the release on GitHub]
#
# packaging/build writes the version into this file. Nothing runs before the last
# line, so that a download that was cut off does nothing.
set -eu

version='@VERSION@'
repository=https://github.com/flakewise/flakewise

main() {
  case $version in
    [0-9]*) ;;
    *) fail "this file has no version: use the install.sh of a release" ;;
  esac
  target=$(target)
  archive=flakewise-$version-$target.tar.gz
  url=${FLAKEWISE_DOWNLOAD_URL:-$repository/releases/download/v$version}
  if [ -n "${FLAKEWISE_INSTALL_DIR:-}" ]; then
    directory=$FLAKEWISE_INSTALL_DIR
  else
    directory=${HOME:?"set HOME or FLAKEWISE_INSTALL_DIR"}/.local/bin
  fi
  need tar
  need mktemp

  work=$(mktemp -d)
  new=
  trap 'rm -rf "$work" ${new:+"$new"}' EXIT
  # The exit runs the line above.
  trap 'exit 129' HUP
  trap 'exit 130' INT
  trap 'exit 143' TERM

  echo "downloading $url/$archive"
  download "$url/$archive" "$work/$archive"
  download "$url/$archive.sha256" "$work/$archive.sha256"
  verify "$work" "$archive"
  tar -xzf "$work/$archive" -C "$work"
  binary=$work/flakewise-$version-$target/flakewise
  "$binary" --version > "$work/version" || from_source "the binary for $target does not run on this machine"

  mkdir -p "$directory"
  # In the same directory, so that the last step is a rename: the old binary or the new one is there, never half of it.
  new=$directory/.flakewise-$$
  cp "$binary" "$new"
  chmod 755 "$new"
  mv -f "$new" "$directory/flakewise"
  new=
  echo "installed $(cat "$work/version") as $directory/flakewise"
  case ":$PATH:" in
    *":$directory:"*) ;;
    *) echo "hint: add $directory to your PATH" ;;
  esac
}

# The name of this platform in the names of archives.
target() {
  case $(uname -s) in
    Linux) system=unknown-linux-gnu ;;
    Darwin) system=apple-darwin ;;
    *) from_source "there is no archive for $(uname -s)" ;;
  esac
  case $(uname -m) in
    x86_64 | amd64) machine=x86_64 ;;
    aarch64 | arm64) machine=aarch64 ;;
    *) from_source "there is no archive for $(uname -s) on $(uname -m)" ;;
  esac
  if [ "$system" = unknown-linux-gnu ] && ldd --version 2>&1 | grep -qi musl; then
    from_source "there is no archive for musl, only for glibc"
  fi
  echo "$machine-$system"
}

# download URL FILE
download() {
  if command -v curl > /dev/null; then
    if [ -n "${FLAKEWISE_DOWNLOAD_URL:-}" ]; then
      curl -fsSL -o "$2" "$1" || fail "cannot download $1"
    else
      curl --proto '=https' --tlsv1.2 -fsSL -o "$2" "$1" || fail "cannot download $1"
    fi
  elif command -v wget > /dev/null; then
    wget -q -O "$2" "$1" || fail "cannot download $1"
  else
    fail "curl or wget is needed"
  fi
}

# verify DIRECTORY FILE: compares the file with the checksum beside it.
verify() {
  if command -v sha256sum > /dev/null; then
    actual=$(sha256sum < "$1/$2")
  elif command -v shasum > /dev/null; then
    actual=$(shasum -a 256 < "$1/$2")
  else
    fail "sha256sum or shasum is needed"
  fi
  expected=$(cat "$1/$2.sha256")
  # The first word of each.
  actual=${actual%% *}
  expected=${expected%% *}
  if [ "${#actual}" -ne 64 ] || [ "$actual" != "$expected" ]; then
    fail "the checksum of $2 is $actual, not $expected; nothing was installed"
  fi
}

need() {
  command -v "$1" > /dev/null || fail "$1 is needed"
}

# from_source REASON: the way out where no archive fits.
from_source() {
  echo "error: $1" >&2
  echo "hint: build from source with \`cargo install --locked --git $repository flakewise\`" >&2
  exit 1
}

fail() {
  echo "error: $1" >&2
  exit 1
}

main "$@"
