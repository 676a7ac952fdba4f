--- Requests of the query protocols: `Key.1.Name=…` forms (EC2's own kind, and that of IAM, STS,
-- Auto Scaling and ELB).

local crypto = require "rtl.native.crypto"
local secret = require "rtl.native.secret"
local value = require "rtl.aws.value"

local M = {}

local put

local function put_list(form, prefix, shape, items)
  if #items == 0 then
    -- EC2 knows no empty list; the others take it as `Key=`.
    if not form.ec2 then form[#form + 1] = { prefix, "" } end
    return
  end
  local base = (form.ec2 or shape.flat) and prefix or prefix .. "." .. shape.item
  for i, item in ipairs(items) do put(form, base .. "." .. i, shape.member, item) end
end

local function put_map(form, prefix, shape, map)
  local keys = {}
  for key in pairs(map) do keys[#keys + 1] = key end
  table.sort(keys)
  for i, key in ipairs(keys) do
    local base = ("%s.entry.%d"):format(prefix, i)
    form[#form + 1] = { base .. ".key", key }
    put(form, base .. ".value", shape.member, map[key])
  end
end

local function put_structure(form, prefix, shape, fields)
  for _, member in ipairs(shape.members) do
    local field = fields[member.name]
    if field ~= nil then
      local key = prefix == "" and member.wire_in or prefix .. "." .. member.wire_in
      put(form, key, member.shape, field)
    end
  end
end

function put(form, prefix, shape, field)
  if shape.kind == "structure" then return put_structure(form, prefix, shape, field) end
  if shape.kind == "list" then return put_list(form, prefix, shape, field) end
  if shape.kind == "map" then return put_map(form, prefix, shape, field) end
  form[#form + 1] = { prefix, value.to_text(shape, field) }
end

--- The pairs {key, value} of a request's form, in order.
function M.form(op, params)
  local svc = op.service
  local form = { ec2 = svc.protocol == "ec2query" }
  form[1] = { "Action", op.name }
  form[2] = { "Version", svc.version }
  put_structure(form, "", op.input, params)
  return form
end

--- The HTTP request of a call: {method, path, headers, body}. The body is a secret when a
-- parameter is one.
function M.encode(op, params)
  local parts, hidden = {}, false
  for i, pair in ipairs(M.form(op, params)) do
    local text = pair[2]
    if secret.is(text) then text, hidden = secret.reveal(text), true end
    parts[i] = crypto.sigv4.encode(pair[1]) .. "=" .. crypto.sigv4.encode(text)
  end
  local body = table.concat(parts, "&")
  return {
    method = "POST", path = "/", body = hidden and secret.new(body) or body,
    headers = { { "Content-Type", "application/x-www-form-urlencoded; charset=utf-8" } },
  }
end

return M
