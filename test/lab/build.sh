#!/usr/bin/env bash
# Builds what the lab runs, from package registries alone: Go programs into $bin, images into $img.
# What is there and unchanged is kept. Needs root (chroot, mount).
set -euo pipefail
. "$(dirname "$0")/paths.sh"
. "$here/../support/go.sh"
mkdir -p "$bin" "$img"
src=$here/src
KUBERNETES=v1.36.1
HELM=v3.22.0
started=$SECONDS
lap() { printf 'lab: %4d s  %s\n' $((SECONDS - started)) "$1"; }

# Runs COMMAND unless it, as it stands here, was run on these FILES before.
unless_made() { # NAME FILES COMMAND
  local sum
  # shellcheck disable=SC2086
  sum=$({ declare -f "$3"; [ -z "$2" ] || cat $2; } | cksum)
  if [ "$(cat "$LAB/$1.made" 2>/dev/null || true)" != "$sum" ]; then
    "$3"
    echo "$sum" > "$LAB/$1.made"
    lap "$1"
  fi
}

# pip in a folder of our own: Debian's Python has none.
pip() { # WORDS…
  [ -x "$LAB/venv/bin/python" ] || python3 -m venv "$LAB/venv"
  "$LAB/venv/bin/python" -m pip --quiet --disable-pip-version-check "$@"
}

go_build() { # FOLDER NAME PACKAGE
  local x=k8s.io/component-base/version
  (cd "$here/src/$1" && CGO_ENABLED=0 go build -trimpath -o "$bin/$2" -ldflags="-s -w
    -X $x.gitVersion=$KUBERNETES -X $x.gitMajor=1 -X $x.gitMinor=36
    -X k8s.io/client-go/pkg/version.gitVersion=$KUBERNETES
    -X helm.sh/helm/v3/internal/version.version=$HELM" "$3")
}

kubernetes() {
  find_go "$LAB/venv"
  go_build kubernetes labk8s ./labk8s
  local name
  for name in kube-apiserver kube-controller-manager kube-scheduler kube-proxy kubelet; do
    ln -sf labk8s "$bin/$name"
  done
  lap "Kubernetes"
  go_build kubernetes etcd go.etcd.io/etcd/server/v3
  go_build kubernetes coredns ./labdns
  go_build kubernetes labdevice ./labdevice
  go_build kubernetes kubectl k8s.io/kubernetes/cmd/kubectl
  go_build kubernetes helm helm.sh/helm/v3/cmd/helm
}

operator() {
  find_go "$LAB/venv"
  go_build kuberay kuberay-operator github.com/ray-project/kuberay/ray-operator
  rm -rf "$LAB/kuberay-crds"
  cp -r "$(cd "$here/src/kuberay" && go list -m -f '{{.Dir}}' github.com/ray-project/kuberay/ray-operator)/config/crd/bases" \
    "$LAB/kuberay-crds"
  chmod -R u+w "$LAB/kuberay-crds"
}

# An image that holds one static program: image FILE NAME PROGRAM PATH-IN-IMAGE [mkimage options…]
program_image() {
  local file=$1 name=$2 program=$3 path=$4 root
  shift 4
  root=$(mktemp -d "$img/root.XXXXXX")
  mkdir -p "$root/$(dirname "$path")"
  install -m 755 "$program" "$root/$path"
  python3 "$here/mkimage.py" "$img/$file.tar" "$name" "$root" --entrypoint "[\"$path\"]" "$@"
  rm -rf "$root"
}

program_images() {
  gcc -std=gnu11 -Os -static -s -o "$bin/pause" "$here/src/pause.c"
  program_image pause docker.io/lab/pause:1 "$bin/pause" /pause
  program_image operator quay.io/kuberay/operator:v1.4.0 "$bin/kuberay-operator" /manager \
    --user 65532:65532
  program_image nvidia nvcr.io/nvidia/k8s-device-plugin:v0.20.0 "$bin/labdevice" \
    /usr/bin/nvidia-device-plugin --env LAB_RESOURCE=nvidia.com/gpu
  # the chart's default image: there is no AWS here whose region would choose another
  program_image efa 602401143452.dkr.ecr.us-west-2.amazonaws.com/eks/aws-efa-k8s-device-plugin:v0.5.22 \
    "$bin/labdevice" /usr/bin/aws-efa-k8s-device-plugin --env LAB_RESOURCE=vpc.amazonaws.com/efa
}

debian_mirror() {
  sed -nE 's/^(deb( \[[^]]*\])?|URIs:) +([^ ]+).*/\3/p' /etc/apt/sources.list \
    /etc/apt/sources.list.d/* 2>/dev/null | grep -v security | head -n 1
}

debian() {
  rm -rf "$img/debian"
  # shellcheck disable=SC2046
  debootstrap --variant=minbase \
    --include=python3,python3-venv,ca-certificates,procps,iproute2,wget bookworm "$img/debian" \
    $(debian_mirror) > "$img/debootstrap.log" 2>&1
}

# Ray in a layer of its own over the Debian root.
ray() {
  local version=2.58.0 up=$img/ray-layer work=$img/ray-work root=$img/ray-root name
  rm -rf "$up" "$work" "$root"
  mkdir -p "$up" "$work" "$root" "$img/wheels"
  pip download --only-binary :all: --python-version 3.11 -d "$img/wheels" "ray[default]==$version"
  mount -t overlay overlay -o "lowerdir=$img/debian,upperdir=$up,workdir=$work" "$root"
  mkdir "$root/wheels"
  mount --bind "$img/wheels" "$root/wheels"
  chroot "$root" env -u PIP_FIND_LINKS sh -c "python3 -m venv /opt/ray && /opt/ray/bin/pip install \
    -q --no-cache-dir --no-index --find-links /wheels 'ray[default]==$version'"
  umount "$root/wheels"
  rmdir "$root/wheels"
  umount "$root"
  rm -rf "$up/tmp" "$up/root" "$work" "$root"
  mkdir -p "$up/usr/local/bin"
  for name in ray python3 python pip; do ln -sf "/opt/ray/bin/$name" "$up/usr/local/bin/$name"; done
  python3 "$here/mkimage.py" "$img/ray.tar" "docker.io/lab/ray:$version" "$img/debian,$up" \
    --cmd '["/bin/bash"]' --env RAY_USAGE_STATS_ENABLED=0
}

unless_made kubernetes "$(find "$src/kubernetes" -type f | sort | tr '\n' ' ')" kubernetes
unless_made operator "$src/kuberay/go.mod $src/kuberay/go.sum" operator
unless_made program-images \
  "$here/mkimage.py $src/pause.c $LAB/kubernetes.made $LAB/operator.made" program_images
unless_made debian "" debian
unless_made ray "$here/mkimage.py $LAB/debian.made" ray
lap "built"
