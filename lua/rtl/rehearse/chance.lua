--- Chance that repeats: numbers and ids that are a function of a seed and of what they are for.
-- Nothing is drawn from a running stream, so that one more draw here shifts no draw there.

local M = {}

local FNV_BASE, FNV_PRIME = 0xcbf29ce484222325, 0x100000001b3

-- splitmix64's finaliser: spreads the bits of a 64-bit integer.
local function mix(x)
  x = (x ~ (x >> 30)) * 0xbf58476d1ce4e5b9
  x = (x ~ (x >> 27)) * 0x94d049bb133111eb
  return x ~ (x >> 31)
end

local unpack = string.unpack

-- Eight bytes at a time; the length stands at the end, so that padding tells nothing.
local function fold(hash, text)
  local whole = #text // 8
  for i = 0, whole - 1 do
    local word = unpack("<i8", text, 8 * i + 1)
    hash = (hash ~ word ~ (word >> 29)) * FNV_PRIME
    hash = hash ~ (hash >> 32)
  end
  local rest = unpack("<i8", text:sub(8 * whole + 1) .. "\0\0\0\0\0\0\0\0")
  return (hash ~ rest ~ (rest >> 29) ~ #text << 56) * FNV_PRIME
end

--- A 64-bit integer that depends on `seed` (integer) and the further words only.
function M.hash(seed, ...)
  local hash = mix(seed + FNV_BASE)
  for i = 1, select("#", ...) do
    hash = mix(fold(hash, tostring((select(i, ...)))) + i)
  end
  return hash
end

--- A float in [0, 1) from `seed` and the further words.
function M.unit(seed, ...)
  return (M.hash(seed, ...) >> 11) * (1.0 / (1 << 53))
end

--- A float in [low, high) from `seed` and the further words.
function M.between(low, high, seed, ...)
  return low + (high - low) * M.unit(seed, ...)
end

--- `digits` lower-case hexadecimal digits from `seed` and the further words.
function M.hex(digits, seed, ...)
  local parts, have, n = {}, 0, 0
  while have < digits do
    n = n + 1
    parts[n] = ("%016x"):format(M.hash(seed, n, ...))
    have = have + 16
  end
  return table.concat(parts):sub(1, digits)
end

local LETTERS = "bcdfghjklmnpqrstvwxz2456789"

--- `count` characters of the alphabet that Kubernetes takes for generated names.
function M.letters(count, seed, ...)
  local out, bits = {}, 0
  for i = 1, count do
    if i % 10 == 1 then bits = M.hash(seed, i, ...) >> 1 end
    local at = bits % #LETTERS + 1
    bits = bits // #LETTERS
    out[i] = LETTERS:sub(at, at)
  end
  return table.concat(out)
end

--- A text in the form of a UUID from `seed` and the further words.
function M.uuid(seed, ...)
  local h = M.hex(32, seed, ...)
  return ("%s-%s-4%s-a%s-%s"):format(h:sub(1, 8), h:sub(9, 12), h:sub(14, 16), h:sub(18, 20),
                                     h:sub(21, 32))
end

--- `count` bytes from `seed` and the further words.
function M.bytes(count, seed, ...)
  local parts, have, n = {}, 0, 0
  while have < count do
    n = n + 1
    parts[n] = string.pack("<i8", M.hash(seed, n, ...))
    have = have + 8
  end
  return table.concat(parts):sub(1, count)
end

return M
