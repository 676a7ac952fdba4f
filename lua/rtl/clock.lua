--- Time: a monotonic clock for waits, UTC for dates and signatures.
-- One of the four seams that a simulated world replaces (rtl.clock, rtl.entropy, rtl.process,
-- rtl.wire).

local native = require "rtl.native.clock"

local M = {}

local impl = native
local skew = 0

--- Replaces the clock; returns the former one. `new`: { mono = fn → seconds, utc = fn → unix
-- seconds, advance = fn(mono seconds) or nil }. A clock with `advance` is virtual: the scheduler
-- moves it to the next timer when nobody can run.
function M.use(new)
  local former = impl
  impl = new
  return former
end

--- Seconds (float) of a clock that is never set back; its zero means nothing.
function M.mono()
  return impl.mono()
end

--- Seconds (float) since 1970, UTC, corrected by M.correct.
function M.utc()
  return impl.utc() + skew
end

--- Tells by how many seconds the machine's clock is behind (AWS answers say so): added to M.utc
-- from now on. Returns the former correction.
function M.correct(seconds)
  local former = skew
  skew = seconds
  return former
end

--- The correction in seconds that holds now.
function M.correction()
  return skew
end

--- Moves a virtual clock to `mono` seconds. Returns false (and does nothing) for a real one.
function M.advance(mono)
  if not impl.advance then return false end
  impl.advance(mono)
  return true
end

--- Whether time passes only by M.advance.
function M.is_virtual()
  return impl.advance ~= nil
end

-- Days since 1970-01-01 of a civil date and back, for the proleptic Gregorian calendar
-- (March-based years, so that the leap day is the last of its year).
local function days_of(year, month, day)
  if month <= 2 then year = year - 1 end
  local era = year // 400
  local of_era = year - era * 400
  local of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
  return era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468
end

local function date_of(days)
  days = days + 719468
  local era = days // 146097
  local of_era = days - era * 146097
  local year = (of_era - of_era // 1460 + of_era // 36524 - of_era // 146096) // 365
  local of_year = of_era - (365 * year + year // 4 - year // 100)
  local m = (5 * of_year + 2) // 153
  local month = (m + 2) % 12 + 1
  return year + era * 400 + (month <= 2 and 1 or 0), month, of_year - (153 * m + 2) // 5 + 1
end

local function format(pattern, t)
  t = math.floor(t)
  local year, month, day = date_of(t // 86400)
  local s = t % 86400
  return pattern:format(year, month, day, s // 3600, s // 60 % 60, s % 60)
end

--- Unix seconds as "2026-12-01T10:00:00Z" (fractions are cut).
function M.iso(t)
  return format("%04d-%02d-%02dT%02d:%02d:%02dZ", t)
end

-- The last second that was asked for: many calls are signed in one.
local amz_second, amz_text

--- Unix seconds as "20261201T100000Z", the form of AWS signatures.
function M.amz(t)
  t = math.floor(t)
  if t ~= amz_second then
    amz_second, amz_text = t, format("%04d%02d%02dT%02d%02d%02dZ", t)
  end
  return amz_text
end

local PATTERN = "^(%d%d%d%d)%-?(%d%d)%-?(%d%d)[Tt ](%d%d):?(%d%d):?(%d%d)(%.?%d*)(.*)$"

local function offset_of(zone)
  if zone == "Z" or zone == "z" then return 0 end
  local sign, hours, minutes = zone:match("^([+-])(%d%d):?(%d%d)$")
  if not sign then return nil end
  return (sign == "-" and -1 or 1) * (tonumber(hours) * 3600 + tonumber(minutes) * 60)
end

--- Unix seconds of an RFC 3339 date ("2026-12-01T10:00:00Z", fractions, "+02:00", the AWS form
-- without dashes); nil when the text is none. An integer when there is no fraction.
function M.parse_iso(text)
  local year, month, day, hour, minute, second, fraction, zone = tostring(text):match(PATTERN)
  local offset = year and offset_of(zone)
  if not offset or (fraction ~= "" and not fraction:match("^%.%d+$")) then return nil end
  year, month, day = math.tointeger(year), math.tointeger(month), math.tointeger(day)
  hour, minute, second = math.tointeger(hour), math.tointeger(minute), math.tointeger(second)
  if month < 1 or month > 12 or hour > 23 or minute > 59 or second > 60 then return nil end
  local days = days_of(year, month, day)
  if select(3, date_of(days)) ~= day then return nil end -- the 31st of April
  local t = days * 86400 + hour * 3600 + minute * 60 + second - offset
  return fraction == "" and t or t + tonumber("0" .. fraction)
end

return M
