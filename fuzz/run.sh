#!/bin/sh
# Seeds the corpora from tests/wire and runs every fuzz target for so many seconds, one after the other.
# Needs cargo-fuzz (`cargo install cargo-fuzz --locked`) and a nightly toolchain.
set -eu
seconds=${1:?usage: fuzz/run.sh SECONDS [TARGET...]}
shift
cd "$(dirname "$0")"
node seed.mjs
for target in ${*:-h1_request_head h1_chunked connection_sequence}; do
  cargo +nightly fuzz run "$target" -- \
    -max_total_time="$seconds" -max_len=4096 -dict=http1.dict -print_final_stats=1
done
