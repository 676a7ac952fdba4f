-- rtl.k8s against the lab's API server and kubelets: KUBECONFIG names it (test/lab/in sets that).
local contract = assert(loadfile("test/support/kubernetes_contract.lua", "t", _ENV))()
local k8s = require "rtl.k8s"

contract {
  client = function () return assert(k8s.from_kubeconfig {}) end,
  image = "docker.io/lab/ray:2.58.0",
}
