#!/usr/bin/env bash
# Builds the add-on with AddressSanitizer and sends the rows of tests/wire through it, inline and on two threads.
# The sanitizer's runtime is gcc's, loaded before Node. Node's own leaks at exit are not looked for.
set -euo pipefail
cd "$(dirname "$0")/.."

target=x86_64-unknown-linux-gnu
if cargo +nightly --version >/dev/null 2>&1; then toolchain=+nightly; else toolchain=; export RUSTC_BOOTSTRAP=1; fi
# shellcheck disable=SC2086 -- no toolchain is no argument
RUSTFLAGS=-Zsanitizer=address cargo $toolchain build --locked -p portico-node --target "$target"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp "${CARGO_TARGET_DIR:-target}/$target/debug/libportico_node.so" "$folder/portico.linux-x64-gnu.node"

for threads in 0 2; do
  LD_PRELOAD=$(gcc -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0,verify_asan_link_order=0,handle_segv=0 \
    PORTICO_NATIVE="$folder/portico.linux-x64-gnu.node" PORTICO_REQUIRE=1 PORTICO_THREADS=$threads \
    "${NODE:-node}" --import ./packages/portico/dist/register.js tests/wire/check-portico.mjs | grep -E '^(not ok|# (pass|fail))'
done
