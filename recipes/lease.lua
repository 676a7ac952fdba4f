--- The lease of a deployment: when AWS itself ends what bills, with the laptop shut.
--
--   rtl recipes/deploy.lua --down-after 4h     begins one
--   rtl recipes/lease.lua                      shows it
--   rtl recipes/lease.lua extend 2h            ends two hours later
--   rtl recipes/lease.lua end                  ends now: AWS begins within a minute or two
--   rtl recipes/lease.lua cancel               takes it away: everything stays until a teardown
--
-- At its end the node groups (and a reservation) go first, ten minutes later cluster and NAT
-- gateway, then the address. What it does not end bills nothing by the hour: rtl recipes/status.lua
-- lists it, rtl recipes/teardown.lua removes it.

local clock = require "rtl.clock"
local lease = require "rtl.kinds.lease"
local lease_of = require "rtl.recipe.lease"
local plan = require "rtl.plan"
local report = require "rtl.recipe.report"
local text = require "rtl.recipe.text"

local SOON = 60 -- s; a start in the past might be refused

local function standing(run)
  local found = lease.read(run.ctx)
  if found then return found end
  return run:fail { code = "RTL-LEASE-005", exit = "refused",
    message = run.deployment .. " has no lease",
    hint = report.command(run, "recipes/deploy.lua") .. " --down-after 4h begins one" }
end

local function rows_of(found)
  local rows = {}
  for i, live in ipairs(found.schedules) do
    local id = {}
    for _, value in pairs(live.input or {}) do id[#id + 1] = tostring(value) end
    table.sort(id)
    rows[i] = { clock.iso(live.starts), live.action, table.concat(id, " ") }
  end
  table.sort(rows, function (a, b) return table.concat(a) < table.concat(b) end)
  return text.columns(rows, "  ", text.SCREEN)
end

local function show(run, found, word)
  local lines = report.head(run)
  local left = found.at - clock.utc()
  lines[#lines + 1] = ""
  lines[#lines + 1] = ("Lease    %s %s, %s (%s)"):format(word, clock.iso(found.at),
    left > 0 and "in " .. text.about(left) or "it is over", found.asked)
  table.move(rows_of(found), 1, #found.schedules, #lines + 1, lines)
  if found.over then
    lines[#lines + 1] = "Remove   what is left: " .. report.command(run, "recipes/teardown.lua")
  end
  report.world(lines)
  run:emit { type = "text", lines = lines }
  run:emit { type = "lease", at = clock.iso(found.at), asked = found.asked, over = found.over }
end

local function move(run, found, at)
  local moved, failure = lease.move(run.ctx, found, at)
  if not moved then error(failure, 0) end
end

local ACTIONS = {}

function ACTIONS.show(run)
  show(run, standing(run), "ends")
end

function ACTIONS.extend(run)
  local by, found = lease_of.seconds(run.words[2]), standing(run)
  if found.over then
    run:fail { code = "RTL-LEASE-001", exit = "refused",
      message = "the lease ended at " .. clock.iso(found.at) .. " and can't be extended",
      hint = report.command(run, "recipes/deploy.lua") .. " --down-after 4h makes what is gone" }
  end
  run:lock()
  run:hold()
  move(run, found, found.at + by)
  show(run, found, "now ends")
end

ACTIONS["end"] = function (run)
  local found = standing(run)
  run:lock()
  run:confirm("End the lease now? AWS removes node groups, cluster, NAT gateway and address.")
  run:hold()
  move(run, found, clock.utc() + SOON)
  show(run, found, "ends")
end

-- What a lease is made of, found as a teardown finds it.
local function parts(run)
  local t, list = plan.teardown.plan(run.ctx, run:all_kinds(), {}), {}
  for _, item in ipairs(t.items) do
    local is_role = item.kind_name == "iam_role" and item.name == lease.GROUP
    if is_role or item.kind_name == "schedule_group" or item.kind_name == "schedule" then
      list[#list + 1] = item
    end
  end
  return list
end

function ACTIONS.cancel(run)
  standing(run)
  run:lock()
  run:confirm("Take the lease away? Everything then bills until a teardown.")
  run:hold()
  local gone = plan.teardown.remove(run.ctx, parts(run))
  if gone.left[1] then error(gone.left[1].err, 0) end
  local lines = { "Lease    taken away: what stands bills until "
    .. report.command(run, "recipes/teardown.lua") }
  report.world(lines)
  run:emit { type = "text", lines = lines }
end

return {
  title = "Lease of a Ray Train deployment",
  settings = { "settings" },
  words = "show | extend TIME | end | cancel",

  action = function (run)
    local word = run.words[1] or "show"
    local action = ACTIONS[word]
    if not action or #run.words > (word == "extend" and 2 or 1) then
      run:fail { code = "RTL-CLI-002", exit = "usage",
        message = ("'%s' is nothing to do with a lease"):format(table.concat(run.words, " ")),
        hint = "show, extend 2h, end or cancel" }
    end
    run:connect()
    action(run)
  end,
}
