#!/usr/bin/env bash
# Runs fuzz targets that are built: FUZZ_SECONDS each. One pass or failure a target.
set -u
build=${FUZZ_BUILD:-build/fuzz}
seconds=${FUZZ_SECONDS:-60}
passed=0
failed=0
for target in "$@"; do
  corpus=$build/corpus/$target
  mkdir -p "$corpus"
  if "$build/$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -max_len=8192 \
    -artifact_prefix="$corpus-failed-" "$corpus" "test/fuzz/seeds/$target" \
    >"$build/$target.log" 2>&1; then
    passed=$((passed + 1))
    echo "ok $target: $(ls "$corpus" | wc -l) inputs, $(tail -n 1 "$build/$target.log")"
  else
    failed=$((failed + 1))
    echo "FAILED $target"
    tail -n 40 "$build/$target.log"
  fi
done
echo "fuzz: $passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ]
