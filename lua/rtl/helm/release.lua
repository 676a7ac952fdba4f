--- Helm's release records: Secrets sh.helm.release.v1.NAME.vN that helm lists, upgrades and rolls
-- back.

local archive = require "rtl.native.archive"
local array = require "rtl.array"
local clock = require "rtl.clock"
local crypto = require "rtl.native.crypto"
local err = require "rtl.err"
local json = require "rtl.native.json"
local null = require "rtl.null"

local M = {}

local function files_of(files)
  local out = {}
  for i, file in ipairs(files) do out[i] = { name = file.name,
    data = crypto.base64_encode(file.data) } end
  return array(out)
end

-- Whole numbers were read as floats for the templates; in the record they are what the text said.
local function chart_record(chart)
  local metadata = {}
  for key, value in pairs(chart.metadata) do metadata[key] = value end
  return { metadata = metadata, lock = chart.lock or null, templates = files_of(chart.templates),
    values = chart.values, schema = chart.schema and crypto.base64_encode(chart.schema) or null,
    files = files_of(chart.files) }
end

local function hook_records(hooks)
  local out = {}
  for i, hook in ipairs(hooks) do
    out[i] = { name = hook.name, kind = hook.kind, path = hook.source, manifest = hook.text,
      events = array(hook.events), weight = hook.weight ~= 0 and hook.weight or nil,
      last_run = { started_at = "", completed_at = "", phase = "" },
      delete_policies = #hook.policies > 0 and array(hook.policies) or nil,
      output_log_policies = #hook.log_policies > 0 and array(hook.log_policies) or nil }
  end
  return #out > 0 and array(out) or nil
end

local descriptions = { deployed = "Install complete",
  ["pending-install"] = "Initial install underway",
  ["pending-upgrade"] = "Preparing upgrade", superseded = "Superseded by a later revision",
  failed = "Install failed" }

local function description(args)
  if args.description then return args.description end
  if args.status == "deployed" and args.revision > 1 then return "Upgrade complete" end
  return descriptions[args.status]
end

local function body(args)
  local rendered = args.rendered
  local now = clock.iso(args.now)
  return {
    name = args.name, namespace = args.namespace, version = args.revision,
      manifest = rendered.manifest,
    config = next(args.values or {}) ~= nil and args.values or nil,
      hooks = hook_records(rendered.hooks),
    chart = chart_record(args.chart),
    info = { first_deployed = args.first_deployed and clock.iso(args.first_deployed) or now,
      last_deployed = now,
      deleted = "", description = description(args), status = args.status,
      notes = rendered.notes ~= "" and rendered.notes or nil },
  }
end

local function packed_text(release)
  local packed = crypto.base64_encode(archive.gzip(json.encode(release), { level = 9 }))
  return crypto.base64_encode(packed)
end

--- The Secret of a release. `args`: rendered (of helm.render), chart, name, namespace, values (the
-- user's), revision (1), status ("deployed"), now (UTC seconds; default clock.utc()),
-- first_deployed, description.
function M.record(args)
  local a = setmetatable({ revision = args.revision or 1, status = args.status or "deployed",
    now = args.now or clock.utc() }, { __index = args })
  return {
    apiVersion = "v1", kind = "Secret", type = "helm.sh/release.v1",
    metadata = { name = ("sh.helm.release.v1.%s.v%d"):format(a.name, a.revision),
      namespace = a.namespace,
      labels = { name = a.name, owner = "helm", status = a.status, version = tostring(a.revision),
        createdAt = ("%d"):format(a.now // 1) } },
    data = { release = packed_text(body(a)) },
  }
end

local function unpacked(text)
  local once, problem = crypto.base64_decode(text)
  if not once then return nil, problem end
  local packed, trouble = crypto.base64_decode(once)
  if not packed then return nil, trouble end
  if packed:sub(1, 3) ~= "\31\139\8" then return packed end
  return archive.gunzip(packed)
end

--- Reads a release Secret: { name, namespace, version, info, chart, config, manifest, hooks } |
-- nil, err.
function M.parse(secret)
  local data = type(secret) == "table" and type(secret.data) == "table" and secret.data.release
  if type(data) ~= "string" then
    return nil, err.new { code = "RTL-HELM-007", message = "the secret holds no release" }
  end
  local text, problem = unpacked(data)
  local release = text and json.decode(text)
  if type(release) ~= "table" then
    return nil, err.new { code = "RTL-HELM-007", message = "the release record can't be read",
      cause = problem }
  end
  return release
end

--- What changes in a release Secret when its release gets another status: { data, labels } for a
-- merge patch | nil, err. helm marks the former revision "superseded" when another is deployed.
function M.with_status(secret, status)
  local release, problem = M.parse(secret)
  if not release then return nil, problem end
  release.info.status = status
  return { metadata = { labels = { status = status } }, data = { release = packed_text(release) } }
end

return M
