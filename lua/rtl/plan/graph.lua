--- All resources of a deployment and what each one needs.
-- References make the edges, `after` adds some; declaration order breaks ties, so that the same
-- recipe gives the same order in every run.

local err = require "rtl.err"
local kind = require "rtl.plan.kind"
local keys = require "rtl.keys"
local nearest = require "rtl.nearest"
local ref = require "rtl.ref"

local M = {}
local Graph = {}
Graph.__index = Graph

--- A graph without resources.
function M.new()
  return setmetatable({ list = {}, by_key = {}, handles = {} }, Graph)
end

--- Adds a resource and returns it. The same kind and name twice is an error.
function Graph:declare(res)
  if not kind.is_resource(res) or not res.kind then
    error("bad argument #1 to 'declare' (resource expected)", 2)
  end
  if self.by_key[res.key] then error(res.key .. " is declared twice", 2) end
  self.by_key[res.key] = res
  self.list[#self.list + 1] = res
  return res
end

--- The resource of that kind and name: declared, or a handle to one that a later step declares.
function Graph:resource(kind_name, name)
  local key = kind_name .. "/" .. name
  if self.by_key[key] then return self.by_key[key] end
  self.handles[key] = self.handles[key] or kind.handle(kind_name, name)
  return self.handles[key]
end

local function unknown_key(self, key, from)
  error(err.new { code = "RTL-PLAN-003",
    message = ("%s needs %s, which is not declared%s")
      :format(from, key, nearest.hint(key, keys.sorted(self.by_key))) }, 0)
end

local function check_output(self, from, key, output)
  local target = self.by_key[key] or unknown_key(self, key, from)
  if not target.kind.output_set[output] then
    error(err.new { code = "RTL-PLAN-003",
      message = ("%s: %s has no output '%s'%s"):format(from, key, output,
        nearest.hint(output, target.kind.outputs)) }, 0)
  end
end

--- The keys of the resources that `res` needs: sorted array. Raises RTL-PLAN-003 for one that is
-- not declared.
function Graph:edges(res)
  local seen = {}
  ref.each(res.fields, function (key, output)
    check_output(self, res.key, key, output)
    seen[key] = true
  end)
  for _, other in ipairs(res.after or {}) do
    if not self.by_key[other.key] then unknown_key(self, other.key, res.key) end
    seen[other.key] = true
  end
  return keys.sorted(seen)
end

local function raise_cycle(path, key)
  local loop = { key }
  for i = #path, 1, -1 do
    table.insert(loop, 1, path[i])
    if path[i] == key then break end
  end
  error(err.new { code = "RTL-PLAN-002",
    message = "these wait for each other: " .. table.concat(loop, " → ") }, 0)
end

--- All resources, each after those that it needs. Raises RTL-PLAN-002 for a cycle, RTL-PLAN-003
-- for a need that nobody declares.
function Graph:order()
  local order, state, path = {}, {}, {}
  local function visit(res)
    if state[res.key] == "done" then return end
    if state[res.key] == "open" then raise_cycle(path, res.key) end
    state[res.key] = "open"
    path[#path + 1] = res.key
    for _, key in ipairs(self:edges(res)) do visit(self.by_key[key]) end
    path[#path] = nil
    state[res.key] = "done"
    order[#order + 1] = res
  end
  for _, res in ipairs(self.list) do visit(res) end
  return order
end

return M
