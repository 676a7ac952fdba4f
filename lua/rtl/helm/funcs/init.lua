--- The functions that templates may call, by name. A function is { signature, f }: the signature
-- has a letter for each parameter (s string, i int, b bool, m map, a any value) and ends in "*" if
-- the last one repeats; such a function gets one table { n = count, … } with all its arguments,
-- others get them one by one.

local go = require "rtl.helm.go"

local M = {}

local tables = {
  require "rtl.helm.funcs.builtin", require "rtl.helm.funcs.text",
    require "rtl.helm.funcs.collections",
  require "rtl.helm.funcs.numbers", (require "rtl.helm.funcs.data"),
}

local all = {}
for _, functions in ipairs(tables) do
  for name, definition in pairs(functions) do all[name] = definition end
end

-- What helm has besides: results that are random, secret or of the moment, and a few that no chart
-- of this field uses. A chart may name them where nothing comes by; calling one is an error.
local UNSUPPORTED = {}
for name in ([[
  abbrev abbrevboth adler32sum ago b32dec b32enc bcrypt buildCustomCert call camelcase date
  dateInZone dateModify date_in_zone date_modify decryptAES derivePassword duration durationRound
  encryptAES fromToml genCA genCAWithKey genPrivateKey genSelfSignedCert genSelfSignedCertWithKey
  genSignedCert genSignedCertWithKey hello htmlDate htmlDateInZone htpasswd initials js kebabcase
  mustDateModify mustToDate must_date_modify now randAlpha randAlphaNum randAscii randBytes
  randInt randNumeric sha1sum sha512sum shuffle snakecase swapcase toDate toToml toYamlPretty
  unixEpoch urlJoin urlParse uuidv4 wrap wrapWith]]):gmatch("%S+") do
  UNSUPPORTED[name] = true
end

local wanted = { s = "string", i = "int", b = "bool", m = "map" }
local wanted_name = { s = "string", i = "int", b = "bool", m = "map[string]interface {}" }

local function check(name, letter, v)
  if letter == "a" then return end
  if go.kind(v) ~= wanted[letter] then
    local got = go.kind(v) == "nil" and "interface {}" or go.type_name(v)
    go.fail("error calling %s: wrong type for value; expected %s; got %s", name,
      wanted_name[letter], got)
  end
end

local function check_all(name, signature, args)
  local repeats = signature:sub(-1) == "*"
  local letters = repeats and signature:sub(1, -2) or signature
  local least = repeats and #letters - 1 or #letters
  if args.n < least or not repeats and args.n > #letters then
    go.fail("wrong number of args for %s: want %s%d got %d", name, repeats and "at least " or "",
      least, args.n)
  end
  for i = 1, args.n do
    local at = math.min(i, #letters)
    check(name, letters:sub(at, at), args[i])
  end
  return repeats
end

--- Whether there is a function of this name (the engine's own include and tpl not counted).
function M.has(name) return all[name] ~= nil or UNSUPPORTED[name] ~= nil end

--- Calls function `name` with `args` = { n = count, … }. Raises what Go's template engine would.
function M.call(name, args)
  local definition = all[name]
  if not definition then go.fail("function %q is not supported", name) end
  if check_all(name, definition[1], args) then return definition[2](args) end
  return definition[2](table.unpack(args, 1, args.n))
end

return M
