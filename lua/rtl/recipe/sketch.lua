--- `--plan --out DIR`: the requests and manifests that a plan would send, as files to read, to
-- review and to compare. Two plans of the same account give the same files.
--
--   plan.json                  the plan itself, as the event of --plan --json
--   02-vpc-main.json           AWS requests of a resource, in order: array of {service, operation,
--                              region, parameters}
--   41-ray_cluster-NAME.yaml   Kubernetes objects, as they would be applied

local array = require "rtl.array"
local err = require "rtl.err"
local fs = require "rtl.fs"
local json = require "rtl.native.json"
local plan = require "rtl.plan"
local redact = require "rtl.redact"
local report = require "rtl.recipe.report"
local yaml = require "rtl.native.yaml"

local M = {}

local INDEX = "plan.json"
local RELEASE = "helm.sh/release.v1"

local function systems_of(run)
  local live, applied = run:k8s(), {}
  return {
    aws = require("rtl.aws.sketch").new,
    k8s = function (options)
      options.live, options.applied = live, applied
      options.server_version = ("v%s.0"):format(run.settings.kubernetes_version)
      return require("rtl.k8s.sketch").new(options)
    end,
  }
end

local function is_ours(name)
  return name == INDEX or name:match "^%d+%-[%w_.-]+%.json$" or name:match "^%d+%-[%w_.-]+%.yaml$"
end

-- Empties a folder that an earlier --out filled; refuses one that holds anything else.
local function prepare(dir)
  local names = fs.exists(dir) and assert(fs.list(dir)) or {}
  for _, name in ipairs(names) do
    if not is_ours(name) or not fs.exists(fs.join(dir, INDEX)) then
      error(err.new { code = "RTL-CLI-017", exit = "usage",
        message = ("--out %s: the folder holds '%s', which is no plan's"):format(dir, name),
        hint = "Give a new folder, or an empty one" }, 0)
    end
  end
  for _, name in ipairs(names) do assert(fs.remove(fs.join(dir, name))) end
  assert(fs.mkdirs(dir))
end

-- A release record is a packed copy of the objects beside it and holds the time of day.
local function manifests(requests)
  local documents = {}
  for _, object in ipairs(requests) do
    if object.type ~= RELEASE then documents[#documents + 1] = yaml.encode(object) end
  end
  return table.concat(documents, "---\n")
end

-- Suffix and bytes of what one resource would send.
local function shown(requests)
  if requests[1] and requests[1].operation then
    return ".json", json.encode(array(requests), { pretty = true }) .. "\n"
  end
  return ".yaml", manifests(requests)
end

local function file_name(number, width, resource, suffix)
  return ("%0" .. width .. "d-%s%s"):format(number, resource:gsub("[^%w_.-]+", "-"), suffix)
end

--- Writes what plan `p` would send into the folder `dir`, which is made; returns how many files.
-- Raises RTL-CLI-017 for a folder with other things in it, and RTL-PLAN-030 when the requests of a
-- resource can't be told.
function M.write(run, p, dir)
  local sketches = plan.sketch.requests(p, run.ctx, systems_of(run))
  prepare(dir)
  local width = #tostring(#sketches)
  for i, sketch in ipairs(sketches) do
    if sketch.err then
      error(err.wrap(sketch.err, { code = "RTL-PLAN-030", doing = sketch.resource,
        message = "what it would send can't be told" }), 0)
    end
    local suffix, bytes = shown(sketch.requests)
    local path = fs.join(dir, file_name(i, width, sketch.resource, suffix))
    assert(fs.write(path, redact.text(bytes)))
  end
  local index = json.encode(report.plan_event(run, p), { pretty = true })
  assert(fs.write(fs.join(dir, INDEX), redact.text(index) .. "\n"))
  return #sketches + 1
end

return M
