#!/usr/bin/env bash
# Builds what is missing, brings the lab up, runs its specs and takes it down in every case. Closes
# with the line 'lab: N passed, N failed, N skipped'.
#
#   RTL_LAB_KEEP=1 bash test/lab/test.sh     leaves it up
set -u
cd "$(dirname "$0")/../.."
. test/lab/paths.sh

counts='lab: 0 passed, 1 failed, 0 skipped'
fail() {
  echo "lab: $1"
  exit 1
}
finish() {
  [ -n "${keep:-}" ] || bash test/lab/down.sh
  echo "$counts"
}
keep=${RTL_LAB_KEEP:-}
unset RTL_LAB_KEEP
started=$SECONDS
trap finish EXIT
trap 'exit 130' INT TERM

[ "$(id -u)" = 0 ] || fail "it needs root: containers, mounts, a network namespace"
sh vendor/setup.sh packages test lab || fail "its packages could not be installed"
make -s || fail "rtl could not be built"
bash test/lab/build.sh || fail "its programs and images could not be built"
bash test/lab/up.sh || fail "it did not come up"
echo "lab: up after $((SECONDS - started)) s"
out=$(mktemp)
# one after the other: the recipes' spec compares all objects of the cluster, before and after
RTL_TEST_GROUP=lab RTL_TEST_JOBS=1 test/lab/in "${RTL_BUILD:-build}/rtl" test/run.lua test/lab 2>&1 | tee "$out"
status=${PIPESTATUS[0]}
line=$(grep -E '^lab: [0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$out" | tail -n 1)
rm -f "$out"
[ -z "$line" ] || counts=$line
echo "lab: $((SECONDS - started)) s"
exit "$status"
