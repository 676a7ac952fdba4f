--- Weather that comes at its hour, whatever the run does meanwhile.

local M = {}

local function each_key(world, change)
  for _, keys in pairs(world.keys_of) do change(keys) end
end

local AT = {}

-- The operator's session ends. Who runs rtl again has logged in again.
AT["expired-keys"] = function (world)
  each_key(world, function (keys) keys.expires = world:now() end)
end

--- Puts what has its hour into a new world's queue.
function M.begin(world)
  for _, name in ipairs(require "rtl.rehearse.weather".names()) do
    local draw = world.sky[name]
    if draw and draw.at and AT[name] then
      world:after(draw.at, function ()
        if world.sky[name] then AT[name](world, draw) end
      end)
    end
  end
end

--- A run of rtl begins: its environment has keys that hold.
function M.new_run(world)
  each_key(world, function (keys) keys.expires = nil end)
end

return M
