--- Single values between Lua and the wire: numbers, times, blobs, JSON inside strings.

local clock = require "rtl.clock"
local crypto = require "rtl.native.crypto"
local json = require "rtl.native.json"
local null = require "rtl.null"
local secret = require "rtl.native.secret"

local M = {}

local DAYS = { "Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed" } -- 1970-01-01 was a Thursday
local MONTHS = {
  "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
}

-- A function of a text like `f` that remembers its last answer: all answers of a second have the
-- same date, and a page of instances writes the same time over and over (of what was started
-- together, and of an instance, its volume and its interface).
local function remembering(f)
  local last, found
  return function (text)
    if text ~= last then last, found = text, f(text) end
    return found
  end
end

--- Unix seconds as HTTP writes them: "Tue, 01 Dec 2026 10:00:00 GMT".
function M.http_date(t)
  t = math.floor(t)
  local year, month, day, time = clock.iso(t):match "^(%d+)-(%d+)-(%d+)T([%d:]+)Z$"
  return ("%s, %s %s %s %s GMT"):format(DAYS[t // 86400 % 7 + 1], day, MONTHS[tonumber(month)],
    year, time)
end

--- parse_http_date(text) → unix seconds | nil
-- Of an HTTP date: "Tue, 01 Dec 2026 10:00:00 GMT"; a fraction may be in it.
M.parse_http_date = remembering(function (text)
  local day, name, year, time = text:match "^%a+, (%d%d?) (%a%a%a) (%d%d%d%d) ([%d:.]+) GMT$"
  for month, known in ipairs(MONTHS) do
    if known == name then
      return clock.parse_iso(("%s-%02d-%02dT%sZ"):format(year, month, tonumber(day), time))
    end
  end
end)

--- Percent-decodes `text`.
function M.unescape(text)
  return (text:gsub("%%(%x%x)", function (hex) return string.char(tonumber(hex, 16)) end))
end

-- Callers may give a time as ISO text, too.
local function seconds(value)
  if type(value) == "string" then return clock.parse_iso(value) or 0 end
  return value
end

-- Integral floats are integers on the wire.
local function number(value)
  return math.tointeger(value) or value
end

-- ISO 8601 to the second, or to the microsecond where there is a fraction.
local function iso_text(t)
  local micro = math.floor((t - math.floor(t)) * 1e6)
  if micro == 0 then return clock.iso(t) end
  return clock.iso(t):sub(1, -2) .. (".%06dZ"):format(micro)
end

local function time_text(shape, value)
  local t = seconds(value)
  if shape.format == "unix" then return tostring(math.floor(t)) end
  if shape.format == "http" then return M.http_date(t) end
  return iso_text(t)
end

local function json_text(value)
  return type(value) == "table" and json.encode(value) or value
end

local TO_TEXT = {
  int = function (_, value) return tostring(number(value)) end,
  float = function (_, value) return tostring(number(value)) end,
  bool = function (_, value) return tostring(value) end,
  time = time_text,
  blob = function (_, value) return crypto.base64_encode(value) end,
  json = function (_, value) return json_text(value) end,
  urljson = function (_, value) return json_text(value) end,
}

--- A value as text for forms, query strings, headers and XML. Strings and secrets pass through.
function M.to_text(shape, value)
  local convert = TO_TEXT[shape.kind]
  return convert and convert(shape, value) or value
end

local TO_JSON = {
  int = function (_, value) return number(value) end,
  float = function (_, value) return number(value) end,
  time = function (shape, value)
    return shape.format == "unix" and math.floor(seconds(value)) or time_text(shape, value)
  end,
  blob = function (_, value) return crypto.base64_encode(value) end,
  json = function (_, value) return json_text(value) end,
  urljson = function (_, value) return json_text(value) end,
}

--- A value as it stands in a JSON body.
function M.to_json(shape, value)
  local convert = TO_JSON[shape.kind]
  if convert then return convert(shape, value) end
  return value
end

local function from_json_text(text)
  local value, failure = json.decode(text)
  if value == nil and failure then return text end
  return value
end

local function finite(t)
  return math.abs(t) < math.huge and t or nil -- NaN is below nothing
end

-- Unix seconds of a text in any of the three forms, whichever the model says (the SDKs read them
-- so, too), or nil.
local parse_seconds = remembering(function (text)
  if text:find "^[+-]?%d+%.?%d*$" or text:find "^[+-]?%d+%.?%d*[eE][+-]?%d+$" then
    return finite(tonumber(text))
  end
  return clock.parse_iso(text) or M.parse_http_date(text)
end)

--- Puts a time of an answer into `out`: `out.NAME` is a number, unix seconds (with a fraction, if
-- there was one), and `out.NAME_text` the text that the service wrote, where it wrote one. What is
-- no time is there as text only.
function M.put_time(out, name, given)
  if type(given) == "string" then
    out[name], out[name .. "_text"] = parse_seconds(given), given
  elseif type(given) == "number" then
    out[name] = finite(given)
    if not out[name] then out[name .. "_text"] = tostring(given) end
  end
end

local FROM_TEXT = {
  int = function (_, text) return math.tointeger(tonumber(text)) or tonumber(text) or text end,
  float = function (_, text) return tonumber(text) or text end,
  bool = function (_, text) return text == "true" end,
  blob = function (_, text) return crypto.base64_decode(text) or text end,
  json = function (_, text) return from_json_text(text) end,
  urljson = function (_, text) return from_json_text(M.unescape(text)) end,
}

--- The Lua value of text out of an answer; what can't be read as its type stays text. (Times are
-- put by M.put_time.)
function M.from_text(shape, text)
  if shape.kind == "secret" then return secret.is(text) and text or secret.new(text) end
  local convert = FROM_TEXT[shape.kind]
  if convert then return convert(shape, text) end
  return text
end

--- The Lua value of a scalar out of a JSON answer; null is nil, and so is a list or an object.
function M.from_json(shape, value)
  if value == nil or value == null then return nil end
  if type(value) == "table" and shape.kind ~= "json" then return nil end
  if type(value) == "string" then return M.from_text(shape, value) end
  if shape.kind == "string" and type(value) ~= "userdata" then return tostring(value) end
  return value
end

return M
