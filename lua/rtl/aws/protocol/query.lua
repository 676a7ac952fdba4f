--- Requests of the query protocols: `Key.1.Name=…` forms (EC2's own kind, and that of IAM, STS,
-- Auto Scaling and ELB).

local crypto = require "rtl.native.crypto"
local secret = require "rtl.native.secret"
local value = require "rtl.aws.value"

local M = {}

local encode = crypto.sigv4.encode

-- `form` is the array of the body's parts, with ec2 = whether in EC2's kind, and hidden = whether a
-- secret is in it. Keys are made of names and numbers: nothing in them needs an escape.
local put

local function put_text(form, key, text)
  if secret.is(text) then text, form.hidden = secret.reveal(text), true end
  form[#form + 1] = key .. "=" .. encode(text)
end

local function put_list(form, prefix, shape, items)
  if #items == 0 then
    -- EC2 knows no empty list; the others take it as `Key=`.
    if not form.ec2 then put_text(form, prefix, "") end
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
    put_text(form, base .. ".key", key)
    put(form, base .. ".value", shape.member, map[key])
  end
end

-- `prefix` is nil for the parameters themselves.
local function put_structure(form, prefix, shape, fields)
  for i = 1, #shape.members do
    local member = shape.members[i]
    local field = fields[member.name]
    if field ~= nil then
      local key = prefix and prefix .. "." .. member.wire_in or member.wire_in
      put(form, key, member.shape, field)
    end
  end
end

function put(form, prefix, shape, field)
  if shape.kind == "structure" then return put_structure(form, prefix, shape, field) end
  if shape.kind == "list" then return put_list(form, prefix, shape, field) end
  if shape.kind == "map" then return put_map(form, prefix, shape, field) end
  put_text(form, prefix, value.to_text(shape, field))
end

local HEADERS = { { "Content-Type", "application/x-www-form-urlencoded; charset=utf-8" } }

--- The HTTP request of a call: {method, path, headers, body}. The body is a secret when a
-- parameter is one.
function M.encode(op, params)
  local svc = op.service
  local form = {
    "Action=" .. op.name .. "&Version=" .. svc.version, ec2 = svc.protocol == "ec2query",
  }
  put_structure(form, nil, op.input, params)
  local body = table.concat(form, "&")
  return {
    method = "POST", path = "/", body = form.hidden and secret.new(body) or body, headers = HEADERS,
  }
end

return M
