#!/usr/bin/env bash
# Builds add-on and program for other platforms than this machine, stripped: target/packages/PLATFORM/{portico.node,portico}.
# Usage: build.sh PLATFORM...   (linux-x64-gnu linux-arm64-gnu linux-x64-musl linux-arm64-musl)
#
# zig is the C compiler and linker, so that glibc's symbols are those of 2.28 whatever this machine has, and no cross
# compiler is needed. It and cargo-zigbuild come from PyPI, pinned with their hashes, into target/packaging-tools.
set -euo pipefail
cd "$(dirname "$0")/../.."

GLIBC=2.28
tools=target/packaging-tools

target_of() {
  case $1 in
    linux-x64-gnu) echo x86_64-unknown-linux-gnu ;;
    linux-arm64-gnu) echo aarch64-unknown-linux-gnu ;;
    linux-x64-musl) echo x86_64-unknown-linux-musl ;;
    linux-arm64-musl) echo aarch64-unknown-linux-musl ;;
    *) echo "There is no platform $1: linux-x64-gnu, linux-arm64-gnu, linux-x64-musl or linux-arm64-musl." >&2; return 1 ;;
  esac
}

for platform in "$@"; do target_of "$platform" >/dev/null; done

if ! cmp -s packaging/npm/requirements.txt "$tools/requirements.txt"; then
  scripts/need.sh python3
  python3 -c 'import ensurepip' 2>/dev/null || scripts/need.sh "a missing module=python3-venv"
  rm -rf "$tools"
  python3 -m venv "$tools"
  "$tools/bin/pip" install --quiet --disable-pip-version-check --require-hashes -r packaging/npm/requirements.txt
  cp packaging/npm/requirements.txt "$tools/requirements.txt"
fi
PATH=$PWD/$tools/bin:$PATH

for platform in "$@"; do
  target=$(target_of "$platform")
  rustup target add "$target" >/dev/null 2>&1 || { echo "rustup target add $target failed: is Rust installed by rustup?" >&2; exit 1; }
  case $platform in
    # The add-on is a shared object, and uses the C library of the Node.js that loads it.
    *-musl) flags="-C target-feature=-crt-static" versioned=$target ;;
    *) flags="" versioned=$target.$GLIBC ;;
  esac
  echo "Building for $platform"
  RUSTFLAGS="$flags" CARGO_PROFILE_RELEASE_STRIP=symbols \
    cargo zigbuild --release --locked --target "$versioned" -p portico-node -p portico-cli
  mkdir -p "target/packages/$platform"
  install -m 755 "target/$target/release/libportico_node.so" "target/packages/$platform/portico.node"
  install -m 755 "target/$target/release/portico" "target/packages/$platform/portico"
done
