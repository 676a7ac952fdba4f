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

-- The civil date of a day since 1970-01-01, in the proleptic Gregorian calendar (March-based years,
-- so that the leap day is the last of its year).
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

--- Unix seconds of an RFC 3339 date ("2026-12-01T10:00:00Z", fractions, "+02:00", the AWS form
-- without dashes); nil when the text is none. An integer when there is no fraction.
function M.parse_iso(text)
  return native.parse_iso(tostring(text))
end

return M
