-- The world's Kubernetes is held to what the lab's real one is held to.
local contract = assert(loadfile("test/support/kubernetes_contract.lua", "t", _ENV))()
local world = require "test.support.world"

describe("the world's cluster:", function ()
  local server, client

  lazy_setup(function ()
    server = world.start()
    client = select(2, server:cluster())
  end)
  lazy_teardown(function () server:stop() end)

  contract { client = function () return client end, image = "docker.io/lab/ray:2.58.0" }
end)
