--- A shelf of resources of one kind: by id, in the order in which they came.

local M = {}

local Shelf = {}
Shelf.__index = Shelf

--- An empty shelf. One with a `world` remembers when items came and which have left: came (id →
-- time), left (array of { item, from, to }).
function M.new(world)
  return setmetatable({ by_id = {}, order = {}, world = world, came = {}, left = {} }, Shelf)
end

--- Puts an item on the shelf under an id.
function Shelf:add(id, item)
  self.by_id[id] = item
  self.order[#self.order + 1] = id
  if self.world then self.came[id] = self.world:now() end
  return item
end

--- The item with an id, or nil.
function Shelf:get(id)
  return self.by_id[id or false]
end

--- Takes an item off the shelf.
function Shelf:remove(id)
  if self.world and self.by_id[id] then
    self.left[#self.left + 1] = { item = self.by_id[id], from = self.came[id],
                                  to = self.world:now() }
  end
  self.by_id[id] = nil
  for i, have in ipairs(self.order) do
    if have == id then
      table.remove(self.order, i)
      return
    end
  end
end

--- All items, or those that pass `test`, as an array in order.
function Shelf:all(test)
  local list = {}
  for _, id in ipairs(self.order) do
    local item = self.by_id[id]
    if not test or test(item) then list[#list + 1] = item end
  end
  return list
end

--- The first item that passes `test`, or nil.
function Shelf:first(test)
  for _, id in ipairs(self.order) do
    if test(self.by_id[id]) then return self.by_id[id] end
  end
  return nil
end

return M
