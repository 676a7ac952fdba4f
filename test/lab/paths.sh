# Where the lab's things lie; read by each of its scripts.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$here/../.." && pwd)
# Built programs and images are kept between runs (they take a quarter of an hour to make).
LAB=${RTL_LAB:-${LAB:-${XDG_CACHE_HOME:-$HOME/.cache}/rtl-lab}}
unset RTL_LAB         # rtl takes RTL_… for settings of its own
bin=$LAB/bin          # etcd, Kubernetes, CoreDNS, kubectl, helm, the KubeRay operator
img=$LAB/img          # image archives, and containerd's root with all of them imported
run=$LAB/run          # what a running lab writes: keys, logs, data of etcd and of the nodes
pki=$run/pki
conf=$run/kubeconfig
netns=rtl-lab
export LAB
