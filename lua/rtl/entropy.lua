--- Randomness: tokens, identifiers, jitter.
-- One of the four seams that a simulated world replaces; nothing else in rtl may be random.

local native = require "rtl.native.entropy"

local M = {}

local impl = native

--- Replaces the source; returns the former one. `new`: { bytes = fn(count) → string }.
function M.use(new)
  local former = impl
  impl = new
  return former
end

--- `count` random bytes.
function M.bytes(count)
  return impl.bytes(count)
end

--- `count` random bytes as 2 * count lower-case hexadecimal digits.
function M.hex(count)
  return (impl.bytes(count):gsub(".", function (c) return ("%02x"):format(c:byte()) end))
end

--- A number in [0, 1) with 53 random bits.
function M.number()
  return (("<I8"):unpack(impl.bytes(8)) >> 11) * 2.0 ^ -53
end

--- A random (version 4) UUID.
function M.uuid()
  local a, b, c, d, e = (">I4I2I2I2I6"):unpack(impl.bytes(16))
  return ("%08x-%04x-%04x-%04x-%012x"):format(a, b, c & 0x0fff | 0x4000, d & 0x3fff | 0x8000, e)
end

return M
