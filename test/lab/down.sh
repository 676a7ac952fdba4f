#!/usr/bin/env bash
# Takes the lab down: only what up.sh started (by pid), its containers, mounts, cgroups, network
# namespace and data. Programs and images stay.
set -uo pipefail
. "$(dirname "$0")/lib.sh"
. "$here/node.sh"
[ -d "$run" ] || exit 0

while IFS=: read -r name index _; do
  node_down "$name" "$index"
done < <(cat "$run/nodes" 2>/dev/null)
for file in "$run"/pids/*; do
  [ ! -f "$file" ] || stop "$(basename "$file")"
done
awk '{ print $2 }' /proc/mounts | grep -F "$run/" | sort -r | while read -r mount; do
  umount -l "$mount"
done
for namespace in /run/netns/cni-*; do
  [ ! -e "$namespace" ] || ip netns del "$(basename "$namespace")" 2>/dev/null
done
ip netns del $netns 2>/dev/null
# the kubelet always links pod logs there
for link in /var/log/containers/*; do
  case $(readlink "$link") in "$run"/*) rm -f "$link" ;; esac
done
for group in /sys/fs/cgroup/*/rtl-lab; do
  [ ! -d "$group" ] || find "$group" -depth -type d -exec rmdir {} + 2>/dev/null
done
tac "$run/folders.new" 2>/dev/null | xargs -r rmdir 2>/dev/null
if [ -s "$run/sysctl.before" ]; then
  mapfile -t before < "$run/sysctl.before"
  sysctl -qw "kernel.panic=${before[0]}" "kernel.panic_on_oops=${before[1]}" \
    "vm.overcommit_memory=${before[2]}"
fi
rm -rf "$run"
exit 0
