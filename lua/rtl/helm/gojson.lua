--- JSON as Go's encoding/json writes it: keys in byte order, <, > and & escaped.

local go = require "rtl.helm.go"

local M = {}

local escapes = { ['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t",
  ["\b"] = "\\b", ["\f"] = "\\f" }

local function string_text(s, html)
  local out = s:gsub('[%c"\\]', function (c) return escapes[c] or c == "\127" and c
    or ("\\u%04x"):format(c:byte()) end)
  if html then out = out:gsub("[<>&]", function (c) return ("\\u%04x"):format(c:byte()) end) end
  return '"' .. out:gsub("\u{2028}", "\\u2028"):gsub("\u{2029}", "\\u2029") .. '"'
end

local function number_text(v)
  if math.type(v) == "integer" then return tostring(v) end
  if v ~= v or v == math.huge or v == -math.huge then
    go.fail("json: unsupported value: %s", go.float_v(v))
  end
  return (go.float_text(v, -6, 21):gsub("e%-0(%d)$", "e-%1"))
end

local function encode(v, options, indent)
  local kind = go.kind(v)
  if kind == "string" then return string_text(v, options.html) end
  if kind == "nil" then return "null" end
  if kind == "bool" then return tostring(v) end
  if kind == "int" or kind == "float" then return number_text(v) end
  if kind == "struct" or go.type_name(v) == "engine.files" then
    go.fail("toJson of %s is not supported", go.type_name(v))
  end
  local inner = indent .. options.step
  local newline = options.step ~= "" and "\n" .. inner or ""
  local parts = {}
  if kind == "list" then
    for i, item in ipairs(v) do parts[i] = newline .. encode(item, options, inner) end
  else
    for i, key in ipairs(go.keys(v)) do
      parts[i] = newline .. string_text(key, options.html) .. (options.step ~= "" and ": " or ":")
        .. encode(v[key], options, inner)
    end
  end
  local open, close = "{", "}"
  if kind == "list" then open, close = "[", "]" end
  if #parts == 0 then return open .. close end
  return open .. table.concat(parts, ",") .. (options.step ~= "" and "\n" .. indent or "") .. close
end

--- The value as JSON text. `options`: html (escape <, >, &; default true), step (indent, default
-- none).
function M.encode(v, options)
  options = options or {}
  return encode(v, { html = options.html ~= false, step = options.step or "" }, "")
end

return M
