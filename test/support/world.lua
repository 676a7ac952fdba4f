--- A simulated world in place of moto's server, for the specs that both must pass. It stands in for
-- test.support.moto: start, session, report, reset, stop.

local rehearse = require "rtl.rehearse"
local seams = require "rtl.rehearse.seams"
local test_seams = require "test.support.seams"
local world_wire = require "rtl.rehearse.wire"

local M = {}

local server = {}
server.__index = server

-- Puts a new world in place; what was there before is put back by `stop`.
local function begin(self)
  self.world = assert(rehearse.world(self.spec))
  seams.use(self.world, world_wire.new(self.world))
  M.KEYS = seams.credentials(self.world)
end

--- Puts a world of `spec` ("calm") in place of network, clock, entropy and processes.
function M.start(spec)
  local self = setmetatable({ spec = type(spec) == "string" and spec or "calm" }, server)
  self.put_back = test_seams.kept()
  begin(self)
  return self
end

--- An rtl.aws session in it.
function server.session(_, options)
  local given = { region = "us-east-1" }
  for key, value in pairs(options or {}) do given[key] = value end
  return assert(require("rtl.aws").session(given))
end

-- A machine of the facts that a node group would give.
local function machine(n, more)
  local out = { id = "i-" .. n, host_name = "node-" .. n, address = "10.0.0." .. n,
    type = "m7i.xlarge", zone = "us-east-1a", zone_id = "use1-az1", group = "test", vcpu = 16,
    memory_gib = 64, disk_gib = 100, gpus = 0, efa = 0, max_pods = 58, image_id = "ami-0" }
  for name, value in pairs(more or {}) do out[name] = value end
  return out
end

--- A Kubernetes cluster in the world, without EKS around it: its simulated side, and a client.
-- `machines`: what is special of each of its nodes (default: one ordinary node).
function server:cluster(machines)
  local host, authority = "test.gr7.us-east-1.eks.amazonaws.com", "-----BEGIN CERTIFICATE-----"
  local kube = require "rtl.rehearse.kube.cluster".new(self.world, { name = "test", host = host,
    region = "us-east-1", version = "1.36", key = "test", authority = authority,
    admits = function () return true end })
  self.world.clusters[host] = kube
  for n, more in ipairs(machines or { {} }) do
    require "rtl.rehearse.kube.nodes".join(kube, machine(n, more))
    require "rtl.rehearse.kube.nodes".get_ready(kube, "node-" .. n)
  end
  local session = self:session()
  return kube, require("rtl.k8s").client { server = "https://" .. host, ca = authority,
    token = function () return require("rtl.aws").eks_token(session, "test") end }
end

--- A new world of the same kind.
function server:reset()
  begin(self)
end

--- What the judge would say; the world refuses at once what it does not like.
function server.report(self)
  return { problems = {}, repeated_creates_without_token = {}, connections = 1, requests = 1,
           world = self.world }
end

--- Puts back what was there.
function server:stop()
  self.put_back()
end

return M
