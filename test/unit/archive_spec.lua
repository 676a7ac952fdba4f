local archive = require "rtl.native.archive"
local err = require "rtl.err"
local secret = require "rtl.native.secret"

local function packed(add, options)
  local w <close> = archive.writer(options)
  add(w)
  return w:finish():take()
end

local function listed(data, options)
  options = options or {}
  options.data = data
  local r <close>, e = archive.reader(options)
  if not r then error(e) end
  local list = {}
  for entry in r:entries() do
    entry.bytes = r:read()
    list[#list + 1] = entry
  end
  return list
end

local function refusal(data, options)
  local ok, e = pcall(listed, data, options)
  assert.is_false(ok)
  assert.is_true(err.is(e), tostring(e))
  return e
end

-- A ustar header, made by hand: what a writer that means harm would make.
local function header(fields)
  local function octal(n, size) return ("%0" .. size - 1 .. "o\0"):format(n) end
  local head = fields.name .. ("\0"):rep(100 - #fields.name) .. octal(420, 8) .. octal(0, 8)
    .. octal(0, 8)
    .. octal(fields.size or 0, 12) .. octal(0, 12)
  local target = fields.target or ""
  local tail = (fields.type or "0") .. target .. ("\0"):rep(100 - #target) .. "ustar\00000"
  tail = tail .. ("\0"):rep(512 - #head - 8 - #tail)
  local sum = 8 * 32
  for i = 1, #head do sum = sum + head:byte(i) end
  for i = 1, #tail do sum = sum + tail:byte(i) end
  return head .. ("%06o\0 "):format(sum) .. tail
end

local END = ("\0"):rep(1024)

describe("gzip", function ()
  it("gives back what went in", function ()
    for _, text in ipairs { "", "x", ("hello "):rep(100000), "\0\1\2" } do
      assert.equal(text, archive.gunzip(archive.gzip(text)))
      assert.equal(text, archive.gunzip(archive.gzip(text, { level = 0 })))
    end
    assert.equal(archive.gzip "same", archive.gzip "same")
    assert.equal("x", archive.gunzip(archive.gzip(secret.new "x")))
  end)

  it("reads several members and ignores zeros behind them", function ()
    assert.equal("ab", archive.gunzip(archive.gzip "a" .. archive.gzip "b"))
    assert.equal("a", archive.gunzip(archive.gzip "a" .. ("\0"):rep(512)))
  end)

  it("refuses what is cut short, altered or no gzip", function ()
    local whole = archive.gzip(("text"):rep(100))
    for i = 0, #whole - 1 do
      local text, e = archive.gunzip(whole:sub(1, i))
      assert.is_nil(text)
      assert.is_true(err.has_code(e, "RTL-DATA-005"))
    end
    for i = #whole - 7, #whole do
      local byte = string.char(whole:byte(i) ~ 1)
      assert.is_nil((archive.gunzip(whole:sub(1, i - 1) .. byte .. whole:sub(i + 1))))
    end
    assert.is_nil((archive.gunzip "plain text"))
  end)

  it("refuses bombs", function ()
    local bomb = archive.gzip(("\0"):rep(8 << 20))
    local text, e = archive.gunzip(bomb)
    assert.is_nil(text)
    assert.is_true(err.has_code(e, "RTL-DATA-007"))
    assert.matches("max_ratio = 200", e.message)
    assert.equal(8 << 20, #archive.gunzip(bomb, { max_ratio = 2000 }))
    text, e = archive.gunzip(bomb, { max_ratio = 2000, max_bytes = 1000 })
    assert.is_nil(text)
    assert.matches("max_bytes = 1000", e.message)
  end)
end)

describe("tar", function ()
  it("writes and reads files, folders and links, with long and foreign names", function ()
    local long = ("folder/"):rep(40) .. "file"
    for _, options in ipairs { {}, { gzip = true } } do
      local data = packed(function (w)
        w:add("a.txt", "hello", { mode = 493, mtime = 1700000000 })
        w:add(long, ""):add("größe/日本.txt", ("x"):rep(100000))
        w:entry { name = "d/", type = "directory" }
        w:entry { name = "d/l", type = "symlink", target = "../a.txt" }
        w:entry { name = "h", type = "hardlink", target = "a.txt" }
        w:entry { name = "parts", size = 6 }:write "abc":write(secret.new "def")
      end, options)
      local list = listed(data)
      assert.same({ name = "a.txt", bytes = "hello", mode = 493, mtime = 1700000000, size = 5,
        type = "file" },
        list[1])
      assert.equal(long, list[2].name)
      assert.equal("größe/日本.txt", list[3].name)
      assert.equal(("x"):rep(100000), list[3].bytes)
      assert.same({ "d/", "directory", 493 }, { list[4].name, list[4].type, list[4].mode })
      assert.same({ "symlink", "../a.txt" }, { list[5].type, list[5].target })
      assert.same({ "hardlink", "a.txt" }, { list[6].type, list[6].target })
      assert.equal("abcdef", list[7].bytes)
      assert.equal(7, #list)
    end
  end)

  it("gives its bytes in pieces", function ()
    local w <close> = archive.writer {}
    local out = {}
    for i = 1, 20 do
      w:entry { name = "f" .. i, size = 20000 }
      for _ = 1, 4 do w:write(("x"):rep(5000)) end
      out[#out + 1] = w:take()
    end
    out[#out + 1] = w:finish():take()
    assert.is_true(#out[1] > 0)
    assert.equal("", w:take())
    assert.equal(20, #listed(table.concat(out)))
  end)

  it("reads from a file, and an entry in pieces", function ()
    local path = os.tmpname()
    local file <close> = assert(io.open(path, "wb"))
    file:write(packed(function (w) w:add("a", "0123456789"):add("b", "x") end, {
      gzip = true })):close()
    local r <close> = assert(archive.reader { path = path })
    os.remove(path)
    assert.equal("a", r:next().name)
    assert.same({ "012", "345", "6789" }, { r:read(3), r:read(3), r:read() })
    assert.is_nil(r:read())
    assert.equal("b", r:next().name)
    assert.is_nil(r:next())
    local reader, e = archive.reader { path = "/nonexistent/x.tar" }
    assert.is_nil(reader)
    assert.matches("No such file", e.message)
  end)

  it("skips what is not read", function ()
    local data = packed(function (w) w:add("a", ("x"):rep(70000)):add("b", "y") end)
    local r <close> = assert(archive.reader { data = data })
    r:next()
    assert.equal("b", r:next().name)
    assert.equal("y", r:read())
  end)

  for why, fields in pairs {
    ["has an absolute name"] = { name = "/etc/passwd" },
    ["has '..' in its name"] = { name = "a/../../b" },
    ["has '..' in its name "] = { name = ".." },
    ["has an empty name"] = { name = "" , type = "1", target = "a" },
    ["is a device, a pipe or a socket"] = { name = "dev", type = "3" },
    ["is a device, a pipe or a socket "] = { name = "dev", type = "4" },
    ["is a device, a pipe or a socket  "] = { name = "fifo", type = "6" },
    ["links to an absolute name"] = { name = "l", type = "2", target = "/etc" },
    ["links out of the tree"] = { name = "l", type = "2", target = "../x" },
    ["links out of the tree "] = { name = "a/l", type = "2", target = ".././../x" },
    ["links out of the tree  "] = { name = "h", type = "1", target = "../x" },
    ["links out of the tree   "] = { name = "h", type = "1", target = "/etc/passwd" },
    ["links through '..' behind a name"] = { name = "a/l", type = "2", target = "b/../../x" },
  } do
    it("refuses an entry that " .. why, function ()
      local e = refusal(header(fields) .. END)
      assert.is_true(err.has_code(e, "RTL-DATA-006"), tostring(e))
      assert.matches((why:gsub("%s+$", "")), e.message, 1, true)
    end)
  end

  it("refuses entries behind a link of the archive", function ()
    for _, name in ipairs { "l", "./l", "l/" } do
      local e = refusal(header { name = name, type = "2", target = "d" } .. header { name = "l/x" }
        .. END)
      assert.matches("lies behind a symbolic link", e.message, 1, true)
    end
    local e = refusal(header { name = "l", type = "2", target = "." }
      .. header { name = "h", type = "1", target = "l/x" } .. END)
    assert.matches("lies behind a symbolic link", e.message, 1, true)
    assert.equal(2, #listed(header { name = "l", type = "2", target = "d" } .. header {
      name = "lx" } .. END))
  end)

  it("accepts links that stay in the tree", function ()
    for name, target in pairs { ["a/b/l"] = "../../x", ["a/l"] = "./../x/y", l = "x/y",
      ["a/m"] = "..", n = "." } do
      assert.equal(target, listed(header { name = name, type = "2", target = target }
        .. END)[1].target)
    end
  end)

  it("takes the set-id bits away", function ()
    assert.equal(511, listed(packed(function (w) w:add("a", "", { mode = 4095 }) end))[1].mode)
  end)

  it("refuses bombs", function ()
    local e = refusal(header { name = "huge", size = (1 << 30) } .. END)
    assert.is_true(err.has_code(e, "RTL-DATA-007"))
    assert.matches("larger than max_bytes", e.message)
    local zeros = packed(function (w) w:add("z", ("\0"):rep(8 << 20)) end, { gzip = true })
    assert.matches("max_ratio", refusal(zeros).message)
    assert.equal(1, #listed(zeros, { max_ratio = 2000 }))
    local many = {}
    for i = 1, 20 do many[i] = header { name = "f" .. i } end
    assert.matches("max_entries", refusal(table.concat(many) .. END, { max_entries = 19 }).message)
    assert.equal(20, #listed(table.concat(many) .. END, { max_entries = 20 }))
  end)

  it("refuses what is no archive, cut short or altered", function ()
    assert.is_true(err.has_code(refusal "not an archive at all, but long enough to look at",
      "RTL-DATA-005"))
    local whole = packed(function (w) w:add("a", ("text"):rep(500)) end, { gzip = true })
    for i = 1, #whole - 1, 7 do
      assert.is_true(err.has_code(refusal(whole:sub(1, i)), "RTL-DATA-005"))
    end
    local altered = whole:sub(1, -8) .. string.char(whole:byte(-7) ~ 1) .. whole:sub(-6)
    assert.is_true(err.has_code(refusal(altered), "RTL-DATA-005"))
    assert.same({}, listed(END))
  end)

  it("raises on misuse, naming the argument", function ()
    local w <close> = archive.writer()
    assert.error_matches(function () w:add("../x", "") end, "has '..' in its name")
    assert.error_matches(function () w:add("/x", "") end, "has an absolute name")
    assert.error_matches(function () w:entry { name = "x", type = "device" } end, "field 'type'")
    assert.error_matches(function () w:entry {} end, "field 'name': string expected")
    assert.error_matches(function () w:entry { name = "l", type = "symlink" } end, "field 'target'")
    w:entry { name = "x", size = 3 }
    assert.error_matches(function () w:write "1234" end, "more bytes than the entry's size")
    w:write "1"
    assert.error_matches(function () w:finish() end, "lacks 2 bytes")
    assert.error_matches(function () archive.reader {} end, "field 'data'")
    assert.error_matches(function () archive.reader { data = "", max_bytes = -1 } end,
      "field 'max_bytes'")
    assert.error_matches(function () archive.gzip("", { level = 10 }) end, "0 to 9")
    w:close()
    w:close()
    assert.error_matches(function () w:take() end, "writer is closed")
  end)
end)
