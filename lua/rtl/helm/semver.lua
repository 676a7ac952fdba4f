--- Semantic versions and the constraints of charts (Masterminds/semver): =, !=, <, <=, >, >=, ~, ^,
-- x-ranges, hyphen ranges, comma or space for "and", || for "or".

local M = {}

local function identifiers_ok(text, numeric_zero_ok)
  for part in (text .. "."):gmatch("([^.]*)%.") do
    if not part:match("^[%w-]+$") then return false end
    if not numeric_zero_ok and part:match("^0%d+$") then return false end
  end
  return true
end

--- Parses a version, strict or short ("v1.2" is 1.2.0): { major, minor, patch, pre, build, original
-- } or nil.
function M.parse(text)
  if type(text) ~= "string" then return nil end
  local rest, build = text:match("^([^+]*)%+(.*)$")
  rest = rest or text
  local core, pre = rest:match("^([^-]*)%-(.*)$")
  core = core or rest
  local major, minor, patch = core:match("^v?(%d+)%.?(%d*)%.?(%d*)$")
  if not major or core:match("%.$") then return nil end
  if pre and not identifiers_ok(pre) or build and not identifiers_ok(build, true) then
    return nil
  end
  return { major = math.tointeger(tonumber(major)), minor = math.tointeger(tonumber(minor)) or 0,
    patch = math.tointeger(tonumber(patch)) or 0, pre = pre or "", build = build or "",
      original = text }
end

local function compare_identifier(a, b)
  local number_a, number_b = a:match("^%d+$"), b:match("^%d+$")
  if number_a and number_b then
    number_a, number_b = tonumber(a), tonumber(b)
    return number_a == number_b and 0 or number_a < number_b and -1 or 1
  end
  if number_a then return -1 end
  if number_b then return 1 end
  return a == b and 0 or a < b and -1 or 1
end

local function compare_pre(a, b)
  if a == b then return 0 end
  if a == "" then return 1 end
  if b == "" then return -1 end
  local parts_a, parts_b = {}, {}
  for part in a:gmatch("[^.]+") do parts_a[#parts_a + 1] = part end
  for part in b:gmatch("[^.]+") do parts_b[#parts_b + 1] = part end
  for i = 1, math.max(#parts_a, #parts_b) do
    if not parts_a[i] then return -1 end
    if not parts_b[i] then return 1 end
    local order = compare_identifier(parts_a[i], parts_b[i])
    if order ~= 0 then return order end
  end
  return 0
end

--- -1, 0 or 1 for two parsed versions; build metadata does not count.
function M.compare(a, b)
  for _, field in ipairs { "major", "minor", "patch" } do
    if a[field] ~= b[field] then return a[field] < b[field] and -1 or 1 end
  end
  return compare_pre(a.pre, b.pre)
end

--- The version as text without "v", with build metadata.
function M.text(v)
  return ("%d.%d.%d%s%s"):format(v.major, v.minor, v.patch, v.pre ~= "" and "-" .. v.pre or "",
    v.build ~= "" and "+" .. v.build or "")
end

-- Constraints ---------------------------------------------------------------------------------

local function version(major, minor, patch, pre)
  return { major = major, minor = minor, patch = patch, pre = pre or "", build = "" }
end

local function wildcard(part)
  return part == nil or part == "" or part == "x" or part == "X" or part == "*"
end

-- A constraint's version with wildcards: { major, minor, patch, pre, dirty = how many parts are
-- given }.
local function parse_partial(text)
  local core, pre = text:match("^v?([^-+]*)%-?([^+]*)")
  local major, minor, patch = core:match("^([%dxX*]+)%.?([%dxX*]*)%.?([%dxX*]*)$")
  if not major then return nil end
  local given = wildcard(major) and 0 or wildcard(minor) and 1 or wildcard(patch) and 2 or 3
  local function number(part, at) return given >= at and math.tointeger(tonumber(part)) or 0 end
  if given >= 1 and not tonumber(major) then return nil end
  return { version = version(number(major, 1), number(minor, 2), number(patch, 3), pre),
    given = given,
    pre = pre }
end

-- The first version behind the range that a partial version stands for.
local function after(v, given)
  if given == 0 then return nil end
  if given == 1 then return version(v.major + 1, 0, 0) end
  if given == 2 then return version(v.major, v.minor + 1, 0) end
  return nil
end

local function at_least(v, low) return M.compare(v, low) >= 0 end
local function below(v, high) return high == nil or M.compare(v, high) < 0 end

local function in_partial(v, p)
  if p.given == 3 then return M.compare(v, p.version) == 0 end
  return at_least(v, p.version) and below(v, after(p.version, p.given))
end

local function in_caret(v, p)
  local low = p.version
  if not at_least(v, low) then return false end
  if low.major > 0 or p.given == 1 then return v.major == low.major end
  if p.given == 0 then return true end
  if v.major > 0 then return false end
  if low.minor > 0 or p.given == 2 then return v.minor == low.minor end
  return v.minor == 0 and v.patch == low.patch
end

local function in_tilde(v, p)
  if not at_least(v, p.version) then return false end
  if p.given == 0 then return true end
  if p.given == 1 then return v.major == p.version.major end
  return v.major == p.version.major and v.minor == p.version.minor
end

local tests = {
  [""] = in_partial, ["="] = in_partial, ["^"] = in_caret, ["~"] = in_tilde, ["~>"] = in_tilde,
  ["!="] = function (v, p) return not in_partial(v, p) end,
  [">="] = function (v, p) return at_least(v, p.version) end,
  ["=>"] = function (v, p) return at_least(v, p.version) end,
  ["<"] = function (v, p) return below(v, p.version) end,
  [">"] = function (v, p)
    if p.given == 3 then return M.compare(v, p.version) > 0 end
    local high = after(p.version, p.given)
    return high ~= nil and at_least(v, high)
  end,
  ["<="] = function (v, p)
    if p.given == 3 then return M.compare(v, p.version) <= 0 end
    return below(v, after(p.version, p.given))
  end,
}
tests["=<"] = tests["<="]

local function check(v, operator, text)
  local test, partial = tests[operator], parse_partial(text)
  if not test or not partial then return nil end
  -- A pre-release satisfies only constraints that name one.
  if v.pre ~= "" and partial.pre == "" then return false end
  return test(v, partial)
end

-- "1.2 - 2.3.4" is ">=1.2 <=2.3.4".
local function expand_hyphens(text)
  return (text:gsub("(%S+)%s+%-%s+(%S+)", ">=%1 <=%2"))
end

local function satisfies_all(v, text)
  local rest = expand_hyphens(text):gsub(",", " ")
  local matched, at, any = true, 1, false
  while true do
    local start = rest:find("%S", at)
    if not start then break end
    local operator, partial, stop = rest:match("^([!=<>~^]*)%s*([^%s!=<>~^]+)()", start)
    if not operator then return nil end
    local ok = check(v, operator, partial)
    if ok == nil then return nil end
    matched, at, any = matched and ok, stop, true
  end
  if not any then return check(v, "", "*") end
  return matched
end

--- Whether version text satisfies the constraint text; nil if either can't be parsed.
function M.satisfies(version_text, constraint)
  local v = M.parse(version_text)
  if not v then return nil end
  local any = false
  for part in (constraint .. "||"):gmatch("(.-)||") do
    local ok = satisfies_all(v, part)
    if ok == nil then return nil end
    any = any or ok
  end
  return any
end

return M
