--- The quotas of the simulated account: code → service, name, AWS' default, what is granted.

local M = {}

M.rows = {
  ["L-DB2E81BA"] = { "ec2", "Running On-Demand G and VT instances", 0, 192 },
  ["L-417A185B"] = { "ec2", "Running On-Demand P instances", 0, 1152 },
  ["L-1216C47A"] = { "ec2", "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances", 5,
                     64 },
  ["L-3819A6DF"] = { "ec2", "All G and VT Spot Instance Requests", 0 },
  ["L-7212CCBC"] = { "ec2", "All P4, P3 and P2 Spot Instance Requests", 0 },
  ["L-0263D0A3"] = { "ec2", "EC2-VPC Elastic IPs", 5 },
  ["L-F678F1CE"] = { "vpc", "VPCs per Region", 5 },
  ["L-A4707A72"] = { "vpc", "Internet gateways per Region", 5 },
  ["L-FE5A380F"] = { "vpc", "NAT gateways per Availability Zone", 5 },
  ["L-407747CB"] = { "vpc", "Subnets per VPC", 200 },
  ["L-E79EC296"] = { "vpc", "VPC security groups per Region", 2500 },
  ["L-0EA8095F"] = { "vpc", "Inbound or outbound rules per security group", 60 },
  ["L-DF5E4CA3"] = { "vpc", "Network interfaces per Region", 5000 },
  ["L-589F43AA"] = { "vpc", "Route tables per VPC", 200 },
  ["L-1194D53C"] = { "eks", "Clusters", 100 },
  ["L-6D54EA21"] = { "eks", "Managed node groups per cluster", 30 },
  ["L-BD136A63"] = { "eks", "Nodes per managed node group", 450 },
}

--- What the account may use of a quota; in a region (of rtl.rehearse.aws.region) where more was
-- granted on request, that.
function M.value(world, code, region)
  local granted = region and region.quotas_granted and region.quotas_granted[code]
  local set = world.weather.quota and world.weather.quota[code]
  local row = M.rows[code]
  return granted or set or row[4] or row[3]
end

return M
