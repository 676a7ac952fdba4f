--- Eventual consistency: for how long what was just made is not found.

local weather = require "rtl.rehearse.weather"

local M = {}

local function too_young(shelf, id, kind)
  local world = shelf.world
  local draw = world and world.sky[kind]
  local item = draw and shelf.by_id[id]
  if not item or item.native or world:now() - shelf.came[id] >= draw.seconds then return false end
  return weather.hits_thing(world, kind, id) ~= nil
end

--- Whether a thing on a shelf is not found by its id yet.
function M.by_id(shelf, id)
  return too_young(shelf, id, "late-ids")
end

--- Whether it is not found by its tags yet.
function M.by_tags(shelf, id)
  return too_young(shelf, id, "late-tags") or too_young(shelf, id, "late-ids")
end

return M
