#!/usr/bin/env bash
# Makes sure that commands exist, installing Debian packages for those that don't.
# Usage: need.sh COMMAND[=PACKAGE] ...
set -euo pipefail

missing=()
for item in "$@"; do
  command=${item%%=*}
  package=${item#*=}
  command -v "$command" >/dev/null 2>&1 || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

if ! command -v apt-get >/dev/null 2>&1; then
  echo "Missing: ${missing[*]}. Install these packages with your system's package manager, then try again." >&2
  exit 1
fi
run=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null 2>&1; then
    echo "Missing: ${missing[*]}. Run as root: apt-get install ${missing[*]}" >&2
    exit 1
  fi
  run=(sudo)
fi
echo "Installing Debian packages: ${missing[*]}"
"${run[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq
"${run[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
