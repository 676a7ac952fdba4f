#!/usr/bin/env bash
# Runs every group of tests and closes with the sum: 'N passed, N failed, N skipped'.
#
#   bash test/all.sh [GROUP…]     default: all groups
#
# A group that this machine can't run fails, unless RTL_SKIP (names, separated by commas) says that
# it is left out on purpose; it then counts as one skipped.
set -u
cd "$(dirname "$0")/.."
export RTL_STATE="${RTL_STATE:-$PWD/build/test-state}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT

specs() { RTL_TEST_GROUP=$1 build/rtl test/run.lua "test/$1"; }

run_group() {
  case "$1" in
    check) bash test/check/check.sh ;;
    fuzz)  bash test/fuzz/short.sh ;;
    fresh) bash test/fresh.sh ;;
    lab)   bash test/lab/test.sh ;;
    *)     specs "$1" ;;
  esac
}

groups=("$@")
[ ${#groups[@]} -gt 0 ] || groups=(unit contract cli fault check fuzz fresh lab)
for group in "${groups[@]}"; do
  started=$SECONDS
  echo "== $group"
  if [[ ",${RTL_SKIP:-}," == *",$group,"* ]]; then
    echo "$group: 0 passed, 0 failed, 1 skipped" | tee -a "$log"
    continue
  fi
  run_group "$group" 2>&1 | tee "$log.group"
  status=${PIPESTATUS[0]}
  line=$(grep -E "^$group: [0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$" "$log.group" | tail -n 1)
  rm -f "$log.group"
  if [ -z "$line" ]; then
    line="$group: 0 passed, 1 failed, 0 skipped"
    echo "$group: ended without its counts (exit $status)"
  elif [ "$status" != 0 ] && [[ "$line" == *" 0 failed,"* ]]; then
    line="$group: 0 passed, 1 failed, 0 skipped"
    echo "$group: exit $status though no test failed"
  elif [[ "$line" == "$group: 0 passed, 0 failed,"* ]]; then
    line="$group: 0 passed, 1 failed, 0 skipped"
    echo "$group: ran no test; name it in RTL_SKIP to leave it out"
  fi
  echo "$line" >> "$log"
  echo "   $((SECONDS - started)) s"
done

awk '{ p += $2; f += $4; s += $6 }
     END { printf "%d passed, %d failed, %d skipped\n", p, f, s; exit f > 0 || p == 0 }' "$log"
