-- Loads every embedded module and prints "FROM TO" for each require that runs meanwhile.
local host = require "rtl.native.host"
local layers = dofile("test/check/layers.lua")
local plain = require

local function caller()
  local source = debug.getinfo(3, "S").source
  return layers.module_of((source:gsub("^@", ""):gsub("^rtl/", "lua/rtl/")))
end

function _G.require(name)
  if name:match("^rtl%.") then io.write(caller(), " ", name, "\n") end
  return plain(name)
end

-- Native modules and the scheduler (this runs in one of its tasks) can't be loaded twice.
local function forget()
  for name in pairs(package.loaded) do
    local keep = name:match("^rtl%.native%.") or name == "rtl.task"
    if name:match("^rtl%.") and not keep then package.loaded[name] = nil end
  end
end

for _, path in ipairs(host.embedded_names("rtl/")) do
  if path:match("%.lua$") then
    forget()
    plain((path:gsub("%.lua$", ""):gsub("/init$", ""):gsub("/", ".")))
  end
end
