--- All kinds, for what must look at everything: teardown, plans that see what nobody declares any
-- more, the policy. Found things are listed in this order.

local NAMES = {
  "vpc", "subnet", "internet_gateway", "elastic_ip", "nat_gateway", "route_table", "vpc_endpoint",
  "security_group", "iam_role", "eks_cluster", "eks_addon", "access_entry",
  "pod_identity_association", "placement_group", "schedule_group", "schedule",
  "capacity_reservation", "reservation_group", "launch_template",
  "node_group", "network_interface", "load_balancer", "namespace", "kubernetes_object",
  "helm_release", "ray_cluster", "bucket", "volume", "log_group",
}

local kinds = {}
for i, name in ipairs(NAMES) do kinds[i] = require("rtl.kinds." .. name) end
return kinds
