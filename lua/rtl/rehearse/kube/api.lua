--- The HTTP face of a cluster's API server: paths, verbs, options, lists.

local answer = require "rtl.rehearse.kube.answer"
local discovery = require "rtl.rehearse.kube.discovery"
local http = require "rtl.rehearse.http"
local json = require "rtl.native.json"
local select_by = require "rtl.rehearse.kube.select"
local store_module = require "rtl.rehearse.kube.store"
local watch = require "rtl.rehearse.kube.watch"
local writes = require "rtl.rehearse.kube.writes"

local M = {}

local function steps_of(path)
  local steps = {}
  for step in path:gmatch "[^/]+" do steps[#steps + 1] = http.decode(step) end
  return steps
end

-- What a path below /api/v1 or /apis/GROUP/VERSION names.
local function target_of(store, group, version, steps, from)
  local namespace
  if steps[from] == "namespaces" and steps[from + 2] and
    not (steps[from + 2] == "status" or steps[from + 2] == "finalize") then
    namespace, from = steps[from + 1], from + 2
  end
  local resource = store:resource(group, version, steps[from] or "")
  if not resource or (namespace and not resource.namespaced) then return nil end
  return { resource = resource, namespace = namespace, name = steps[from + 1],
           sub = steps[from + 2] }
end

local function no_path()
  return answer.failure(404, "the server could not find the requested resource")
end

local function version_info(kube)
  local major, minor = kube.version:match "^(%d+)%.(%d+)"
  return answer.object { major = major, minor = minor, platform = "linux/amd64",
                         gitVersion = ("v%s.%s.2-eks-a1b2c3d"):format(major, minor),
                         gitTreeState = "clean", compiler = "gc" }
end

local FIXED = {
  ["/version"] = version_info,
  ["/healthz"] = function () return { status = 200, body = "ok", content_type = "text/plain" } end,
}
FIXED["/livez"], FIXED["/readyz"] = FIXED["/healthz"], FIXED["/healthz"]

--- What is asked for: { fixed } for a path of its own, { roots, core }, { version_of }, or a target
-- { resource, namespace, name, sub }; nil if there is no such path.
function M.route(store, path)
  if FIXED[path] then return { fixed = FIXED[path] } end
  local steps = steps_of(path)
  if steps[1] == "api" then
    if not steps[2] then return { roots = true, core = true } end
    if not steps[3] then return { group = "", version = steps[2] } end
    return target_of(store, "", steps[2], steps, 3)
  end
  if steps[1] == "apis" then
    if not steps[2] then return { roots = true, core = false } end
    if steps[3] and not steps[4] then return { group = steps[2], version = steps[3] } end
    return steps[4] and target_of(store, steps[2], steps[3], steps, 4)
  end
  return nil
end

-- A test for the selectors and the place of a call, or nil and the answer that refuses it.
local function test_of(target, query)
  local labels = query.labelSelector and query.labelSelector ~= ""
                 and select_by.labels(query.labelSelector)
  if query.labelSelector and query.labelSelector ~= "" and not labels then
    return nil, answer.failure(400, "unable to parse requirement: " .. query.labelSelector)
  end
  local fields, bad
  if query.fieldSelector and query.fieldSelector ~= "" then
    fields, bad = select_by.fields(query.fieldSelector, target.resource.plural)
    if not fields then
      return nil, answer.failure(400, ('field label not supported: %s'):format(bad))
    end
  end
  local namespace, name = target.namespace, target.name
  return function (object)
    return (not namespace or object.metadata.namespace == namespace)
       and (not name or object.metadata.name == name)
       and (not labels or labels(object)) and (not fields or fields(object))
  end
end

local function list(kube, target, query)
  local test, refused = test_of(target, query)
  if not test then return refused end
  local resource, items = target.resource, {}
  local text_of = resource.custom and store_module.text or store_module.item_text
  local limit = tonumber(query.limit) or math.huge
  local skip = tonumber((query.continue or ""):match "^c(%d+)$") or 0
  local matched, more = 0, nil
  for _, object in ipairs(kube.store:list(resource, target.namespace)) do
    if test(object) then
      matched = matched + 1
      if matched > skip and #items < limit then
        items[#items + 1] = text_of(object)
      elseif matched > skip then
        more = true
      end
    end
  end
  return answer.list(resource, kube.store.version, items, more and "c" .. (skip + #items))
end

local function start_watch(kube, target, query)
  local test, refused = test_of(target, query)
  if not test then return refused end
  return watch.start(kube.store, target.resource, {
    version = query.resourceVersion, test = test, timeout = tonumber(query.timeoutSeconds),
    bookmarks = query.allowWatchBookmarks == "true" })
end

--- Answers a call that only reads. `call`: method, path, query (text), accept.
function M.read(kube, call)
  local target = M.route(kube.store, call.path)
  if not target then return no_path() end
  if target.fixed then return target.fixed(kube) end
  if target.roots then return discovery.roots(kube.store, target.core, call.accept) end
  if target.version and not target.resource then
    return discovery.version(kube.store, target.group, target.version) or no_path()
  end
  local query = http.table_of(call.query, true)
  if target.sub == "log" then return kube:logs(target, query) end
  if query.watch == "true" or query.watch == "1" then return start_watch(kube, target, query) end
  if not target.name then return list(kube, target, query) end
  if target.sub and not target.resource.subresources[target.sub] then return no_path() end
  local object = kube.store:get(target.resource, target.namespace, target.name)
  if not object then return answer.not_found(target.resource, target.name) end
  return answer.text(store_module.text(object))
end

local function write_call(call, target, query)
  return {
    body = call.body, content_type = call.content_type or "application/json", name = target.name,
    namespace = target.resource.namespaced and (target.namespace or "default") or nil,
    manager = query.fieldManager or "unknown", manager_given = query.fieldManager ~= nil,
    strict = query.fieldValidation == "Strict", force = query.force == "true",
    dry_run = query.dryRun == "All", propagation = query.propagationPolicy,
    grace = query.gracePeriodSeconds, status = target.sub == "status",
  }
end

local function review(call)
  local body = json.decode(call.body) or {}
  body.status = { allowed = true }
  return answer.object(body, 201)
end

--- Whether a call would change something, as far as its method and its options say.
function M.changes(call)
  return call.method ~= "GET" and call.method ~= "HEAD"
     and not (call.query or ""):find("dryRun=All", 1, true)
     and not call.path:find("selfsubjectaccessreviews", 1, true)
end

--- Answers a call that writes. `call`: method, path, query, content_type, body.
function M.write(kube, call)
  local target = M.route(kube.store, call.path)
  if not target or not target.resource then return no_path() end
  local query = http.table_of(call.query, true)
  if call.method == "POST" and target.resource.kind == "SelfSubjectAccessReview" then
    return review(call)
  end
  local write = write_call(call, target, query)
  if target.sub and target.sub ~= "status" then return no_path() end
  if call.method == "POST" and not target.name then
    return writes.create(kube, target.resource, write)
  elseif call.method == "PUT" and target.name then
    return writes.update(kube, target.resource, write)
  elseif call.method == "PATCH" and target.name then
    return writes.patch(kube, target.resource, write)
  elseif call.method == "DELETE" and target.name then
    return writes.delete(kube, target.resource, write)
  elseif call.method == "DELETE" then
    local test, refused = test_of(target, query)
    return refused or writes.delete_collection(kube, target.resource, write, test)
  end
  return answer.failure(405, "the server does not allow this method on the requested resource")
end

return M
