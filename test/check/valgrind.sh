#!/usr/bin/env bash
# valgrind.sh SPEC: one spec file under valgrind, in the very process that valgrind watches: in
# children of it, its own descriptors and environment would show in what specs look at.
set -u
cd "$(dirname "$0")/../.."
folder=$(mktemp -d)
log=$(mktemp)
TMPDIR=$folder RTL_TEST_TMP=$folder RTL_TEST_SLOW=1 valgrind -q --vgdb=no --error-exitcode=9 \
  --leak-check=full --errors-for-leak-kinds=definite --suppressions=test/check/valgrind.supp \
  --child-silent-after-fork=yes build/rtl test/run.lua "$1" > "$log" 2>&1
status=$?
[ $status = 0 ] || { echo "$1 ended with $status"; cat "$log"; }
rm -rf "$folder" "$log"
exit $status
