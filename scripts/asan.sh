#!/usr/bin/env bash
# Builds the add-on and the host with AddressSanitizer, sends the rows of tests/wire through the add-on, inline and on two
# threads, and through all three drives the bodies that are sent from the program's memory (lent-memory.test.mjs).
# The runtime for the add-on is gcc's, loaded before Node; the host has its own. Leaks at exit are not looked for.
set -euo pipefail
cd "$(dirname "$0")/.."

target=x86_64-unknown-linux-gnu
if cargo +nightly --version >/dev/null 2>&1; then toolchain=+nightly; else toolchain=; export RUSTC_BOOTSTRAP=1; fi
# shellcheck disable=SC2086 -- no toolchain is no argument
RUSTFLAGS=-Zsanitizer=address cargo $toolchain build --locked -p portico-node -p portico-cli --target "$target"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
built="${CARGO_TARGET_DIR:-target}/$target/debug"
cp "$built/libportico_node.so" "$folder/portico.linux-x64-gnu.node"
runtime=$(gcc -print-file-name=libasan.so)
export ASAN_OPTIONS=detect_leaks=0,verify_asan_link_order=0,handle_segv=0 PORTICO_NATIVE="$folder/portico.linux-x64-gnu.node"

for threads in 0 2; do
  LD_PRELOAD=$runtime PORTICO_REQUIRE=1 PORTICO_THREADS=$threads \
    "${NODE:-node}" --import ./packages/portico/dist/register.js tests/wire/check-portico.mjs | grep -E '^(not ok|# (pass|fail))'
done
PORTICO_TEST_LD_PRELOAD=$runtime PORTICO_PROGRAM=$(realpath "$built/portico") \
  "${NODE:-node}" --test tests/robustness/lent-memory.test.mjs
