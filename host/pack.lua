-- Packs what the binary carries: `lua5.4 host/pack.lua OUT ROOT… FILE…`
--
-- The format is a run of entries, each "name\0" then "size\0" (decimal) then that many bytes.
-- Files below lua/ are stored as bytecode with their line numbers (it loads eight times faster than
-- text), named by module path ("rtl/err.lua"); all others are stored as they are, under their path.
-- The last entry, "help.txt", is the index of docstrings that `rtl help` reads.

local OUT = arg[1]

local function read(path)
  local f <close> = assert(io.open(path, "rb"))
  return f:read("a")
end

local function files_below(root)
  local list = {}
  local pipe = assert(io.popen("find '" .. root .. "' -type f | LC_ALL=C sort"))
  for path in pipe:lines() do list[#list + 1] = path end
  assert(pipe:close())
  return list
end

-- A docstring is a block of comment lines of which the first begins with '---' (Lua) or a '/***'
-- comment (a binding) and, for Lua, the function that it stands above. One above a local function
-- counts where the function gets into a table under its own name (`M.name = name`).
local function lua_docs(path, text, out)
  local module = path:gsub("^lua/", ""):gsub("%.lua$", ""):gsub("/init$", ""):gsub("/", ".")
  local block, first, locals = {}, true, {}
  for line in (text .. "\n"):gmatch("(.-)\n") do
    local doc = line:match("^%-%-%-%s?(.*)") or (#block > 0 and line:match("^%-%-%s?(.*)"))
    if doc then
      block[#block + 1] = doc
    elseif #block > 0 then
      local signature = line:match("^function%s+([%w_]+[.:][%w_.:]+%b())")
        or line:match("^([%w_]+%.[%w_]+)%s*=")
      local inner = line:match("^local function%s+([%w_]+%b())")
        or line:match("^function%s+([%w_]+%b())")
      if inner then
        locals[inner:match("^[%w_]+")] = { name = module .. "." .. inner, lines = block }
      elseif signature then
        local name = signature:gsub("^[%w_]+", module, 1)
        out[#out + 1] = { name = name, lines = block }
      elseif first then
        out[#out + 1] = { name = module, lines = block }
      end
      block, first = {}, false
    elseif line:match("%S") then
      first = false
      local key, value = line:match("^%s*([%w_.]+) = ([%w_]+),?$")
      if key and key:match("[%w_]+$") == value and locals[value] then
        out[#out + 1], locals[value] = locals[value], nil
      end
    end
  end
end

-- Functions of a native module are "rtl.native.NAME.f", methods "rtl.native.NAME.object:method".
local function c_docs(path, text, out)
  local module = path:match("^modules/([^/]+)/")
  for comment in text:gmatch("/%*%*%*%s*(.-)%s*%*/") do
    local lines = {}
    for line in (comment .. "\n"):gmatch("(.-)\n") do
      lines[#lines + 1] = line:gsub("^%s*%*%s?", "")
    end
    local name = table.remove(lines, 1):gsub("^native%.", "")
    if module then
      local own = name:sub(1, #module + 1) == module .. "."
      name = "rtl.native." .. (own and name or module .. "." .. name)
    end
    out[#out + 1] = { name = name, lines = lines }
  end
end

-- A native module's page is its README.
local function readme(path, text, out)
  local lines = { text:gsub("^# [^\n]*\n+", ""):gsub("%s+$", "") .. "" }
  out[#out + 1] = { name = "rtl.native." .. path:match("^modules/([^/]+)/"), lines = lines }
end

local out = assert(io.open(OUT, "wb"))
local function entry(name, bytes)
  assert(out:write(name, "\0", #bytes, "\0", bytes))
end

local docs = {}
for i = 2, #arg do
  local root = arg[i]
  if root:match("%.c$") then
    c_docs(root, read(root), docs)
  elseif root:match("^modules/[^/]+/README%.md$") then
    readme(root, read(root), docs)
  elseif root:match("%.txt$") then
    entry(root, read(root))
  else
    for _, path in ipairs(files_below(root)) do
      local text = read(path)
      if root == "lua" and path:match("%.lua$") then
        entry(path:sub(#"lua/" + 1), string.dump(assert(load(text, "@" .. path, "t"))))
        lua_docs(path, text, docs)
      elseif root == "lua" then
        entry(path:sub(#"lua/" + 1), text)
      else
        entry(path, text)
        if path:match("%.lua$") then lua_docs(path, text, docs) end
      end
    end
  end
end

table.sort(docs, function (a, b) return a.name < b.name end)
local index = {}
for _, doc in ipairs(docs) do
  local text = table.concat(doc.lines, "\n"):gsub("%s+$", "")
  index[#index + 1] = "\1" .. doc.name .. "\n" .. text .. "\n"
end
entry("help.txt", table.concat(index))
assert(out:close())
