--- Which proxy a setting or the environment asks for.
-- HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY, in small letters too, which win. Loopback and
-- link-local addresses (the instance's own metadata service) never go through one.

local M = {}

local given

--- Makes `url` the proxy for everything instead of the environment's; nil: the environment's again.
-- What NO_PROXY covers still goes through none. Returns the former one.
function M.use(url)
  local former = given
  given = url
  return former
end

local function octets(host)
  local a, b, c, d = host:match("^(%d+)%.(%d+)%.(%d+)%.(%d+)$")
  if not a then return nil end
  local address = 0
  for _, part in ipairs { a, b, c, d } do
    if tonumber(part) > 255 then return nil end
    address = address << 8 | tonumber(part)
  end
  return address
end

local function in_block(host, block)
  local base, bits = block:match("^([%d.]+)/(%d+)$")
  local address, network = octets(host), base and octets(base)
  if not address or not network or tonumber(bits) > 32 then return false end
  local shift = 32 - tonumber(bits)
  return address >> shift == network >> shift
end

local function is_loopback(host)
  return host == "localhost" or host:match("%.localhost$") or host == "::1"
    or host:match("^fe[89ab]%x:") or host:match("^fd00:ec2:")
    or in_block(host, "127.0.0.0/8") or in_block(host, "169.254.0.0/16")
end

-- Most requests go to the host of the one before.
local last = {}

-- The host without brackets and the dot at its end, in small letters, and whether it is near.
local function place_of(host)
  if last.host ~= host then
    local name = host:lower():gsub("^%[(.*)%]$", "%1"):gsub("%.$", "")
    last = { host = host, name = name, near = is_loopback(name) }
  end
  return last.name, last.near
end

-- One entry of NO_PROXY: a name covers the names below it; an address or block covers itself.
local function covers(entry, host, port)
  local name, wanted = entry:match("^(.-):(%d+)$")
  if name and (not name:find(":", 1, true) or name:find("^%[.*%]$")) then
    if tonumber(wanted) ~= port then return false end
    entry = name
  end
  entry = entry:gsub("^%*", ""):gsub("^%.", ""):gsub("^%[(.*)%]$", "%1"):gsub("%.$", ""):lower()
  return host == entry or in_block(host, entry)
    or (entry ~= "" and host:sub(-#entry - 1) == "." .. entry)
end

local function excluded(list, host, port)
  for entry in list:gmatch("[^%s,]+") do
    if entry == "*" or covers(entry, host, port) then return true end
  end
  return false
end

local function variable(getenv, small, large)
  local value = getenv(small)
  if not value or value == "" then value = getenv(large) end
  return value ~= "" and value or nil
end

--- The proxy for a connection, or nil. `scheme` is "http" or "https", `host` without brackets,
-- `port` an integer, `getenv(name)` gives a variable's value or nil.
function M.choose(scheme, host, port, getenv)
  local name, near = place_of(host)
  if near then return nil end
  local proxy = given or scheme == "https" and variable(getenv, "https_proxy", "HTTPS_PROXY")
    or scheme == "http" and variable(getenv, "http_proxy", "HTTP_PROXY")
    or variable(getenv, "all_proxy", "ALL_PROXY")
  if not proxy or excluded(variable(getenv, "no_proxy", "NO_PROXY") or "", name, port) then
    return nil
  end
  return proxy
end

return M
