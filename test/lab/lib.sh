# Processes, network and control plane of the lab; sourced by up.sh and down.sh.
. "$(dirname "${BASH_SOURCE[0]}")/paths.sh"

# start NAME COMMAND…: in the lab's network, in a session of its own, its pid in $run/pids.
start() {
  local name=$1
  shift
  setsid nsenter --net=/run/netns/$netns "$@" > "$run/logs/$name.log" 2>&1 < /dev/null &
  echo $! > "$run/pids/$name"
}

# `kill -0` succeeds on zombies, so the state is read.
alive() {
  local state
  state=$(awk '/^State/ { print $2 }' "/proc/$1/status" 2>/dev/null)
  [ -n "$state" ] && [ "$state" != Z ]
}

# wait_for TENTHS COMMAND…: until it succeeds, at most so long.
wait_for() {
  local tries=$1
  shift
  until "$@" >/dev/null 2>&1; do
    tries=$((tries - 1))
    [ "$tries" -gt 0 ] || return 1
    sleep 0.1
  done
}

gone() { ! alive "$1"; }

# stop NAME: asks, then kills after ten seconds.
stop() {
  local file=$run/pids/$1 pid
  [ -f "$file" ] || return 0
  pid=$(cat "$file")
  kill -TERM "$pid" 2>/dev/null || true
  wait_for 100 gone "$pid" || kill -KILL "$pid" 2>/dev/null || true
  rm -f "$file"
}

# A bridge without ports carries the nodes' addresses (the kernel may have no dummy device).
network_up() {
  ip netns add $netns
  ip -n $netns link set lo up
  ip -n $netns link add node0 type bridge
  ip -n $netns addr add 10.99.0.1/24 dev node0
  ip -n $netns link set node0 up
  nsenter --net=/run/netns/$netns sysctl -qw net.ipv4.ip_forward=1 \
    net.ipv4.conf.all.route_localnet=1
  nsenter --net=/run/netns/$netns sysctl -qw net.bridge.bridge-nf-call-iptables=1 2>/dev/null || true
}

etcd_up() {
  local local=http://127.0.0.1
  start etcd "$bin/etcd" --name lab --data-dir "$run/etcd" --unsafe-no-fsync --log-level warn \
    --listen-client-urls $local:2379 --advertise-client-urls $local:2379 \
    --listen-peer-urls $local:2380 --initial-advertise-peer-urls $local:2380 \
    --initial-cluster lab=$local:2380
}

apiserver_up() {
  start kube-apiserver "$bin/kube-apiserver" --etcd-servers=http://127.0.0.1:2379 \
    --bind-address=0.0.0.0 --advertise-address=10.99.0.1 --secure-port=6443 \
    --tls-cert-file="$pki/apiserver.crt" --tls-private-key-file="$pki/apiserver.key" \
    --client-ca-file="$pki/ca.crt" --kubelet-certificate-authority="$pki/ca.crt" \
    --kubelet-client-certificate="$pki/kubelet-client.crt" \
    --kubelet-client-key="$pki/kubelet-client.key" \
    --kubelet-preferred-address-types=InternalIP,Hostname \
    --service-account-issuer=https://kubernetes.default.svc.cluster.local \
    --service-account-key-file="$pki/sa.pub" --service-account-signing-key-file="$pki/sa.key" \
    --service-cluster-ip-range=10.96.0.0/16 --authorization-mode=Node,RBAC \
    --allow-privileged=true --profiling=false \
    --enable-admission-plugins=NodeRestriction,ExtendedResourceToleration
}

apiserver_ready() { "$here/in" kubectl get --raw /readyz; }

controllers_up() {
  start kube-controller-manager "$bin/kube-controller-manager" --kubeconfig="$conf/kcm" \
    --authentication-kubeconfig="$conf/kcm" --authorization-kubeconfig="$conf/kcm" \
    --bind-address=127.0.0.1 --tls-cert-file="$pki/kcm.crt" \
    --tls-private-key-file="$pki/kcm.key" --client-ca-file="$pki/ca.crt" \
    --cluster-signing-cert-file="$pki/ca.crt" --cluster-signing-key-file="$pki/ca.key" \
    --service-account-private-key-file="$pki/sa.key" --root-ca-file="$pki/ca.crt" \
    --use-service-account-credentials=true --leader-elect=false \
    --controllers='*,-nodeipam,-cloud-node-lifecycle' --node-monitor-period=1s \
    --node-monitor-grace-period=10s
  start kube-scheduler "$bin/kube-scheduler" --kubeconfig="$conf/sched" \
    --authentication-kubeconfig="$conf/sched" --authorization-kubeconfig="$conf/sched" \
    --bind-address=127.0.0.1 --tls-cert-file="$pki/sched.crt" \
    --tls-private-key-file="$pki/sched.key" --client-ca-file="$pki/ca.crt" --leader-elect=false
  start kube-proxy "$bin/kube-proxy" --kubeconfig="$conf/proxy" --hostname-override=lab-control \
    --proxy-mode=iptables --cluster-cidr=10.244.0.0/16 --conntrack-max-per-core=0 \
    --conntrack-tcp-timeout-established=0 --conntrack-tcp-timeout-close-wait=0 \
    --healthz-bind-address=127.0.0.1:10256 --metrics-bind-address=127.0.0.1:10249
}

# KubeRay's head service is headless, so its workers need DNS.
dns_up() {
  cat > "$run/Corefile" <<C
.:53 {
  bind 10.99.0.1
  errors
  ready 127.0.0.1:8181
  kubernetes cluster.local in-addr.arpa ip6.arpa {
    kubeconfig $conf/coredns lab
    pods insecure
    ttl 2
  }
  cache 2
}
C
  start coredns "$bin/coredns" -conf "$run/Corefile"
}
