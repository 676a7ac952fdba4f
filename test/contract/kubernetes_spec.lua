-- The simulated world's API server under the same specs as the lab's real one (objects; its pods
-- need nodes, which come from node groups).
local clock = require "rtl.clock"
local cluster = require "rtl.rehearse.kube.cluster"
local contract = assert(loadfile("test/support/kubernetes_contract.lua", "t", _ENV))()
local entropy = require "rtl.entropy"
local k8s = require "rtl.k8s"
local process = require "rtl.process"
local seams = require "rtl.rehearse.seams"
local wire = require "rtl.wire"
local world_wire = require "rtl.rehearse.wire"
local worlds = require "rtl.rehearse"

local HOST = "0123456789abcdef0123456789abcdef.gr7.us-east-2.eks.amazonaws.com"

-- What stands behind a seam now.
local function current(seam, any)
  local former = seam.use(any)
  seam.use(former)
  return former
end

-- What stands behind the four seams, as a function that puts it back.
local function kept_seams()
  local kept = { { clock, current(clock, {}) }, { entropy, current(entropy, {}) },
    { process, current(process, {}) }, { wire, current(wire, wire.native) } }
  return function ()
    for _, pair in ipairs(kept) do pair[1].use(pair[2]) end
  end
end

describe("The simulated world's", function ()
  local client, restore

  lazy_setup(function ()
    restore = kept_seams()
    local world = assert(worlds.world("calm"))
    seams.use(world, world_wire.new(world))
    local kube = cluster.new(world, { name = "contract", region = "us-east-2", version = "1.36",
      key = "contract", host = HOST, authority = "CA", admits = function () return true end })
    world.clusters[HOST] = kube
    kube.good_tokens.token = 1e12
    client = k8s.client { server = "https://" .. HOST, ca = "CA", token = "token" }
  end)

  lazy_teardown(function () restore() end)

  contract { client = function () return client end }
end)
