#!/bin/bash
# Measures Portico against its peers: see bench/README.md. Installs what it needs, builds, runs.
# Usage: bash bench/run.sh [--no-install] [options of the harness; --help lists them]
set -euo pipefail
# Files named on the command line are the caller's.
export BENCH_CALLER=$PWD
cd "$(dirname "$0")"

install=yes
if [ "${1:-}" = --no-install ]; then
  install=no
  shift
fi

# Debian's packages: generator libraries, peers. Without root and without them the peers concerned are left out.
need=()
command -v gcc > /dev/null || need+=(gcc libc6-dev)
[ -e /usr/include/openssl/ssl.h ] || need+=(libssl-dev)
command -v openssl > /dev/null || need+=(openssl)
command -v nginx > /dev/null || need+=(nginx-light)
command -v haproxy > /dev/null || need+=(haproxy)
command -v wrk > /dev/null || need+=(wrk)
if [ "$install" = yes ] && [ ${#need[@]} -gt 0 ]; then
  echo "bench: installing ${need[*]}"
  export DEBIAN_FRONTEND=noninteractive
  (apt-get update -qq && apt-get install -y -qq --no-install-recommends "${need[@]}") > /dev/null
fi
if [ "$install" = yes ] && ! cmp -s package-lock.json node_modules/.portico-bench-lock; then
  echo 'bench: installing the peers from npm'
  npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
  cp package-lock.json node_modules/.portico-bench-lock
fi

mkdir -p .build
if [ ! -e .build/load ] || [ -n "$(find load -newer .build/load)" ]; then
  gcc -std=c17 -D_GNU_SOURCE -O2 -Wall -Wextra -o .build/load load/*.c -lssl -lcrypto
fi
if [ ! -e .build/floor ] || [ servers/floor.c -nt .build/floor ]; then
  gcc -std=c17 -O2 -Wall -Wextra -o .build/floor servers/floor.c
fi

# Certificates that no client trusts, of the two kinds that are measured.
certificate() {
  local name=$1
  shift
  [ -e ".build/$name.crt" ] || openssl req -x509 -nodes -days 3650 -subj /CN=localhost \
    -addext subjectAltName=DNS:localhost,IP:127.0.0.1 -keyout ".build/$name.key" -out ".build/$name.crt" "$@" 2> /dev/null
}
certificate rsa -newkey rsa:2048
certificate p256 -newkey ec -pkeyopt ec_paramgen_curve:P-256

# 10,000 connections need that many descriptors on both ends; the harness itself stays off the servers' core.
ulimit -n "$(ulimit -Hn)"
exec taskset -c 1 node harness/main.mjs "$@"
