--- Takes secrets out of text before it is shown or written.
-- What is taken out: every rtl.native.secret that lives (8 bytes or more), what `add` was given,
-- and what looks like a secret: AWS keys and session tokens, signatures, bearer and EKS tokens,
-- JSON web tokens, private keys, passwords in URLs, values of names like password or …_API_KEY.

local secret = require "rtl.native.secret"

local M = {}

local MARK = "<secret>"

-- Values added by hand; secrets among them are kept alive so that they are looked for.
local kept, short = {}, {}

--- Makes `bytes` (string or secret, at least 4 bytes) a value that is taken out from now on.
function M.add(bytes)
  local size = secret.length(bytes)
  if size < 4 then error("bad argument #1 to 'add' (at least 4 bytes expected)", 2) end
  if size < 8 then
    short[#short + 1] = secret.reveal(bytes)
  else
    kept[#kept + 1] = secret.new(bytes)
  end
end

-- Names whose value is a secret, in lower case with _ for -. Idempotency and paging tokens are
-- none: the ledger needs them.
local NAMES = {}
for name in ([[
  secretaccesskey secret_access_key aws_secret_access_key aws_secret_key secretkey secret_key
  sessiontoken session_token aws_session_token x_amz_security_token securitytoken security_token
  x_amz_signature x_aws_ec2_metadata_token client_key_data id_token access_token refresh_token
  bearer_token password passwd client_secret api_key
]]):gmatch "%S+" do NAMES[name] = true end

local SUFFIXES = { "_TOKEN", "_SECRET", "_PASSWORD", "_API_KEY", "_SECRET_KEY" }

-- Names seen, so that each is looked at once; emptied when it grows large.
local known_names, known_count = {}, 0

local function looks_secret(name)
  if NAMES[name:lower():gsub("-", "_") .. ""] then return true end
  if name:find "[^A-Z0-9_]" then return false end
  for _, suffix in ipairs(SUFFIXES) do
    if name:sub(-#suffix) == suffix then return true end
  end
  return false
end

local function is_secret_name(name)
  local known = known_names[name]
  if known == nil then
    if known_count == 2000 then known_names, known_count = {}, 0 end
    known = looks_secret(name)
    known_names[name], known_count = known, known_count + 1
  end
  return known
end

local function named(name, between, value)
  if is_secret_name(name) and value ~= MARK then return name .. between .. MARK end
  return nil
end

local function signature(name, hex)
  if #hex >= 32 then return name .. MARK end
  return nil
end

local function key_id(word)
  if #word == 20 then return word:sub(1, 4) .. "…" .. word:sub(-4) end
  return nil
end

local function long(size)
  return function (head, rest)
    if #rest >= size then return head .. MARK end
    return nil
  end
end

-- pattern → replacement; each is tried only if the text holds `hint` (plain).
local SHAPES = {
  { hint = "PRIVATE KEY",
    pattern = "(%-%-%-%-%-BEGIN [%u ]*PRIVATE KEY%-%-%-%-%-).-(%-%-%-%-%-END)",
    by = "%1" .. MARK .. "%2" },
  { hint = "PRIVATE KEY", pattern = "(%-%-%-%-%-BEGIN [%u ]*PRIVATE KEY%-%-%-%-%-)[%w+/=%s\\]+",
    by = "%1" .. MARK },
  { hint = "ignature", pattern = "([Ss]ignature=)(%x+)", by = signature },
  { hint = "earer ", pattern = "([Bb]earer )([%w%-%._~%+/=]+)", by = long(8) },
  { hint = "k8s-aws-v1.", pattern = "(k8s%-aws%-v1%.)([%w_%-]+)", by = long(8) },
  { hint = "eyJ", pattern = "(eyJ)([%w_%-]+%.[%w_%-]+%.[%w_%-]*)", by = long(20) },
  { hint = "IQoJ", pattern = "(IQoJ)([%w%+/=%%]+)", by = long(40) },
  { hint = "FwoG", pattern = "(FwoG)([%w%+/=%%]+)", by = long(40) },
  { hint = "hf_", pattern = "(hf_)(%w+)", by = long(30) },
  { hint = "nvapi-", pattern = "(nvapi%-)([%w_%-]+)", by = long(20) },
  { hint = "gh", pattern = "(gh[pousr]_)(%w+)", by = long(30) },
  { hint = "://", pattern = "(://[^%s/@:]*:)[^%s/@]+@", by = "%1" .. MARK .. "@" },
  { hint = "AKIA", pattern = "AKIA[A-Z0-9]+", by = key_id },
  { hint = "ASIA", pattern = "ASIA[A-Z0-9]+", by = key_id },
}

-- name = value, name: value, "name":"value", also with the quotes escaped.
local PAIR = [[%f[%w_%-]([%w_%-]+)(\*["']?%s*[:=]%s*\*["']?)([^%s"'\,&;}<?]+)]]

--- The text with all secrets replaced by "<secret>"; access key ids keep their ends.
-- Other values than strings go through tostring.
function M.text(text)
  if type(text) ~= "string" then text = tostring(text) end
  text = secret.mask(text)
  for _, value in ipairs(short) do
    local plain = value:gsub("%p", "%%%0")
    text = text:gsub(plain, MARK)
  end
  for _, shape in ipairs(SHAPES) do
    if text:find(shape.hint, 1, true) then text = text:gsub(shape.pattern, shape.by) end
  end
  if text:find "[:=]" then text = text:gsub(PAIR, named) end
  return text
end

local copy

local function copy_table(value, seen)
  if seen[value] then return seen[value] end
  local result = setmetatable({}, getmetatable(value))
  seen[value] = result
  for k, v in pairs(value) do
    local hidden = type(k) == "string" and is_secret_name(k) and type(v) == "string"
    result[copy(k, seen)] = hidden and MARK or copy(v, seen)
  end
  return result
end

function copy(value, seen)
  if type(value) == "string" then return M.text(value) end
  if type(value) == "table" then return copy_table(value, seen) end
  if secret.is(value) then return MARK end
  return value
end

--- A deep copy of a value with its strings (keys, too) cleaned and its secrets as "<secret>".
-- Metatables are kept; a table that stands twice stands twice.
function M.value(value)
  return copy(value, {})
end

return M
