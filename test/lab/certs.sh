#!/usr/bin/env bash
# Makes the lab's keys, certificates and kubeconfigs: certs.sh [NODE ADDRESS]
set -euo pipefail
. "$(dirname "$0")/paths.sh"
mkdir -p "$pki" "$conf"
cd "$pki"

key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1.key"; }

cert() { # NAME SUBJECT USAGE [ALTERNATIVE NAMES]
  key "$1"
  openssl req -new -key "$1.key" -out "$1.csr" -subj "$2"
  printf 'basicConstraints=CA:FALSE\nkeyUsage=digitalSignature\nextendedKeyUsage=%s\n%s\n' \
    "$3" "${4:+subjectAltName=$4}" > "$1.ext"
  openssl x509 -req -in "$1.csr" -CA ca.crt -CAkey ca.key -CAcreateserial -days 365 \
    -extfile "$1.ext" -out "$1.crt" 2>/dev/null
  rm -f "$1.csr" "$1.ext"
}

kubeconfig() { # NAME: from NAME.crt
  cat > "$conf/$1" <<Y
apiVersion: v1
kind: Config
current-context: lab
clusters:
- name: lab
  cluster: {server: "https://127.0.0.1:6443", certificate-authority-data: $(base64 -w0 ca.crt)}
users:
- name: $1
  user: {client-certificate-data: $(base64 -w0 "$1.crt"), client-key-data: $(base64 -w0 "$1.key")}
contexts:
- name: lab
  context: {cluster: lab, user: $1}
Y
}

if [ $# = 2 ]; then
  cert "kubelet-$1" "/O=system:nodes/CN=system:node:$1" clientAuth
  cert "kubelet-server-$1" "/O=system:nodes/CN=system:node:$1" serverAuth "DNS:$1,IP:$2"
  kubeconfig "kubelet-$1"
  exit
fi

key ca
openssl req -x509 -new -key ca.key -out ca.crt -days 365 -subj /CN=lab-ca \
  -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign,cRLSign
key sa
openssl ec -in sa.key -pubout -out sa.pub 2>/dev/null
service=kubernetes.default.svc
cert apiserver /CN=kube-apiserver serverAuth "DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,\
DNS:$service,DNS:$service.cluster.local,IP:127.0.0.1,IP:10.96.0.1,IP:10.99.0.1"
cert admin /O=system:masters/CN=lab-admin clientAuth
cert kcm /CN=system:kube-controller-manager clientAuth,serverAuth DNS:localhost,IP:127.0.0.1
cert sched /CN=system:kube-scheduler clientAuth,serverAuth DNS:localhost,IP:127.0.0.1
cert proxy /CN=system:kube-proxy clientAuth
cert coredns /O=system:masters/CN=lab-coredns clientAuth
cert kubelet-client /O=system:masters/CN=kube-apiserver-kubelet-client clientAuth
for user in admin kcm sched proxy coredns; do kubeconfig $user; done
