--- Removes everything of a deployment and proves that nothing is left.
--
-- Finds what to remove from the ledger, by tags, and by looking into what was made; so it also
-- works from another machine. It never deletes what rtl did not make. Data (buckets, volumes of
-- claims, log groups) is kept and listed with its price, unless --purge. Ends by listing the
-- account again: exit code 6 when something is left that should be gone. Of several regions, each
-- is looked into.
--
--   rtl recipes/teardown.lua --plan        what would be removed; changes nothing
--   rtl recipes/teardown.lua               asks once, then removes it

local agreed = require "rtl.recipe.agreed"
local given_cluster = require "rtl.recipe.given_cluster"
local plan = require "rtl.plan"
local pricing = require "rtl.kinds.pricing"
local receipt = require "rtl.recipe.receipt"
local report = require "rtl.recipe.report"
local text = require "rtl.recipe.text"

local function price(hourly)
  return hourly and hourly > 0 and text.rate(hourly) or ""
end

local function add(lines, more)
  table.move(more, 1, #more, #lines + 1, lines)
end

local function cells(list, sign)
  local out = {}
  for i, item in ipairs(list) do
    out[i] = { sign, item.kind_name or item.kind, item.name or item.key or "",
      text.id_beside(item.name, item.id), price(item.hourly) }
  end
  return out
end

local function rows(list, sign)
  return text.columns(cells(list, sign), "  ", text.SCREEN)
end

-- What could not be removed, and below each why.
local function left_rows(list)
  local lines = {}
  for i, row in ipairs(text.rows(cells(list, "✗"), "  ", text.SCREEN)) do
    add(lines, row)
    add(lines, text.fold("     " .. list[i].reason, text.SCREEN, 0))
  end
  return lines
end

local function hourly(list)
  local sum = 0.0
  for _, item in ipairs(list) do sum = sum + (item.hourly or 0) end
  return sum
end

local function plan_lines(run, t)
  local lines = report.head(run)
  lines[#lines + 1] = ""
  local facts = { ("%s to delete, %d to keep"):format(text.count(#t.items, "thing"), #t.keep) }
  if t.usual_s > 0 then facts[2] = "≈ " .. text.about(t.usual_s) end
  if hourly(t.items) > 0 then facts[#facts + 1] = price(hourly(t.items)) .. " that ends" end
  lines[#lines + 1] = "Teardown " .. table.concat(facts, " · ")
  add(lines, rows(t.items, "-"))
  if #t.keep > 0 then
    lines[#lines + 1] = "Kept data (--purge removes it)"
    add(lines, rows(t.keep, "="))
  end
  if hourly(t.items) + hourly(t.keep) > 0 then
    lines[#lines + 1] = ("  prices: %s; of nodes without their disks"):format(
      pricing.source(run.ctx, run.settings.gpu_type))
  end
  lines[#lines + 1] = ""
  return lines
end

local function end_lines(run, result, cost)
  local lines = { ("─"):rep(96) }
  if #result.left == 0 then
    lines[#lines + 1] = "Empty    nothing of " .. run.deployment
      .. " is left: looked again at every kind, by tag and id"
  else
    lines[#lines + 1] = ("Left     %s should be gone and %s not"):format(
      text.count(#result.left, "thing"), #result.left == 1 and "is" or "are")
    add(lines, left_rows(result.left))
    lines[#lines + 1] = "Next     run the same command again; what stays names its reason above"
  end
  if #result.kept > 0 then
    lines[#lines + 1] = "Kept     data, removed by --purge"
    add(lines, rows(result.kept, "="))
  end
  lines[#lines + 1] = ("Removed  %s"):format(text.count(#result.removed, "thing"))
  add(lines, receipt.lines(cost))
  report.world(lines)
  return lines
end

local function read_plan(run)
  return plan.teardown.plan(run.ctx, run:all_kinds(), { purge = run.settings.purge })
end

-- Under the lock: what another machine made meanwhile is not in what was agreed to.
local function read_again(run, agreed_to)
  local t = read_plan(run)
  agreed.check_removal(run.ctx, agreed_to, t)
  if t.problem then error(t.problem, 0) end
  return t
end

-- Tears down what stands in the region that the run is in; returns the name of an exit code.
local function tear_down(run)
  if run.options.plan then run:peek() else run:lock() end
  run:reading(given_cluster.enter, run)
  run:load_prices()
  local t = run:reading(read_plan, run)
  run:emit { type = "text", lines = plan_lines(run, t) }
  if run.options.plan then
    return run.options.exit_code and #t.items > 0 and "changes" or "done"
  end
  if t.problem then error(t.problem, 0) end
  run:begin_record()
  if #t.items > 0 then
    run:confirm(("Delete these %s?"):format(text.count(#t.items, "thing")))
  end
  run:reading(run.hold, run)
  t = run:reading(read_again, run, t)
  local result = plan.teardown.run(t, run.ctx)
  local free, held = run:let_go()
  if not free then
    table.insert(result.left, { key = "account_lock", kind = "lock", reason = tostring(held) })
  end
  local cost = receipt.of(run)
  run:emit { type = "text", lines = end_lines(run, result, cost) }
  run:emit(receipt.event(cost))
  run:emit { type = "teardown", region = run.region, removed = #result.removed,
    kept = result.kept, left = result.left }
  return #result.left > 0 and "left" or "done"
end

-- A deployment stands in one of several regions, and this machine may not know in which.
local function regions_of(run)
  if not run:has_aws() or #run.settings.region == 1 then return { run.region } end
  return run.settings.region
end

local WORSE = { done = 1, changes = 2, left = 3 }

return {
  title = "Teardown of a Ray Train deployment",
  settings = { "settings" },
  options = { "plan", "exit-code" },

  action = function (run)
    run:connect()
    local worst = "done"
    for _, region in ipairs(regions_of(run)) do
      run:use_region(region)
      local exit = tear_down(run)
      if WORSE[exit] > WORSE[worst] then worst = exit end
    end
    run.outcome.exit = worst
  end,
}
