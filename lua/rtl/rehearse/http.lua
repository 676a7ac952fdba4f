--- URLs, queries and headers as a server reads them, and the answers it gives.

local secret = require "rtl.native.secret"

local M = {}

-- What two hexadecimal digits stand for.
local bytes = {}
for byte = 0, 255 do
  local char = string.char(byte)
  bytes[("%02x"):format(byte)], bytes[("%02X"):format(byte)] = char, char
end

--- Decodes percent-encoding; `plus` also turns "+" into a blank.
function M.decode(text, plus)
  if plus then text = text:gsub("%+", " ") end
  return (text:gsub("%%(%x%x)", bytes))
end

--- Splits a URL: { scheme, host, port, path (as on the wire), query (as on the wire, or nil) }.
function M.split(url)
  local scheme, authority, rest = url:match "^(%w+)://([^/?#]+)([^#]*)"
  if not scheme then return nil end
  local host, port = authority:match "^(.-):(%d+)$"
  local path, query = rest:match "^([^?]*)%??(.*)$"
  return { scheme = scheme:lower(), host = (host or authority):lower(), port = tonumber(port),
           path = path == "" and "/" or path, query = rest:find("?", 1, true) and query or nil }
end

--- The pairs of a query or of a form, in order, decoded: {{name, value}, …}.
function M.pairs_of(query, plus)
  local list = {}
  for item in (query or ""):gmatch "[^&]+" do
    local name, value = item:match "^([^=]*)=?(.*)$"
    list[#list + 1] = { M.decode(name, plus), M.decode(value, plus) }
  end
  return list
end

--- The same as a table; a name that comes twice keeps its first value, and `repeated` lists it.
function M.table_of(query, plus)
  local out, repeated = {}, {}
  for _, pair in ipairs(M.pairs_of(query, plus)) do
    if out[pair[1]] == nil then out[pair[1]] = pair[2] else repeated[#repeated + 1] = pair[1] end
  end
  return out, repeated
end

--- The headers of a request as lower-case name → value (strings; secrets are shown to the server,
-- as they are on a real wire).
function M.headers_of(request)
  local out = {}
  for _, pair in ipairs(request.headers or {}) do
    local name, value = pair[1]:lower(), secret.reveal(pair[2])
    out[name] = out[name] and out[name] .. ", " .. value or value
  end
  return out
end

--- The whole body of a request as a string.
function M.body_of(request)
  local body = request.body
  if body == nil then return "" end
  if type(body) ~= "function" then return secret.reveal(body) end
  local parts = {}
  for chunk in body do parts[#parts + 1] = secret.reveal(chunk) end
  return table.concat(parts)
end

local DAYS = { [0] = "Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed" }
local MONTHS = { "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov",
                 "Dec" }

--- A time (seconds since 1970) as the Date header has it; `iso` is the same time in ISO form.
function M.date(seconds, iso)
  local year, month, day, time = iso:match "^(%d+)-(%d+)-(%d+)T([%d:]+)"
  return ("%s, %s %s %s %s GMT"):format(DAYS[seconds // 86400 % 7], day, MONTHS[tonumber(month)],
                                        year, time)
end

local REASONS = { [200] = "OK", [201] = "Created", [202] = "Accepted", [204] = "No Content",
                  [400] = "Bad Request", [401] = "Unauthorized", [403] = "Forbidden",
                  [404] = "Not Found", [409] = "Conflict", [410] = "Gone", [412] =
                  "Precondition Failed", [415] = "Unsupported Media Type", [422] =
                  "Unprocessable Entity", [429] = "Too Many Requests", [500] =
                  "Internal Server Error", [503] = "Service Unavailable" }

--- The reason phrase of a status.
function M.reason(status)
  return REASONS[status] or "Status"
end

return M
