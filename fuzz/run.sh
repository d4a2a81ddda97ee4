#!/bin/sh
# Seeds the corpora from tests/wire, the router's rows, heads that caches see and what TLS clients say, and runs every fuzz target for so
# many seconds, one after the other.
# Installs cargo-fuzz if it is missing. Sanitizers need an unstable compiler: nightly if there is one, else the stable
# toolchain with its unstable options allowed.
set -eu
seconds=${1:?usage: fuzz/run.sh SECONDS [TARGET...]}
shift
cd "$(dirname "$0")"
command -v cargo-fuzz >/dev/null 2>&1 || cargo install cargo-fuzz --locked --version 0.13.2
if cargo +nightly --version >/dev/null 2>&1; then
  toolchain=+nightly
else
  toolchain=
  export RUSTC_BOOTSTRAP=1
fi
node seed.mjs
for target in ${*:-h1_request_head h1_chunked h2_hpack h2_frames h2_session connection_sequence url_prefix_and_lookup \
  cache_decisions tls_hostile_peer x509_hostile_chain channel_application_side channel_host_side control_registry}; do
  case $target in
    url_prefix*) dictionary=-dict=url-prefix.dict ;;
    h2_* | tls_* | x509_* | channel_* | control_*) dictionary= ;;
    *) dictionary=-dict=http1.dict ;;
  esac
  # shellcheck disable=SC2086 -- no toolchain and no dictionary are no arguments
  cargo $toolchain fuzz run "$target" -- \
    -max_total_time="$seconds" -max_len=4096 $dictionary -print_final_stats=1
done
