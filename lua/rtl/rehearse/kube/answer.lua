--- Answers of the Kubernetes API: objects and Status.

local array = require "rtl.array"
local json = require "rtl.native.json"

local M = {}

local REASONS = { [400] = "BadRequest", [401] = "Unauthorized", [403] = "Forbidden",
                  [404] = "NotFound", [405] = "MethodNotAllowed", [409] = "Conflict",
                  [410] = "Expired", [415] = "UnsupportedMediaType", [422] = "Invalid",
                  [500] = "InternalError" }

--- An answer that carries an object (a table, written as JSON) or a text.
function M.object(body, status)
  return { status = status or 200, body = body }
end

--- An answer whose JSON text is there already.
function M.text(text)
  return { status = 200, body = text .. "\n", content_type = "application/json" }
end

--- A list of a resource's objects from the texts of its items; `continue` (or nil) goes on with it.
function M.list(resource, version, items, continue)
  local metadata = json.encode { resourceVersion = tostring(version), continue = continue or nil }
  return M.text(('{"apiVersion":"%s","items":[%s],"kind":"%sList","metadata":%s}'):format(
    resource.api_version, table.concat(items, ","), resource.kind, metadata))
end

--- A Status of failure. `more`: reason, details.
function M.failure(status, message, more)
  more = more or {}
  return { status = status, body = {
    kind = "Status", apiVersion = "v1", metadata = {}, status = "Failure", message = message,
    reason = more.reason or REASONS[status], details = more.details, code = status,
  } }
end

local function qualified(resource)
  return resource.group == "" and resource.plural or resource.plural .. "." .. resource.group
end

--- 404 for an object.
function M.not_found(resource, name)
  return M.failure(404, ('%s "%s" not found'):format(qualified(resource), name),
                   { details = { name = name, kind = resource.plural,
                                 group = resource.group ~= "" and resource.group or nil } })
end

--- 409 for an object that is there already.
function M.exists(resource, name)
  return M.failure(409, ('%s "%s" already exists'):format(qualified(resource), name),
                   { reason = "AlreadyExists",
                     details = { name = name, kind = resource.plural } })
end

--- 409 for a stale version.
function M.stale(resource, name)
  return M.failure(409, ('Operation cannot be fulfilled on %s "%s": the object has been modified; '
                         .. "please apply your changes to the latest version and try again")
                        :format(qualified(resource), name),
                   { details = { name = name, kind = resource.plural } })
end

--- 422 with one cause.
function M.invalid(resource, name, field, message)
  local text = ('%s "%s" is invalid: %s: %s'):format(resource.kind, name, field, message)
  return M.failure(422, text, {
    details = { name = name, kind = resource.kind, causes = array {
      { reason = "FieldValueInvalid", message = message, field = field } } } })
end

--- 409 of server-side apply; `found` is the array of conflicts that rtl.rehearse.kube.apply gives.
function M.conflicts(found)
  local causes, lines = array {}, {}
  for i, conflict in ipairs(found) do
    local entry = conflict.entry
    local using = entry.operation == "Apply" and "" or (" using %s at %s")
      :format(entry.apiVersion, entry.time)
    local text = ('conflict with "%s"%s'):format(conflict.manager, using)
    causes[i] = { reason = "FieldManagerConflict", message = text, field = conflict.field }
    lines[i] = text .. ": " .. conflict.field
  end
  local message = ("Apply failed with %d conflict%s: %s"):format(#found, #found == 1 and "" or "s",
                                                                 table.concat(lines, "\n"))
  return M.failure(409, message, { details = { causes = causes } })
end

--- Status of a delete that is done at once.
function M.deleted(resource, object)
  return M.object { kind = "Status", apiVersion = "v1", metadata = {}, status = "Success",
                    details = { name = object.metadata.name, kind = resource.plural,
                                uid = object.metadata.uid } }
end

return M
