#!/usr/bin/env bash
# Lines of code (not blank, not only comment) of each layer.
set -eu
cd "$(dirname "$0")/../.."

count() { # NAME PATTERN…
  local name=$1
  shift
  git ls-files "$@" | grep -vE '^test/(vectors|fuzz/seeds)/' |
    xargs -r -d '\n' grep -hvE '^\s*($|--|//|\*|/\*|#[^a-z])' | wc -l | xargs printf '%-24s %6d\n' "$name"
}

count host 'host/*.[cSh]' 'host/*.lua'
count modules 'modules/*.[ch]'
count 'lua/rtl (base)' 'lua/rtl/*.lua' 'lua/rtl/wire/*.lua' ':!lua/rtl/[!w]*/*'
for layer in aws k8s helm ray nccl plan kinds recipe cli rehearse codes; do
  count "lua/rtl/$layer" "lua/rtl/$layer/*.lua"
done
count recipes 'recipes/*'
count test 'test/*.lua' 'test/*.py' 'test/*.sh' 'test/*.c' 'test/*.go'
