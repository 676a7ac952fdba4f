#!/usr/bin/env bash
# The strict checks: each line of CHECKS is one pass or failure.
set -u
cd "$(dirname "$0")/../.."
passed=0
failed=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT
specs="build/rtl test/run.lua"

check() { # NAME COMMAND…
  local name=$1
  shift
  if "$@" >"$log" 2>&1; then
    passed=$((passed + 1))
    echo "ok $name"
  else
    failed=$((failed + 1))
    echo "FAILED $name (exit $?)"
    tail -n 40 "$log"
  fi
}

# Lua's allocator keeps nothing back at exit, so that every leak is ours.
sanitized() {
  make -s BUILD=build/asan SANITIZE=address,undefined CFLAGS='-O1 -g' &&
    ASAN_OPTIONS=detect_leaks=1:abort_on_error=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
    LSAN_OPTIONS=suppressions=test/check/lsan.supp:print_suppressions=0 \
    RTL_BUILD=build/asan RTL_TEST_SLOW=1 build/asan/rtl test/run.lua test/unit
}

collector() { RTL_TEST_GC=1 RTL_TEST_SLOW=1 $specs test/unit; }

# Each has one; a spec that is not there fails.
module_specs() {
  for module in modules/*/; do
    name=$(basename "$module")
    [ "$name" = file ] && name=fs # rtl.fs is its only user
    echo "test/unit/${name}_spec.lua"
  done
}

memory() { module_specs | xargs -n 1 -P 2 test/check/valgrind.sh; }

check "no warnings by luacheck" luacheck -q lua recipes test host
check "structure" env RTL_TEST_GROUP=structure $specs test/check
check "address and undefined behaviour sanitizers over the unit specs" sanitized
check "the most aggressive collector over the unit specs" collector
check "valgrind over the module specs" memory

echo "check: $passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ]
