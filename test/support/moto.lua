--- moto's server behind the judge, for specs: started once, stopped by `stop`.

local json = require "rtl.native.json"
local python = require "test.support.python"
local wire = require "rtl.wire"

local M = {}

local server = {}
server.__index = server

-- An answer takes as long as a busy machine needs for it.
local PATIENT = { reads = 600, writes = 600, connect = 600, all = 600 }

M.KEYS = { access_key_id = "AKIDEXAMPLE", secret_access_key = "judge/test+secret" }

--- Starts both on free ports; returns a server with `url` (the judge) and `moto`.
-- The script prints its addresses when both answer, or dies in a while.
function M.start(options)
  local command = ("exec %s test/contract/judge/serve.py --secret %s=%s %s"):format(
    python.path(), M.KEYS.access_key_id, M.KEYS.secret_access_key, options or "")
  local pipe = assert(io.popen(command .. " 2>/dev/null", "r"))
  local line = pipe:read "l"
  if not line then
    pipe:close()
    error("moto and the judge did not start: is build/venv there? (sh vendor/setup.sh test)", 2)
  end
  local found = json.decode(line)
  return setmetatable({
    pipe = pipe, url = found.url, moto = found.moto, problems = {}, allowed = {},
  }, server)
end

local function is_allowed(self, text)
  for _, wrong in ipairs(self.allowed) do
    if text:find(wrong, 1, true) then return true end
  end
  return false
end

-- What the judge has against the requests so far is kept until the end.
local function note_problems(self)
  for _, problem in ipairs(self:report().problems) do
    local text = json.encode(problem)
    if not is_allowed(self, text) then self.problems[#self.problems + 1] = text end
  end
end

--- Lets problems pass in which `text` stands: of requests that are wrong on purpose.
function server:allow(text)
  self.allowed[#self.allowed + 1] = text
end

function server:post(path, body)
  if path == "reset" or path == "stop" then note_problems(self) end
  local res = assert(wire.request {
    method = "POST", url = self.url .. "/_judge/" .. path, body = json.encode(body or {}),
  })
  assert(res.status == 200, res.body)
  return res.body
end

--- What the judge has seen: {requests, operations, problems, problem_count, connections, …}.
function server:report()
  return json.decode(assert(wire.request { url = self.url .. "/_judge/report" }).body)
end

--- The next request that matches fails: {match=, nth=, times=, ["do"]=}.
function server:fault(fault)
  self:post("fault", fault)
end

--- Forgets the judge's log and state, and moto's.
function server:reset()
  self:post "reset"
  assert(wire.request { method = "POST", url = self.moto .. "/moto-api/reset", body = "" })
end

--- An rtl.aws session that speaks to it.
function server:session(options)
  local given = { region = "us-east-1", credentials = M.KEYS, endpoint = self.url,
    timeouts = PATIENT }
  for key, value in pairs(options or {}) do given[key] = value end
  return assert(require("rtl.aws").session(given))
end

--- Ends both. Raises when the judge had anything against any request since the start: whoever
-- speaks to moto does it without a fault.
function server:stop()
  self:post "stop"
  self.pipe:close()
  if self.problems[1] then
    error("the judge found problems:\n" .. table.concat(self.problems, "\n"), 2)
  end
end

return M
