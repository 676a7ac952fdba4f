--- The weather over a world: which kinds of trouble it has, when they strike, and whom.
--
-- All of it is a function of the world's seed and of what comes by, so that a journal read back and
-- a seed played again meet the same weather. The rest of the world asks in its own words:
-- `world:strikes(kind)` for a thing that comes by, `weather.blows(world, kind)` for a moment.

local chance = require "rtl.rehearse.chance"
local kinds = require "rtl.rehearse.weather.kinds"

local M = {}

-- How probable a kind of usual weight is in a mixed sky: about two and a half kinds a world.
local USUAL = 0.055
local ALWAYS = { 0, 3000 } -- seconds of a world's life between which spells begin

--- The names of all kinds, sorted.
function M.names()
  local list = {}
  for name in pairs(kinds) do list[#list + 1] = name end
  table.sort(list)
  return list
end

local function number(world, name, what, given, usual)
  if type(given) ~= "table" then return given or usual end
  local low, high = given[1], given[2]
  return low + math.floor(chance.unit(world.seed, "weather", name, what) * (high - low + 1))
end

local function spells_of(world, name, row)
  local list, count, short, long = {}, row.spells[1], row.spells[2], row.spells[3]
  local first, last = table.unpack(row.between or ALWAYS)
  for i = 1, count do
    local from = chance.between(first, last, world.seed, "spell", name, i)
    list[i] = { from, from + chance.between(short, long, world.seed, "spell end", name, i) }
  end
  return list
end

-- What the seed makes of a kind's row.
local function draw(world, name)
  local row = kinds[name]
  local it = { name = name, chance = row.chance, times = number(world, name, "times", row.times, 1),
               skip = number(world, name, "skip", row.skip, 0) }
  if row.spells then it.spells = spells_of(world, name, row) end
  if row.at then it.at = chance.between(row.at[1], row.at[2], world.seed, "at", name) end
  for key, list in pairs(row.pick or {}) do
    it[key] = list[1 + math.floor(chance.unit(world.seed, "pick", name, key) * #list)]
  end
  return it
end

local function put(world, name)
  if world.sky[name] then return end
  world.sky[name] = draw(world, name)
  local row = kinds[name]
  for key, value in pairs(row.fields or {}) do world.weather[key] = value end
  if row.fields then world:struck(name) end
  for _, other in ipairs(row.with or {}) do put(world, other) end
end

--- Puts kinds over a world: those of `names`, or (nil) a mix that its seed chooses.
function M.arm(world, names)
  if not names then
    names = {}
    for _, name in ipairs(M.names()) do
      local odds = USUAL * (kinds[name].weight or 1)
      if chance.unit(world.seed, "sky", name) < odds then names[#names + 1] = name end
    end
  end
  for _, name in ipairs(names) do put(world, name) end
end

--- From now on it is calm.
function M.clear(world)
  world.sky, world.weather = {}, {}
  require "rtl.rehearse.weather.events".new_run(world)
end

--- The draw of a kind if it blows at this moment, else nil. Says nothing of whom it hits.
function M.blows(world, name)
  local it = world.sky[name]
  if not it then return nil end
  if not it.spells then return it end
  local now = world:age()
  for _, spell in ipairs(it.spells) do
    if now >= spell[1] and now < spell[2] then return it end
  end
  return nil
end

--- Whether a kind that blows hits the call which is on its way (each in a spell with the kind's
-- chance). Counts it.
function M.hits_call(world, name)
  local it = M.blows(world, name)
  if not it or chance.unit(world.seed, "hit", name, world.runs, world.calls_made) >= it.chance then
    return nil
  end
  world:struck(name)
  return it
end

--- Whether a kind hits the thing of that id (with the kind's chance). Counts it.
function M.hits_thing(world, name, id)
  local it = world.sky[name]
  if not it or chance.unit(world.seed, "hit", name, id) >= (it.chance or 1) then return nil end
  world:struck(name)
  return it
end

return M
