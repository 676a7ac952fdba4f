-- The world is held to what moto is held to: the same cases, word for word. Where moto checks less
-- than AWS, the sourced fact wins: test/contract/differences.lua says which and from where.
local contract = assert(loadfile("test/support/aws_contract.lua", "t", _ENV))()
local differences = require "test.contract.differences"
local moto = require "test.support.moto"
local world = require "test.support.world"

for _, name in ipairs { "network", "compute", "services" } do
  assert(loadfile(("test/contract/aws_cases_%s.lua"):format(name), "t", _ENV))(contract)
end

local in_world = { name = "the world", lax = false, account = function () return "000000009012" end,
                   start = function () return world.start "calm" end }
local in_moto = { name = "moto", lax = true, account = function () return "123456789012" end,
                  start = function ()
                    local server = moto.start()
                    server:allow "g6.13xlarge" -- asked for since there is no such type
                    return server
                  end }

contract.play(in_world)
contract.play(in_moto)

describe("the cases of both", function ()
  it("play each operation that the world answers", function ()
    local missing = {}
    local left_out = {}
    for _, row in ipairs(differences.not_played) do left_out[row[1]] = true end
    for _, key in ipairs(require "rtl.rehearse.aws".answered()) do
      if not in_world.asked[key] and not left_out[key] then missing[#missing + 1] = key end
    end
    assert.same({}, missing)
  end)

  it("differ only where a source says that moto checks less", function ()
    local known = {}
    for _, row in ipairs(differences.rows) do known[row[1]] = true end
    local unexplained = {}
    for key in pairs(in_world.asked) do
      if not in_moto.asked[key] and not known[key] then unexplained[#unexplained + 1] = key end
    end
    table.sort(unexplained)
    assert.same({}, unexplained)
  end)
end)
