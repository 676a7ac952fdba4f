#!/bin/sh
# Installs what is missing and goes on:
#
#   sh vendor/setup.sh            packages, build, the rehearsed deploy
#   sh vendor/setup.sh test       what the tests need, then all tests
#   sh vendor/setup.sh packages [test] [lab]   the packages to build with, and of these groups
#
# As root or through sudo it installs; otherwise it names the packages and stops.
set -eu
cd "$(dirname "$0")/.."

system() {
  . /etc/os-release 2>/dev/null || true
  name="${ID:-unknown}-${VERSION_ID:-}"
  if [ ! -f "vendor/packages/$name.build" ]; then
    echo "setup: no package list for '$name'. vendor/packages/ has one for: $(
      ls vendor/packages | sed -n 's/\.build$//p' | tr '\n' ' ')" >&2
    echo "setup: install the like of vendor/packages/debian-12.build, then run 'make'" >&2
    exit 1
  fi
  if grep -q UNTESTED "vendor/packages/$name.build"; then
    echo "setup: the package list for $name is untested" >&2
  fi
}

# missing GROUP…: the packages of these lists that are not installed
missing() {
  for group in "$@"; do
    sed -e 's/#.*//' "vendor/packages/$name.$group"
  done | tr -s ' \n' '\n\n' | sed '/^$/d' | sort -u | while read -r package; do
    state=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$state" = installed ] || echo "$package"
  done
}

install() {
  wanted=$(missing "$@" | tr '\n' ' ')
  [ -n "$wanted" ] || return 0
  if [ "$(id -u)" = 0 ]; then
    as_root=""
  elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null || [ -t 0 ] && command -v sudo >/dev/null; then
    as_root="sudo"
  else
    echo "setup: these packages are missing, and this is not root: $wanted" >&2
    echo "setup: ask for: apt-get install $wanted" >&2
    exit 1
  fi
  echo "setup: installing $wanted"
  $as_root apt-get update -qq
  # shellcheck disable=SC2086
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $wanted >/dev/null
}

# The Python peers that tests compare with, in build/venv; made anew when the list changes.
python_peers() {
  stamp=$(cksum < test/requirements.txt)
  if [ "$(cat build/venv/.made-from 2>/dev/null || true)" != "$stamp" ]; then
    rm -rf build/venv
    mkdir -p build
    python3 -m venv build/venv
    build/venv/bin/python -m pip install --quiet --disable-pip-version-check -r test/requirements.txt
    echo "$stamp" > build/venv/.made-from
  fi
}

system
case "${1:-run}" in
  packages)
    shift
    install build "$@" ;;
  run)
    install build
    make -s -j"$(nproc)"
    exec build/rtl --rehearse recipes/deploy.lua ;;
  test)
    install build test
    python_peers
    bash test/contract/peers/build.sh
    make -s -j"$(nproc)"
    exec bash test/all.sh ;;
  *)
    echo "usage: sh vendor/setup.sh [run|test|packages [GROUP…]]" >&2
    exit 2 ;;
esac
