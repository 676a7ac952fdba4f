#!/usr/bin/env bash
# bundle.sh BINARY DIR: copies BINARY and each shared library it links or dlopens (but libc's own)
# into DIR and makes all of them look for each other there.
set -euo pipefail
binary=$1
dir=$2
dlopened=(libcurl.so.4 libcrypto.so.3 libxml2.so.2)
system='^(linux-vdso|ld-linux|libc|libm|libdl|libpthread|librt|libresolv|libutil)[.-]'

install -m 755 "$binary" "$dir/rtl"
{
  ldd "$binary"
  for name in "${dlopened[@]}"; do
    path=$(ldconfig -p | awk -v n="$name" '$1 == n && /x86-64/ && !seen++ { print $NF }')
    echo "$name => $path (0)"
    ldd "$path"
  done
} | awk '$2 == "=>" && $3 ~ /^\// { print $1, $3 }' | sort -u | while read -r name path; do
  [[ $name =~ $system ]] || install -m 644 "$path" "$dir/$name"
done
# DT_RUNPATH is not searched for what a library needs, DT_RPATH is; the wrapper sets the path for
# dlopen as well, so that no file has to be edited.
mv "$dir/rtl" "$dir/rtl.bin"
cat > "$dir/rtl" <<'WRAPPER'
#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
LD_LIBRARY_PATH="$here${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" exec "$here/rtl.bin" "$@"
WRAPPER
chmod 755 "$dir/rtl"
