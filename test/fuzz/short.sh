#!/usr/bin/env bash
# The fuzz targets for a few seconds each, as a test: do they build, and hold on their seeds?
cd "$(dirname "$0")/../.." || exit 1
exec make -s fuzz FUZZ_SECONDS="${FUZZ_SECONDS:-5}"
