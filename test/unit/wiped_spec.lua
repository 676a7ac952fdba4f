-- Looks into the memory of a process for secrets that it made and gave up.
local function found(way)
  local rtl = (os.getenv "RTL_BUILD" or "build") .. "/rtl"
  local pipe <close> = assert(io.popen(rtl .. " test/support/wiped.lua " .. way))
  return assert(tonumber(pipe:read "a"))
end

describe("memory after a secret", function ()
  for _, way in ipairs { "json", "xml", "yaml", "encodings", "sigv4" } do
    it("holds none of its bytes: " .. way, function () assert.equal(0, found(way)) end)
  end

  it("holds them where they became a Lua string", function ()
    assert.is_true(found "revealed" > 0)
  end)
end)
