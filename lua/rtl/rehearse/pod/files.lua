--- The files of one container: those that were written into it, and those that its node, Ray and
-- NCCL show there now (made when they are read).

local M = {}

local ZEROS = 8 << 20 -- what is there to read of /dev/zero

local Files = {}
Files.__index = Files

--- Files over `written` (path → text, changed in place), `folders` (path → true) and `shown`
-- (path → text or function () → text).
function M.new(written, folders, shown)
  return setmetatable({ written = written, folders = folders, shown = shown }, Files)
end

--- An absolute path without "." and "..".
function Files.resolve(_, path, cwd)
  if path:sub(1, 1) ~= "/" then path = (cwd or "/") .. "/" .. path end
  local steps = {}
  for step in path:gmatch "[^/]+" do
    if step == ".." then table.remove(steps)
    elseif step ~= "." then steps[#steps + 1] = step end
  end
  return "/" .. table.concat(steps, "/")
end

--- The text of a file, or nil.
function Files:read(path, cwd)
  path = self:resolve(path, cwd)
  if path == "/dev/null" then return "" end
  if path == "/dev/zero" then return ("\0"):rep(ZEROS) end
  local text = self.written[path]
  if text ~= nil then return text end
  local shown = self.shown[path]
  if type(shown) == "function" then return shown() end
  return shown
end

local function parents(path, visit)
  local above = path:match "^(.+)/[^/]*$"
  while above do
    visit(above)
    above = above:match "^(.+)/[^/]*$"
  end
end

--- Writes a file: true, or nil and a reason.
function Files:write(path, text, cwd)
  path = self:resolve(path, cwd)
  local folder = path:match "^(.*)/[^/]*$"
  if folder ~= "" and not self:is_folder(folder) then return nil, "No such file or directory" end
  if self:is_folder(path) then return nil, "Is a directory" end
  self.written[path] = text
  self.changed = true
  return true
end

--- Makes a folder and those above.
function Files:mkdir(path, cwd)
  path = self:resolve(path, cwd)
  self.folders[path] = true
  parents(path, function (above) self.folders[above] = true end)
  self.changed = true
end

local STANDARD = { ["/"] = true, ["/tmp"] = true, ["/root"] = true, ["/workspace"] = true,
                   ["/dev"] = true, ["/dev/shm"] = true, ["/etc"] = true, ["/sys"] = true }

--- Whether a path is a folder.
function Files:is_folder(path)
  if STANDARD[path] or self.folders[path] then return true end
  local prefix = path .. "/"
  for _, map in ipairs { self.written, self.shown } do
    for name in next, map do
      if name:sub(1, #prefix) == prefix then return true end
    end
  end
  return false
end

--- Removes a file (with `deep`, a folder): whether something was there.
function Files:remove(path, cwd, deep)
  path = self:resolve(path, cwd)
  local there = self.written[path] ~= nil
  self.written[path] = nil
  if deep then
    local prefix = path .. "/"
    for name in next, self.written do
      if name:sub(1, #prefix) == prefix then self.written[name], there = nil, true end
    end
    for name in next, self.folders do
      if name == path or name:sub(1, #prefix) == prefix then
        self.folders[name], there = nil, true
      end
    end
  end
  self.changed = self.changed or there
  return there
end

--- The names in a folder, sorted; nil if there is none.
function Files:list(path, cwd)
  path = self:resolve(path, cwd)
  if not self:is_folder(path) then return nil end
  local prefix, seen, names = path == "/" and "/" or path .. "/", {}, {}
  for _, map in ipairs { self.written, self.shown, self.folders } do
    for name in next, map do
      local child = name:sub(1, #prefix) == prefix and name:sub(#prefix + 1):match "^[^/]+"
      if child and not seen[child] then
        seen[child] = true
        names[#names + 1] = child
      end
    end
  end
  table.sort(names)
  return names
end

--- The paths that a shell pattern matches, sorted. `pattern_of` makes a Lua pattern of a step.
function Files:glob(text, cwd, pattern_of)
  local absolute = text:sub(1, 1) == "/"
  local found = { absolute and "" or "." }
  for step in text:gmatch "[^/]+" do
    local next_found = {}
    for _, base in ipairs(found) do
      local pattern = "^" .. pattern_of(step) .. "$"
      for _, name in ipairs(self:list(base == "" and "/" or base, cwd) or {}) do
        if name:find(pattern) and (name:sub(1, 1) ~= "." or step:sub(1, 1) == ".") then
          next_found[#next_found + 1] = base == "." and name or base .. "/" .. name
        end
      end
    end
    found = next_found
  end
  table.sort(found)
  return found
end

return M
