--- What a plan would send, without sending it: the create or update of each row runs against
-- clients that only tell what they are asked for. What is not known before something else is made
-- stands there as <kind/name.output>.

local context = require "rtl.plan.context"
local row_of = require "rtl.plan.row"
local task = require "rtl.task"

local M = {}

local LONGEST = 30 -- seconds; a create that waits for what nobody makes

local MAKES = { create = true, replace = true }

-- A context like `ctx` whose systems are sketches. It writes no ledger and tells nobody.
local function sketch_context(ctx, systems, row, told)
  local res = row.resource
  local function placeholder(member) return ("<%s.%s>"):format(res.key, member) end
  local fields = {}
  for key, value in pairs(ctx) do fields[key] = value end
  fields.ledger, fields.emit = nil, nil
  fields.aws = ctx.aws_of and function (service, options)
    return systems.aws(service, { region = options and options.region or ctx.region, told = told,
      placeholder = placeholder,
      live = row.action == "change" and ctx:aws(service, options) or nil })
  end
  local kube
  fields.k8s = function ()
    kube = kube or systems.k8s { told = told, placeholder = placeholder }
    return kube
  end
  return context.new(fields)
end

local function lookup_in(plan)
  return function (key, output)
    local value = plan:output(key, output)
    if value == nil then return ("<%s.%s>"):format(key, output) end
    return value
  end
end

local function perform(plan, row, ctx)
  local res = row.resource
  local fields = row_of.resolve(res, lookup_in(plan))
  if MAKES[row.action] then return res.kind.create(ctx, res, fields, "<token>") end
  return res.kind.update(ctx, res, fields, row.live, row.changes)
end

local function requests_of(plan, row, ctx, systems)
  local requests = {}
  local inner = sketch_context(ctx, systems, row, function (request)
    requests[#requests + 1] = request
  end)
  local done, failure = task.deadline(LONGEST, perform, plan, row, inner)
  return requests, not done and failure or nil
end

--- requests(plan, ctx, systems) → array of {resource = key, action, requests, err}, in the plan's
-- order, for each row that would be created, replaced or changed. `err` says why a row's requests
-- are not all known. systems: aws(service, {region, told, placeholder, live}) and k8s{told,
-- placeholder}, each a client that changes nothing and calls told(request).
-- Deletes are not sketched.
function M.requests(plan, ctx, systems)
  local list = {}
  for _, row in ipairs(plan.changes) do
    if (MAKES[row.action] or row.action == "change") and not row.left_out then
      local requests, failure = requests_of(plan, row, ctx, systems)
      list[#list + 1] = { resource = row.resource.key, action = row.action, requests = requests,
        err = failure }
    end
  end
  return list
end

return M
