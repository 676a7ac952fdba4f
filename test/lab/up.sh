#!/usr/bin/env bash
# Brings the lab up: control plane and three nodes of made-up size, as the mission has them.
# Nothing leaves the machine: all of it lives in a network namespace without a default route.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
. "$here/node.sh"
# name:index:gpus:efa:cpus:memory in GiB
NODES="system:10:0:0:4:16 gpu-a:11:4:1:48:192 gpu-b:12:4:1:48:192"
started=$SECONDS
lap() { printf 'lab: %4d s  %s\n' $((SECONDS - started)) "$1"; }
fail() {
  echo "lab: $1" >&2
  tail -n 3 "$run"/logs/*.log >&2
  exit 1
}

"$here/down.sh"
mkdir -p "$run/logs" "$run/pids"
# the kubelet changes these three
sysctl -n kernel.panic kernel.panic_on_oops vm.overcommit_memory > "$run/sysctl.before"
# folders of the host that the kubelet makes, and those that the plugins' pods mount
for folder in /var/lib/kubelet /var/lib/kubelet/device-plugins /var/log/containers /var/log/pods \
  /dev/infiniband /run/nvidia /run/nvidia/mps /var/run/cdi /opt/aws /opt/aws/neuron; do
  [ -d "$folder" ] || echo "$folder"
done > "$run/folders.new"
: > "$run/resolv.conf"
"$here/certs.sh"
network_up
etcd_up
apiserver_up
template_up || fail "images could not be imported"
wait_for 600 apiserver_ready || fail "the API server did not become ready"
lap "API server"
controllers_up
dns_up
echo "$NODES" | tr ' ' '\n' > "$run/nodes"
while IFS=: read -r name index gpus efa cpus memory; do
  node_up "$name" "$index" "$gpus" "$efa" "$cpus" "$memory" </dev/null || fail "node $name did not join"
  lap "node $name"
done < "$run/nodes"
for file in "$run"/pids/*; do
  alive "$(cat "$file")" || fail "$(basename "$file") died"
done
