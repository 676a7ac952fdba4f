#!/usr/bin/env bash
# README's first command in a bare Debian 12 root, so that a package missing from the lists can't
# hide behind what this machine has. Needs root (chroot) and Debian's mirror as apt here knows it.
set -u
cd "$(dirname "$0")/.."
root=$(mktemp -d "${TMPDIR:-/tmp}/rtl-fresh.XXXXXX")
chmod 755 "$root"
passed=0
failed=0

finish() {
  mountpoint -q "$root/proc" && umount "$root/proc"
  rm -rf --one-file-system "$root"
  echo "fresh: $passed passed, $failed failed, 0 skipped"
  exit $((failed > 0))
}
trap finish EXIT

expect() { # WHAT COMMAND…
  local what=$1
  shift
  if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED $what"; fi
}

mirror=$(sed -nE 's/^(deb( \[[^]]*\])?|URIs:) +([^ ]+).*/\3/p' \
  /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | grep -v security | head -n 1)
debootstrap --variant=minbase bookworm "$root" ${mirror:+"$mirror"} >"$root.log" 2>&1 ||
  { tail -n 5 "$root.log"; failed=1; exit 1; }
rm -f "$root.log"
rm -f "$root/etc/apt/sources.list"
cp /etc/apt/sources.list "$root/etc/apt/sources.list" 2>/dev/null
cp -r /etc/apt/sources.list.d/. "$root/etc/apt/sources.list.d/" 2>/dev/null
cp -r /etc/apt/apt.conf.d/. "$root/etc/apt/apt.conf.d/"
mkdir -p "$root/etc/ssl/certs" "$root/src/rtl"
cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/" 2>/dev/null
cp /etc/resolv.conf "$root/etc/resolv.conf"
mount -t proc proc "$root/proc"
git ls-files -z | tar -c --null -T - | tar -x -C "$root/src/rtl"

# Without root it installs nothing: it names the packages and stops.
names_the_packages() {
  chroot --userspec=65534:65534 "$root" sh /src/rtl/vendor/setup.sh >"$root/tmp/unprivileged" 2>&1
  [ $? = 1 ] && grep -q "apt-get install .*liblua5.4-dev" "$root/tmp/unprivileged"
}

# The bundle carries what a bare Linux lacks: it plays the deploy before anything is installed.
bundle_plays() {
  make -s bundle >/dev/null && mkdir -p "$root/opt" &&
    tar -xzf build/bundle/rtl-*.tar.gz -C "$root/opt" &&
    chroot "$root" sh -c 'cd /tmp && HOME=/tmp /opt/rtl-*/rtl --rehearse deploy' >"$root/tmp/bundle" 2>&1
}

run_first_command() {
  chroot "$root" sh /src/rtl/vendor/setup.sh >"$root/out" 2>&1
}
expect "the bundle plays the deploy where nothing is installed" bundle_plays
expect "without root it names the packages and stops" names_the_packages
expect "sh vendor/setup.sh ends with exit 0" run_first_command
expect "it ends in the verdict" grep -qE "EFA" "$root/out"
expect "it says how to remove it all" grep -q "teardown" "$root/out"
[ "$failed" = 0 ] || tail -n 40 "$root/tmp/bundle" "$root/tmp/unprivileged" "$root/out"
