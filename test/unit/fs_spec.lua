local err = require "rtl.err"
local fs = require "rtl.fs"
local process = require "rtl.process"

local EXE = assert(fs.readlink "/proc/self/exe")

describe("fs", function ()
  local dir

  before_each(function () dir = assert(fs.temp_dir("fs-spec")) end)
  after_each(function () assert(fs.remove_tree(dir)) end)

  local function path(...) return fs.join(dir, ...) end

  local function refused(code, value, e)
    assert.is_nil(value)
    assert.is_true(err.has_code(e, code), tostring(e))
    return e
  end

  it("writes and reads every byte", function ()
    local bytes = "\0\r\n\xff" .. ("x"):rep(300000)
    assert.is_true(fs.write(path "f", bytes))
    assert.is_true(fs.read(path "f") == bytes)
    assert.is_true(fs.write(path "f", ""))
    assert.equal("", fs.read(path "f"))
  end)

  it("is refused a folder where the system takes none, at once", function ()
    refused("RTL-FS-001", fs.mkdirs "/proc/rtl/folder")
    refused("RTL-FS-001", fs.mkdirs "")
  end)

  it("sets permissions, and leaves no other file behind", function ()
    assert(fs.write(path "f", "x", 384))
    assert.equal(384, fs.stat(path "f").mode)
    assert.same({ "f" }, fs.list(dir))
  end)

  it("replaces a link by a file, and does not write through it", function ()
    assert(fs.write(path "target", "old"))
    assert(process.run { argv = { "ln", "-s", "target", path "link" } })
    assert(fs.write(path "link", "new"))
    assert.equal("old", fs.read(path "target"))
    assert.equal("file", fs.stat(path "link", false).type)
  end)

  it("leaves the old file when it can't write the new one", function ()
    assert(fs.mkdirs(path "d"))
    assert(fs.write(path "d/inside", "x"))
    assert.is_nil(fs.write(path "d", "bytes")) -- a folder is in the way
    assert.equal("x", fs.read(path "d/inside"))
    assert.same({ "d" }, fs.list(dir))
  end)

  it("appends", function ()
    local h <close> = assert(fs.append(path "log"))
    assert.is_true(h:append("1\n"))
    assert.is_true(h:append("2\n"))
    assert.equal("1\n2\n", fs.read(path "log"))
    local again <close> = assert(fs.append(path "log"))
    again:append("3\n")
    assert.equal("1\n2\n3\n", fs.read(path "log"))
    assert.equal(384, fs.stat(path "log").mode)
    h:close()
    h:close()
    assert.error_matches(function () h:append("x") end, "closed")
  end)

  it("cuts a half-written append off when the disk is full", function ()
    -- A file size limit is the disk here: the second append does not fit.
    local script = ([[
      local fs = require "rtl.fs"
      local h <close> = assert(fs.append(%q))
      assert(h:append(("a"):rep(1000)))
      local ok, e = h:append(("b"):rep(1000))
      print(ok, e.errno)
    ]]):format(path "log")
    local shell = 'trap "" XFSZ; ulimit -f 3; exec "$0" -e "$1"'
    local r = assert(process.run { argv = { "sh", "-c", shell, EXE, script } })
    assert.equal("nil\tEFBIG\n", r.stdout, r.stderr)
    assert.equal(("a"):rep(1000), fs.read(path "log"))
  end)

  it("locks, naming the holder, until closed", function ()
    local lock = assert(fs.lock(path "lock"))
    local script = "local _, e = require 'rtl.fs'.lock(%q) print(e.code, e.holder)"
    script = script:format(path "lock")
    local r = assert(process.run { argv = { EXE, "-e", script } })
    local wanted = "^RTL%-FS%-002\tprocess " .. process.pid() .. " on %S+ since %d+%-%d%d%-%d%dT"
    assert.matches(wanted, r.stdout)
    lock:close()
    lock:close()
    local again <close> = assert(fs.lock(path "lock"))
    assert.is_userdata(again)
  end)

  it("unlocks when the holder is killed", function ()
    local script = ("require 'rtl.fs'.lock(%q) os.execute('kill -9 $PPID')"):format(path "lock")
    assert.equal(9, assert(process.run { argv = { EXE, "-e", script } }).signal)
    local lock <close> = assert(fs.lock(path "lock"))
    assert.is_userdata(lock)
  end)

  it("names what is wrong", function ()
    refused("RTL-FS-001", fs.read(path "none"))
    refused("RTL-FS-001", fs.write(path "none/f", "x"))
    refused("RTL-FS-001", fs.append(path "none/f"))
    refused("RTL-FS-001", fs.lock(path "none/f"))
    refused("RTL-FS-001", fs.list(path "none"))
    refused("RTL-FS-001", fs.stat(path "none"))
    refused("RTL-FS-001", fs.rename(path "none", path "f"))
    refused("RTL-FS-001", fs.chmod(path "none", 384))
    refused("RTL-FS-005", fs.read(dir))
    assert(fs.write(path "f", "x"))
    refused("RTL-FS-001", fs.read(path "f/g"))
    local e = refused("RTL-FS-001", fs.read(path "none"))
    assert.equal("ENOENT", e.errno)
    assert.equal("read " .. path "none" .. ": No such file or directory (RTL-FS-001)", tostring(e))
  end)

  it("says when the disk is full", function ()
    if not fs.exists("/dev/full") then return pending("no /dev/full here") end
    local h <close> = assert(fs.append("/dev/full"))
    refused("RTL-FS-004", h:append("x"))
  end)

  it("refuses a path with a NUL", function ()
    assert.error_matches(function () fs.read("a\0b") end, "NUL inside a path")
    assert.error_matches(function () fs.write("a\0b", "x") end, "NUL inside a path")
  end)

  it("makes folders, and finds them made", function ()
    assert.is_true(fs.mkdirs(path "a/b/c", 448))
    assert.is_true(fs.mkdirs(path "a/b/c"))
    assert.equal("directory", fs.stat(path "a/b/c").type)
    assert.equal(448, fs.stat(path "a").mode)
    assert(fs.write(path "f", "x"))
    assert.is_nil(fs.mkdirs(path "f"))
    assert.is_nil(fs.mkdirs(path "f/g"))
  end)

  it("lists in order", function ()
    for _, name in ipairs { "b", "a", "B", "é", ".hidden" } do assert(fs.write(path(name), "")) end
    assert.same({ ".hidden", "B", "a", "b", "é" }, fs.list(dir))
  end)

  it("removes files, folders and trees; never through a link", function ()
    assert(fs.mkdirs(path "tree/x/y"))
    assert(fs.mkdirs(path "kept"))
    assert(fs.write(path "kept/f", "x"))
    assert(process.run { argv = { "ln", "-s", path "kept", path "tree/x/link" } })
    assert.is_true(fs.remove_tree(path "tree"))
    assert.is_false(fs.exists(path "tree"))
    assert.equal("x", fs.read(path "kept/f"))
    assert.is_nil(fs.remove(path "kept"))
    assert.is_true(fs.remove(path "none"))
    assert.is_true(fs.remove_tree(path "none"))
  end)

  it("renames over what is there", function ()
    assert(fs.write(path "a", "new"))
    assert(fs.write(path "b", "old"))
    assert.is_true(fs.rename(path "a", path "b"))
    assert.equal("new", fs.read(path "b"))
    assert.is_false(fs.exists(path "a"))
  end)

  it("tells kinds apart", function ()
    assert(process.run { argv = { "ln", "-s", "nowhere", path "dangling" } })
    assert.equal("nowhere", fs.readlink(path "dangling"))
    refused("RTL-FS-005", fs.readlink(dir))
    assert.equal("link", fs.stat(path "dangling", false).type)
    assert.is_false(fs.exists(path "dangling"))
    assert.equal("other", fs.stat("/dev/null").type)
    assert(fs.write(path "f", "12345"))
    local info = fs.stat(path "f")
    assert.equal("file", info.type)
    assert.equal(5, info.size)
    assert.is_true(math.abs(info.mtime - os.time()) < 60)
  end)

  it("works on paths as texts", function ()
    local rows = {
      -- path, dirname, basename
      { "/a/b", "/a", "b" }, { "/a", "/", "a" }, { "/", "/", "" }, { "a", ".", "a" },
      { "a/", ".", "a" }, { "a/b/", "a", "b" }, { "a//b", "a", "b" }, { "//a", "/", "a" },
    }
    for _, row in ipairs(rows) do
      assert.equal(row[2], fs.dirname(row[1]), row[1])
      assert.equal(row[3], fs.basename(row[1]), row[1])
    end
    assert.equal("a/b/c", fs.join("a", "b/", "c"))
    assert.equal("/b", fs.join("a", "/b"))
    assert.equal("", fs.join())
  end)
end)
