#!/usr/bin/env bash
# Measures, each figure beside its peer in one run. Nothing here passes or fails; what was measured
# when, and where, stands in README.md beside this file.
set -u
cd "$(dirname "$0")/../.."
python3 test/bench/processes.py "${1:-31}"
for script in test/bench/*.lua; do
  [ ! -f "$script" ] || build/rtl "$script"
done
bash test/bench/lines.sh
