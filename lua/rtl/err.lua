--- Errors as one kind of table.
-- What the world refuses is returned as `nil, err`; misuse raises with the argument's number.
-- Branch on `code`, never on the text.

local M = {}

local mt = { __name = "rtl.err" }

-- The innermost hint wins: it is nearest to the cause.
local function hint_of(e)
  local inner = e.cause and M.is(e.cause) and hint_of(e.cause)
  return inner or e.hint
end

local function line_of(e)
  local parts = {}
  if e.doing then parts[#parts + 1] = e.doing .. ":" end
  parts[#parts + 1] = e.message
  local facts = { e.code }
  if e.status then facts[#facts + 1] = "HTTP " .. e.status end
  if e.request_id then facts[#facts + 1] = "request " .. e.request_id end
  parts[#parts + 1] = "(" .. table.concat(facts, ", ") .. ")"
  local text = table.concat(parts, " ")
  if e.cause then
    text = text .. ": " .. (M.is(e.cause) and line_of(e.cause) or tostring(e.cause))
  end
  return text
end

-- What others wrote is shown, and moves no cursor: a terminal acts upon control characters, also
-- upon those that UTF-8 has as two bytes.
local function harmless(text)
  return (text:gsub("\xC2[\x80-\x9F]", "?"):gsub("[\0-\8\11-\31\127]", "?"))
end

function mt.__tostring(e)
  local hint = hint_of(e)
  return harmless(line_of(e) .. (hint and ". " .. hint or ""))
end

local function check(ok, problem)
  if not ok then error("bad argument #1 to 'new' (" .. problem .. ")", 3) end
end

--- Makes an error object.
-- `fields`: code (string, an RTL-code of rtl.codes or the service's own name) and message (string)
-- are required; status (integer, HTTP), request_id, retryable (boolean), sent (boolean: the request
-- may have taken effect), cause (the error under it), hint (what to try next), doing (what was
-- being done) and further fields are optional. The table becomes the error; it is not copied.
function M.new(fields)
  check(type(fields) == "table", "table expected")
  check(type(fields.code) == "string", "code expected")
  check(type(fields.message) == "string", "message expected")
  return setmetatable(fields, mt)
end

--- Whether `value` is an error object.
function M.is(value)
  return getmetatable(value) == mt
end

--- Whether `value` is an error object with the given code.
function M.has_code(value, code)
  return M.is(value) and value.code == code
end

--- The code of an error or of the nearest error under it that satisfies `test(err)`; else nil.
function M.find(value, test)
  while M.is(value) do
    if test(value) then return value end
    value = value.cause
  end
  return nil
end

--- Returns `nil, err` with the fields of M.new: `return err.fail{code = …, message = …}`.
function M.fail(fields)
  return nil, M.new(fields)
end

--- Wraps `cause` (an error object or any value) into a new error that says what was being done.
-- code, status, request_id, retryable and sent are taken over unless given.
function M.wrap(cause, fields)
  if M.is(cause) then
    for _, key in ipairs { "code", "status", "request_id", "retryable", "sent" } do
      if fields[key] == nil then fields[key] = cause[key] end
    end
    fields.message = fields.message or "failed"
  end
  fields.cause = cause
  return M.new(fields)
end

return M
