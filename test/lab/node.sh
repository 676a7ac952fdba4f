# A node of the lab: its own containerd and kubelet, bridge and pod subnet, and a mount namespace in
# which /var/lib/kubelet/device-plugins is its own (the kubelet's path for plugins can't be moved).
# Sourced by up.sh and down.sh.

GPU_LABELS=role=gpu-worker,nvidia.com/gpu.present=true,node.kubernetes.io/instance-type=g6.12xlarge
SYSTEM_LABELS=role=system,node.kubernetes.io/instance-type=m7i.xlarge

containerd_config() { # ROOT STATE SOCKET [CRI]
  printf 'version = 2\nroot = "%s"\nstate = "%s"\n[grpc]\n  address = "%s"\n' "$1" "$2" "$3"
}

# All images imported once; each node starts from hard links to it.
template_up() {
  local template=$img/template archive made_of
  made_of=$(stat -c '%n %s %Y' "$img"/*.tar)
  [ "$(cat "$template/.made-of" 2>/dev/null)" != "$made_of" ] || return 0
  rm -rf "$template"
  mkdir -p "$template"
  {
    echo 'disabled_plugins = ["io.containerd.grpc.v1.cri"]'
    containerd_config "$template" "$run/template-state" "$run/template.sock"
  } > "$run/template.toml"
  start template containerd --config "$run/template.toml"
  wait_for 100 test -S "$run/template.sock"
  for archive in "$img"/*.tar; do
    # `-n k8s.io images import` sets the label without which the CRI plugin ignores an image
    ctr --address "$run/template.sock" -n k8s.io images import "$archive" >/dev/null || return 1
  done
  stop template
  echo "$made_of" > "$template/.made-of"
}

# Databases are copied, since hard links to them would be shared between the nodes.
node_images() { # FOLDER
  local database
  cp -al "$img/template" "$1/containerd"
  find "$1/containerd" -name '*.db' | while read -r database; do
    cp --remove-destination "$img/template/${database#"$1/containerd/"}" "$database"
  done
}

node_containerd_config() { # FOLDER
  containerd_config "$1/containerd" "$1/containerd-state" "$1/containerd.sock"
  cat <<T
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "docker.io/lab/pause:1"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "$1/cni.d"
T
}

node_cni_config() { # FOLDER INDEX
  cat <<T
{"cniVersion":"1.0.0","name":"lab$2","plugins":[
 {"type":"bridge","bridge":"cni$2","isGateway":true,"ipMasq":false,"hairpinMode":true,
  "ipam":{"type":"host-local","dataDir":"$1/cni","ranges":[[{"subnet":"10.244.$2.0/24"}]],
          "routes":[{"dst":"0.0.0.0/0"}]}},
 {"type":"portmap","capabilities":{"portMappings":true}}]}
T
}

node_kubelet_config() { # FOLDER NAME INDEX GPUS
  cat <<T
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: 10.99.0.$3
port: 10250
readOnlyPort: 0
healthzPort: $((10300 + $3))
healthzBindAddress: 127.0.0.1
tlsCertFile: $pki/kubelet-server-$2.crt
tlsPrivateKeyFile: $pki/kubelet-server-$2.key
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: $pki/ca.crt}}
authorization: {mode: Webhook}
containerRuntimeEndpoint: unix://$1/containerd.sock
cgroupDriver: cgroupfs
cgroupRoot: /rtl-lab/$2
failCgroupV1: false
failSwapOn: false
clusterDNS: [10.99.0.1]
clusterDomain: cluster.local
resolvConf: $run/resolv.conf
enforceNodeAllocatable: [pods]
evictionHard: {memory.available: 100Mi, nodefs.available: 1%, imagefs.available: 1%, nodefs.inodesFree: 1%}
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
nodeLeaseDurationSeconds: 8
nodeStatusUpdateFrequency: 3s
logging: {verbosity: 2}
volumePluginDir: $1/volumeplugins
podLogsDir: $1/podlogs
$([ "$4" = 0 ] || echo 'registerWithTaints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]')
T
}

# cgroup v1: cpuset starts empty in a new group, and a group's share of the CPUs is one process'. On
# a busy machine all pods together would get that, and Ray gives up when it starts too slowly.
node_cgroups() { # NAME
  local controller file folder
  for controller in /sys/fs/cgroup/*/; do mkdir -p "$controller/rtl-lab/$1"; done
  echo 10240 2>/dev/null > /sys/fs/cgroup/cpu/rtl-lab/cpu.shares || true
  [ -d /sys/fs/cgroup/cpuset ] || return 0
  for file in cpuset.cpus cpuset.mems; do
    for folder in rtl-lab "rtl-lab/$1"; do
      cat "/sys/fs/cgroup/cpuset/$file" > "/sys/fs/cgroup/cpuset/$folder/$file"
    done
  done
}

node_ready() { "$here/in" kubectl get node "$1" 2>/dev/null | grep -q ' Ready'; }

node_up() { # NAME INDEX GPUS EFA
  local name=$1 index=$2 folder=$run/node$2 plugins=/var/lib/kubelet/device-plugins labels
  mkdir -p "$folder/cni.d" "$folder/device-plugins/lab" $plugins
  echo "$3" > "$folder/device-plugins/lab/nvidia.com-gpu"
  echo "$4" > "$folder/device-plugins/lab/vpc.amazonaws.com-efa"
  ip -n $netns addr add "10.99.0.$index/24" dev node0
  node_images "$folder"
  node_containerd_config "$folder" > "$folder/containerd.toml"
  node_cni_config "$folder" "$index" > "$folder/cni.d/10-lab.conflist"
  node_kubelet_config "$folder" "$name" "$index" "$3" > "$folder/kubelet.yaml"
  node_cgroups "$name"
  "$here/certs.sh" "$name" "10.99.0.$index"
  start "containerd-$name" unshare --mount --propagation private sh -c \
    "mount --bind '$folder/device-plugins' $plugins && exec containerd --config '$folder/containerd.toml'"
  wait_for 100 test -S "$folder/containerd.sock"
  labels=$SYSTEM_LABELS
  [ "$3" = 0 ] || labels=$GPU_LABELS
  start "kubelet-$name" nsenter --mount="/proc/$(cat "$run/pids/containerd-$name")/ns/mnt" \
    env LAB_CPUS="$5" LAB_MEMORY_GIB="$6" "$bin/kubelet" --config="$folder/kubelet.yaml" \
    --kubeconfig="$conf/kubelet-$name" --hostname-override="$name" --node-ip="10.99.0.$index" \
    --root-dir="$folder/kubelet" --cert-dir="$folder/pki" --node-labels="$labels"
  wait_for 600 node_ready "$name"
}

node_tasks_gone() { [ -z "$($1 task ls -q 2>/dev/null)" ]; }

node_down() { # NAME INDEX
  local name=$1 folder=$run/node$2 ctr task group
  stop "kubelet-$name"
  ctr="ctr --address $folder/containerd.sock -n k8s.io"
  if [ -S "$folder/containerd.sock" ]; then
    for task in $($ctr task ls -q 2>/dev/null); do $ctr task kill -s KILL "$task" >/dev/null 2>&1; done
    for task in $($ctr task ls -q 2>/dev/null); do $ctr task rm -f "$task" >/dev/null 2>&1; done
    wait_for 50 node_tasks_gone "$ctr"
    for task in $($ctr container ls -q 2>/dev/null); do $ctr container rm "$task" >/dev/null 2>&1; done
  fi
  stop "containerd-$name"
  for group in /sys/fs/cgroup/*/rtl-lab/"$name"; do
    [ ! -d "$group" ] || find "$group" -depth -type d -exec rmdir {} + 2>/dev/null
  done
}
