#!/usr/bin/env bash
# Builds the Go peers of the contract tests into build/peers: AWS' mock of the instance metadata,
# and a program that judges cluster tokens with aws-iam-authenticator's own verifier. Kept until
# a source of theirs changes; needs no root.
set -euo pipefail
cd "$(dirname "$0")"
root=$PWD/../../..
out=$root/build/peers
. ../../support/go.sh

sum=$(cat go.mod go.sum build.sh verifier/*.go ../../support/go.sh | cksum)
[ "$(cat "$out/.made-from" 2>/dev/null || true)" != "$sum" ] || exit 0
find_go "$root/build/venv"
mkdir -p "$out"
build() { # NAME PACKAGE
  CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o "$out/$1" "$2"
}
build metadata github.com/aws/amazon-ec2-metadata-mock/cmd/ec2-metadata-mock
build verifier ./verifier
echo "$sum" > "$out/.made-from"
