--- What every function of a kind is handed: where it works, how it reaches the systems, whom it
-- tells.

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
  fields.told = {}
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

--- Emits an event about a resource.
function Context:tell(res, state, fields)
  local event = { type = "resource", kind = res.kind_name, name = res.name, state = state }
  event.usual_s = res.kind and res.kind.ready and res.kind.ready.usual or nil
  for key, value in pairs(fields or {}) do event[key] = value end
  self.emit(event)
end

return M
