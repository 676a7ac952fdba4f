-- luacheck: std +busted
--- What an account of AWS must do for rtl, as specs: run against moto (behind the judge) and
-- against the simulated world. `with` has start() → server (session, reset, stop), account()
-- (number), lax (true for one that checks less than AWS: see test/contract/differences.lua). Every
-- call goes through `ask`, which notes the operation; `with.asked` then says what was played.
-- To be loaded in a spec's environment, as test/support/kubernetes_contract.lua is.

local aws = require "rtl.aws"

local M = {}

M.cases = {}

-- A case's tools: calls that must work, and calls that must be refused.
local function tools(with, server)
  local t = { with = with, server = server }
  local clients = {}

  local function call(service, op, params)
    local region = t.region or "us-east-1"
    local key = service .. " " .. region
    clients[key] = clients[key] or server:session({ region = region }):client(service)
    with.asked[service .. ":" .. op] = true
    return clients[key]:call(op, params or {})
  end

  --- A call that must work.
  function t.ask(service, op, params)
    local value, failure = call(service, op, params)
    if value == nil then error(("%s:%s: %s"):format(service, op, tostring(failure)), 2) end
    return value
  end

  --- A call that must be refused with `code`; a table of codes means one of them.
  function t.refuse(code, service, op, params)
    local value, failure = call(service, op, params)
    if value ~= nil then error(("%s:%s was not refused"):format(service, op), 2) end
    for _, one in ipairs(type(code) == "table" and code or { code }) do
      if failure.code == one then return failure end
    end
    error(("%s:%s: %s instead of %s"):format(service, op, tostring(failure), tostring(code)), 2)
  end

  --- As refuse, where a lax account does not mind; there nothing is asked.
  function t.strictly(code, service, op, params)
    if with.lax then return nil end
    return t.refuse(code, service, op, params)
  end

  function t.wait(service, name, params)
    local session = server:session { region = t.region or "us-east-1" }
    local options = with.lax and { delay = 0 } or {}
    local value, failure = session:client(service):wait(name, params, options)
    if value == nil then error(("wait %s: %s"):format(name, tostring(failure)), 2) end
    return value
  end

  return t
end

--- Adds a case. `play(t)` gets the tools.
function M.case(title, play)
  M.cases[#M.cases + 1] = { title = title, play = play }
end

--- Tags for a create.
function M.tags(kind, name)
  return { { ResourceType = kind, Tags = { { Key = "Name", Value = name },
                                           { Key = "rtl:deployment", Value = "demo" } } } }
end

--- Makes the specs of all cases for one account.
function M.play(with)
  describe("an account, as " .. with.name .. " plays it,", function ()
    local server
    lazy_setup(function ()
      with.asked = {}
      server = with.start()
    end)
    lazy_teardown(function () server:stop() end)
    before_each(function () server:reset() end)
    for _, case in ipairs(M.cases) do
      it(case.title, function () case.play(tools(with, server)) end)
    end
  end)
end

M.aws = aws

return M
