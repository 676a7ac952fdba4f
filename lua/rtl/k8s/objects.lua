--- Reading and writing objects: get, list, apply, create, replace, patch, delete.

local clock = require "rtl.clock"
local discovery = require "rtl.k8s.discovery"
local err = require "rtl.err"
local json = require "rtl.native.json"
local kube = require "rtl.native.kube"
local request = require "rtl.k8s.request"
local task = require "rtl.task"

local M = {}

local PAGE = 500
local KIND_PATIENCE = 10 -- seconds: discovery lags behind a CRD that has just been established

local function check(condition, argument, name, wanted)
  if condition then return end
  error(("bad argument #%d to '%s' (%s expected)"):format(argument, name, wanted), 3)
end

--- The namespace that a request is for: nil for kinds without one and for `false` (all).
local function namespace_of(client, entry, namespace)
  if not entry.namespaced or namespace == false then return nil end
  return namespace or client.namespace
end

--- The path of a collection or an object.
function M.path(client, entry, namespace, name, subresource)
  local parts = { entry.root }
  local ns = namespace_of(client, entry, namespace)
  if ns then parts[#parts + 1] = "namespaces/" .. request.encode(ns) end
  parts[#parts + 1] = entry.plural
  if name then parts[#parts + 1] = request.encode(name) end
  if subresource then parts[#parts + 1] = subresource end
  return table.concat(parts, "/")
end

--- "get Pod ray-train/head": what an error says was being done.
local function doing(client, verb, entry, namespace, name)
  local ns = namespace_of(client, entry, namespace)
  local where = name and (ns and ns .. "/" .. name or name) or ns and "in " .. ns or ""
  return (verb .. " " .. entry.kind .. " " .. where):gsub("%s+$", "")
end
M.doing = doing

local function flag(query, name, value)
  if value ~= nil and value ~= false then query[#query + 1] = { name, tostring(value) } end
end

--- Gets an object: obj | nil, err (code "NotFound" if it is not there). `options`: namespace.
function M.get(client, kind, name, options)
  check(type(kind) == "string", 1, "get", "kind")
  check(type(name) == "string" and name ~= "", 2, "get", "name")
  options = options or {}
  local entry, problem = discovery.resolve(client, kind, options.api_version)
  if not entry then return nil, problem end
  local value, trouble = request.call(client, {
    path = M.path(client, entry, options.namespace, name, options.subresource),
    doing = doing(client, "get", entry, options.namespace, name) })
  if value == nil then return nil, trouble end
  return value
end

-- Lists ---------------------------------------------------------------------------------------

local function cut(problem, what)
  return nil, err.new { code = "RTL-K8S-003", message = problem, doing = what, retryable = true }
end

-- Reads the body of one page item by item; returns the envelope.
local function read_page(res, take, what)
  local splitter <close> = kube.splitter("list")
  while true do
    local bytes, problem = res:read()
    if problem then return nil, err.wrap(problem, { doing = what }) end
    if not bytes then break end
    local texts, broken = splitter:feed(bytes)
    if not texts then return cut(broken, what) end
    for _, text in ipairs(texts) do
      local item, bad = json.decode(text)
      if item == nil then return nil, err.wrap(bad, { code = "RTL-K8S-003", doing = what,
        message = "an item is no JSON" }) end
      take(item)
    end
  end
  local rest, broken = splitter:finish()
  if not rest then return cut(broken, what) end
  local envelope = json.decode(rest)
  if type(envelope) ~= "table" or type(envelope.metadata) ~= "table" then
    return cut("the answer is no list", what)
  end
  return envelope
end

local function list_query(options, continue)
  local query = {}
  flag(query, "labelSelector", options.labels)
  flag(query, "fieldSelector", options.fields)
  flag(query, "limit", options.limit or PAGE)
  flag(query, "continue", continue)
  return query
end

local function page(client, entry, options, continue, take)
  local what = doing(client, "list", entry, options.namespace)
  local res, problem = request.send(client, { path = M.path(client, entry, options.namespace),
    query = list_query(options, continue), stream = true, doing = what })
  if not res then return nil, problem end
  local response <close> = res
  return read_page(response, take, what)
end

-- A token that has expired may bring a new one: the rest then is of a later state, which is fine
-- for all that rtl lists.
local function renewed_token(problem)
  local metadata = problem.status == 410 and problem.body and problem.body.metadata
  return type(metadata) == "table" and type(metadata.continue) == "string"
    and metadata.continue ~= ""
    and metadata.continue
end

--- As M.list, of a kind that was already looked up (`entry`).
local function list_entry(client, entry, options)
  local items, continue, restarts = {}, nil, 0
  local item_kind = entry.kind
  local function take(item)
    item.apiVersion = item.apiVersion or entry.api_version
    item.kind = item.kind or item_kind
    items[#items + 1] = item
  end
  while true do
    local before = #items
    local envelope, problem = page(client, entry, options, continue, take)
    if envelope then
      continue = envelope.metadata.continue
      if type(continue) ~= "string" or continue == "" then
        return { items = items, resource_version = envelope.metadata.resourceVersion }
      end
    else
      for i = #items, before + 1, -1 do items[i] = nil end
      restarts = restarts + 1
      local token = continue and renewed_token(problem)
      if restarts > 3 or not (token or problem.status == 410 or problem.retryable) then
        return nil, problem
      end
      if token then
        continue = token
      elseif problem.status == 410 then
        items, continue = {}, nil
      else
        task.sleep(request.back_off(restarts))
      end
    end
  end
end

--- Lists objects: { items, resource_version } | nil, err. `options`: namespace (false: all),
-- labels, fields (selectors), limit (a page, default 500).
function M.list(client, kind, options)
  check(type(kind) == "string", 1, "list", "kind")
  options = options or {}
  local entry, problem = discovery.resolve(client, kind, options.api_version)
  if not entry then return nil, problem end
  return list_entry(client, entry, options)
end
M.list_entry = list_entry

-- Writes --------------------------------------------------------------------------------------

local function check_object(object, name)
  check(type(object) == "table" and type(object.kind) == "string"
    and type(object.apiVersion) == "string" and type(object.metadata) == "table"
    and (type(object.metadata.name) == "string" or name == "create"
      and type(object.metadata.generateName) == "string"), 1, name,
    "object with apiVersion, kind and metadata.name")
end

-- A kind whose CRD has just come is looked for again for a while.
local function resolve_patiently(client, object)
  local deadline = clock.mono() + KIND_PATIENCE
  while true do
    local entry, problem = discovery.resolve(client, object.kind, object.apiVersion)
    if entry or problem.code ~= "RTL-K8S-010" or clock.mono() >= deadline then
      return entry, problem
    end
    task.sleep(1)
  end
end

-- The API server answers a path that it does not serve yet with text, and an absent object with a
-- Status.
local function path_missing(problem)
  return problem.status == 404 and problem.body == nil
end

-- Sends a write of an object; `build(entry)` makes the request.
local function write(client, object, build)
  local entry, problem = resolve_patiently(client, object)
  if not entry then return nil, problem end
  local deadline = clock.mono() + KIND_PATIENCE
  while true do
    local value, trouble = request.call(client, build(entry))
    if value ~= nil then return value end
    if not path_missing(trouble) or clock.mono() >= deadline then return nil, trouble end
    task.sleep(1)
  end
end

local function write_query(options)
  local query = { { "fieldValidation", options.validation or "Strict" } }
  if options.dry_run then query[#query + 1] = { "dryRun", "All" } end
  return query
end

local function namespace_for(object, options)
  return object.metadata.namespace or options.namespace
end

--- Applies an object on the server: it is made or brought to what is given, and fields that this
-- manager no longer names go. Returns the object | nil, err; code "Conflict" has `conflicts` =
-- { {field, manager, message}… }. `options`: manager ("rtl"), force, dry_run, namespace (where the
-- object names none).
function M.apply(client, object, options)
  check_object(object, "apply")
  options = options or {}
  return write(client, object, function (entry)
    local namespace = namespace_for(object, options)
    local query = write_query(options)
    query[#query + 1] = { "fieldManager", options.manager or "rtl" }
    query[#query + 1] = { "force", tostring(options.force == true) }
    return { method = "PATCH", content_type = "application/apply-patch+yaml", query = query,
      path = M.path(client, entry, namespace, object.metadata.name, options.subresource),
        body = object,
      doing = doing(client, "apply", entry, namespace, object.metadata.name) }
  end)
end

--- Makes a new object: obj | nil, err ("AlreadyExists"). Sent once. `options`: dry_run, namespace,
-- manager.
function M.create(client, object, options)
  check_object(object, "create")
  options = options or {}
  return write(client, object, function (entry)
    local namespace = namespace_for(object, options)
    local query = write_query(options)
    query[#query + 1] = { "fieldManager", options.manager or "rtl" }
    return { method = "POST", query = query, path = M.path(client, entry, namespace), body = object,
      retry = "once", doing = doing(client, "create", entry, namespace, object.metadata.name) }
  end)
end

--- Replaces an object (with its resourceVersion: only if nobody wrote between). Sent once.
function M.replace(client, object, options)
  check_object(object, "replace")
  options = options or {}
  return write(client, object, function (entry)
    local namespace = namespace_for(object, options)
    local query = write_query(options)
    query[#query + 1] = { "fieldManager", options.manager or "rtl" }
    return { method = "PUT", query = query, body = object, retry = "once",
      path = M.path(client, entry, namespace, object.metadata.name, options.subresource),
      doing = doing(client, "replace", entry, namespace, object.metadata.name) }
  end)
end

local patch_types = { merge = "application/merge-patch+json", json = "application/json-patch+json",
  strategic = "application/strategic-merge-patch+json" }

--- Patches an object. `options`: type "merge" (default), "json" or "strategic"; namespace,
-- subresource, manager, dry_run. A json patch is sent once, the others have the same effect twice.
function M.patch(client, kind, name, patch, options)
  check(type(kind) == "string", 1, "patch", "kind")
  check(type(name) == "string", 2, "patch", "name")
  check(type(patch) == "table" or type(patch) == "string", 3, "patch", "table")
  options = options or {}
  local content_type = patch_types[options.type or "merge"]
  check(content_type, 4, "patch", "type merge, json or strategic")
  local entry, problem = discovery.resolve(client, kind, options.api_version)
  if not entry then return nil, problem end
  local query = write_query(options)
  query[#query + 1] = { "fieldManager", options.manager or "rtl" }
  return request.call(client, { method = "PATCH", content_type = content_type, query = query,
    path = M.path(client, entry, options.namespace, name, options.subresource), body = patch,
    retry = options.type == "json" and "once" or nil,
    doing = doing(client, "patch", entry, options.namespace, name) })
end

local function delete_options(options)
  local body = { apiVersion = "v1", kind = "DeleteOptions",
    propagationPolicy = options.propagation or "Background",
    gracePeriodSeconds = options.grace }
  if options.uid or options.resource_version then
    body.preconditions = { uid = options.uid, resourceVersion = options.resource_version }
  end
  return body
end

--- Deletes an object: true | nil, err. It may live on until its finalizers are done: see
-- client:wait. `options`: namespace, propagation "Background" (default), "Foreground" or "Orphan";
-- uid and resource_version as preconditions; grace in seconds; missing_ok (not there is fine).
function M.delete(client, kind, name, options)
  check(type(kind) == "string", 1, "delete", "kind")
  check(type(name) == "string" and name ~= "", 2, "delete", "name")
  options = options or {}
  local entry, problem = discovery.resolve(client, kind, options.api_version)
  if not entry then
    if options.missing_ok and problem.code == "RTL-K8S-010" then return true end
    return nil, problem
  end
  local value, trouble = request.call(client, { method = "DELETE", body = delete_options(options),
    path = M.path(client, entry, options.namespace, name),
    doing = doing(client, "delete", entry, options.namespace, name) })
  if value ~= nil then return true end
  if options.missing_ok and trouble.status == 404 then return true end
  return nil, trouble
end

return M
