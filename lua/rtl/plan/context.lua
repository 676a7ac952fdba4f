--- What every function of a kind is handed: where it works, how it reaches the systems, whom it
-- tells.

local clock = require "rtl.clock"
local fs = require "rtl.fs"

local M = {}
local Context = {}
Context.__index = Context

local function nothing() end

--- Makes a context. `fields`: deployment, region, account, partition, run_id (texts); tags (table,
-- put on everything); settings; aws = function (service, options) → client; k8s = function () →
-- client | nil, err (err.absent = true while there is no cluster); emit = function (event); ledger.
-- The table becomes the context; it is not copied.
function M.new(fields)
  fields.tags = fields.tags or {}
  fields.emit = fields.emit or nothing
  fields.aws_of, fields.aws = fields.aws, nil
  fields.k8s_of, fields.k8s = fields.k8s, nil
  fields.told, fields.doing = {}, {}
  return setmetatable(fields, Context)
end

--- The folder of a deployment's ledger and lock. Worlds, accounts and regions do not mix.
function M.folder(state_dir, where)
  return fs.join(state_dir, where.partition, where.account, where.region, where.deployment)
end

--- The client of an AWS service; options may name another region.
function Context:aws(service, options)
  if not self.aws_of then error("this run has no AWS account: " .. service, 2) end
  return self.aws_of(service, options)
end

--- The Kubernetes client, or nil and why not (err.absent: there is no cluster yet).
function Context:k8s()
  return self.k8s_of()
end

--- The name of a resource where names are unique in an account or region.
function Context:own_name(res)
  return res.name == self.deployment and res.name or self.deployment .. "-" .. res.name
end

--- The tags of a resource: the run's own, the deployment's name and the resource's.
function Context:tags_for(res)
  local tags = {}
  for key, value in pairs(self.tags) do tags[key] = value end
  tags.Name = self:own_name(res)
  tags["rtl:deployment"] = self.deployment
  tags["rtl:resource"] = res.key
  return tags
end

--- Tells the reader what a resource in flight waits for; the same text is told once.
function Context:waiting(res, detail)
  if self.told[res.key] == detail then return end
  self.told[res.key] = detail
  self:tell(res, "waiting", { detail = detail })
end

local BEGINS = { start = true, deleting = true }

local function usual_of(res, action)
  local ready = res.kind and res.kind.ready or {}
  if action == "delete" then return ready.delete_usual end
  return ready.usual
end

--- Emits an event about a resource. Action and elapsed time are those since its last start.
function Context:tell(res, state, fields)
  local event = { type = "resource", kind = res.kind_name, name = res.name, state = state }
  for key, value in pairs(fields or {}) do event[key] = value end
  if BEGINS[state] then
    self.doing[res.key] = { action = event.action, since = clock.mono() }
  end
  local doing = self.doing[res.key] or {}
  event.action = event.action or doing.action
  event.usual_s = event.usual_s or usual_of(res, event.action)
  if doing.since and not event.elapsed_s then event.elapsed_s = clock.mono() - doing.since end
  self.emit(event)
end

return M
