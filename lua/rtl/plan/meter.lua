--- The cost meter: what stood for how long, from the ledger, and so what it cost.
--
-- Each intent carries what the resource costs (rtl.plan.cost), so that the receipt survives the
-- thing, the run and the price list. A kind that knows better than "from its create to its
-- deletion" says what was used (`used`): the spans of a node group's instances, what was paid once
-- for what was pulled. That is noted in the ledger while it can be seen: at the end of a run, and
-- around a deletion.

local clock = require "rtl.clock"
local err = require "rtl.err"
local keys = require "rtl.keys"
local task = require "rtl.task"

local M = {}

local PATIENCE = 8   -- seconds to look at what was used; a run does not fail or wait long for it
local SLACK = 60     -- seconds by which a thing may seem older than its intent

-- ---- looking ----

-- What a kind says of the use of an item: { since, spans = {{id, since, till}}, counted = {{id,
-- count}} } | nil. A look that is refused is none.
local function used(ctx, kind, item)
  local ok, found = pcall(kind.used, ctx, item)
  if ok then return found end
  if not err.is(found) then error(found, 0) end
end

local function note_of(item, found)
  return { event = "used", key = item.key, since = found.since, spans = found.spans,
    counted = found.counted }
end

-- What lives by the ledger and has a kind that can tell: array of items.
local function living(ctx, kinds)
  local by_name, items, state = {}, {}, ctx.ledger:state()
  for _, kind in ipairs(kinds) do by_name[kind.name] = kind end
  for _, key in ipairs(keys.sorted(state)) do
    local entry = state[key]
    local kind = by_name[entry.kind]
    if kind and kind.used and entry.state == "made" then
      items[#items + 1] = { key = key, kind = kind, name = entry.name, id = entry.id,
        outputs = entry.outputs or {} }
    end
  end
  return items
end

--- Looks at what is in use: array of records for the ledger (not written). kinds: array of all.
function M.look(ctx, kinds)
  local notes = {}
  if not ctx.ledger then return notes end
  task.deadline(PATIENCE, function ()
    for _, item in ipairs(living(ctx, kinds)) do
      local found = used(ctx, item.kind, item)
      if found then notes[#notes + 1] = note_of(item, found) end
    end
  end)
  return notes
end

--- Looks, and writes down what is seen.
function M.note(ctx, kinds)
  for _, record in ipairs(M.look(ctx, kinds)) do ctx.ledger:append(record, true) end
end

--- Writes down the use of one item (of a teardown or a plan), before or after its deletion.
function M.note_item(ctx, item)
  if not (ctx.ledger and item.kind.used and item.id) then return end
  task.deadline(PATIENCE, function ()
    local found = used(ctx, item.kind, item)
    if found then ctx.ledger:append(note_of(item, found), true) end
  end)
end

-- ---- lives ----

-- What each record says of the lives: all so far (`lives`), those that go on (`open`, by key), and
-- when the lease ends that stands (`lease_ends`).
local take = {}

-- One that takes the place of another, unseen, ends it.
function take.intent(all, record, at)
  local former = all.open[record.key]
  if former and former.made then former.till = at end
  local life = { key = record.key, from = at, cost = record.cost, spans = {},
    ends_after = record.ends_after, adopted = record.adopted, lease_ends = all.lease_ends }
  all.open[record.key] = life
  all.lives[#all.lives + 1] = life
end

function take.outcome(all, record)
  local life = all.open[record.key]
  if not life then return end
  life.made, life.id = record.ok or life.made, record.id
  if not record.ok then all.open[record.key] = nil end
end

function take.deleted(all, record, at)
  local life = all.open[record.key]
  if life then life.till, all.open[record.key] = at, nil end
end

local function last_life(all, key)
  for i = #all.lives, 1, -1 do
    if all.lives[i].key == key then return all.lives[i] end
  end
end

function take.used(all, record)
  local life = all.open[record.key] or last_life(all, record.key)
  if not life then return end
  if record.since then life.from, life.adopted = record.since, nil end
  life.looked = life.looked or record.spans ~= nil
  life.counted = record.counted and (life.counted or {}) or life.counted
  for _, span in ipairs(record.spans or {}) do
    if span.since >= life.from - SLACK then life.spans[span.id] = span end
  end
  for _, part in ipairs(record.counted or {}) do life.counted[part.id] = part end
end

-- A lease that begins or moves holds for what stands; one that is taken away held until then.
function take.lease(all, record, at)
  all.lease_ends = record.ends and clock.parse_iso(record.ends) or nil
  for _, life in pairs(all.open) do
    local passed = life.lease_ends and life.lease_ends < at
    if not passed then life.lease_ends = all.lease_ends end
  end
end

local function lives_of(records)
  local all = { lives = {}, open = {} }
  for _, record in ipairs(records) do
    local step = take[record.event]
    if step then step(all, record, clock.parse_iso(record.at or "") or 0) end
  end
  local made = {}
  for _, life in ipairs(all.lives) do
    if life.made and life.cost then made[#made + 1] = life end
  end
  return made
end

-- When a life ended, or now; and whether it may have been earlier: nobody saw a lease end it.
local function end_of(life, now)
  local till = life.till or now
  local leased = life.lease_ends and life.ends_after and life.lease_ends + life.ends_after
  if leased and leased < till then return leased, true end
  return till, false
end

-- ---- amounts ----

local function hours(from, till)
  return math.max(0, till - from) / 3600
end

local function span_hours(life, till)
  local sum, about = 0.0, false
  for _, span in keys.pairs(life.spans) do
    sum = sum + hours(span.since, span.till or till)
    about = about or (not span.till and life.till ~= nil)
  end
  return sum, about
end

-- What was paid once: as counted, else as was reckoned before; and whether that is so.
local function once_of(life)
  local cost, sum = life.cost, 0.0
  if cost.hold then return 0.0, false end
  for _, part in keys.pairs(life.counted or {}) do
    local away = cost.home and part.place and part.place ~= cost.home and cost.away or 0
    sum = sum + part.count * ((cost.each or 0) + away)
  end
  if life.counted and cost.each then return sum, false end
  return cost.once or 0, (cost.once or 0) > 0
end

-- Hours of units that others are billed for: instances in a reservation, until it ended at `till`
-- (they go on).
local function covered_hours(lives, id, till, now)
  local sum = 0.0
  for _, life in ipairs(lives) do
    for _, span in keys.pairs(life.spans) do
      if span.within == id then
        sum = sum + hours(span.since, math.min(span.till or end_of(life, now), till))
      end
    end
  end
  return sum
end

-- How long it stood, in hours of one of its units: hours, whether that is an estimate.
local function stood_of(life, lives, now)
  local cost, till, about = life.cost, end_of(life, now)
  about = about or life.adopted or false
  local stood, units = hours(life.from, till), cost.units or 1
  if cost.begun_hours then return math.max(1, math.ceil(stood)), about end
  if cost.hold then
    return math.max(0, stood * units - covered_hours(lives, life.id, till, now)), about
  end
  if not cost.units then return stood, about end
  if not life.looked then return stood * units, true end
  local sum, unsure = span_hours(life, till)
  return sum, about or unsure
end

local function line_of(life, lives, now)
  local cost = life.cost
  local stood, about = stood_of(life, lives, now)
  local hourly = (cost.hold or cost.hourly or 0) / (cost.units or 1)
  local once, guessed = once_of(life)
  local ended = end_of(life, now)
  return { key = life.key, what = cost.what, hours = stood, hourly = hourly, once = once,
    amount = stood * hourly + once, about = about or guessed, source = cost.source,
    from = life.from, till = ended < now and ended or life.till, units = cost.units,
    unknown = cost.unknown }
end

-- The lives since nothing at all stood, and what came before.
local function last_period(lives)
  table.sort(lives, function (a, b)
    if a.from ~= b.from then return a.from < b.from end
    return a.key < b.key
  end)
  local first, latest = 1, 0
  for i, life in ipairs(lives) do
    if life.from > latest then first = i end
    latest = math.max(latest, life.till or math.huge)
  end
  return table.move(lives, first, #lives, 1, {}), table.move(lives, 1, first - 1, 1, {})
end

local function add_up(lives, now)
  local receipt = { lines = {}, total = 0.0, about = false, sources = {}, hourly = 0.0,
    unknown = {} }
  local seen = {}
  for i, life in ipairs(lives) do
    local line = line_of(life, lives, now)
    receipt.lines[i] = line
    receipt.total = receipt.total + line.amount
    receipt.about = receipt.about or line.about
    if line.unknown then receipt.unknown[#receipt.unknown + 1] = line.key end
    if not line.till then receipt.hourly = receipt.hourly + (life.cost.hourly or 0) end
    if line.source and not seen[line.source] then
      seen[line.source] = true
      receipt.sources[#receipt.sources + 1] = line.source
    end
  end
  return receipt
end

--- The receipt of what the records (a ledger's) tell of. options: now (unix seconds), more (further
-- records, as M.look gives them).
-- Returns { lines = {{key, what, hours, hourly, once, amount, about, source, from, till, units,
-- unknown (nobody knows its price)}}, total, hourly (of what still stands), about (whether a line
-- is an estimate), unknown (keys of the lines that are not in the sums), sources,
-- earlier = { total, count } of deployments that were gone before this one began }.
function M.receipt(records, options)
  local all = table.move(records, 1, #records, 1, {})
  table.move(options.more or {}, 1, #(options.more or {}), #all + 1, all)
  local lives, before = last_period(lives_of(all))
  local receipt = add_up(lives, options.now)
  receipt.earlier = { total = add_up(before, options.now).total, count = #before }
  return receipt
end

return M
