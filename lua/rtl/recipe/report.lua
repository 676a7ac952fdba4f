--- What a plan and the end of a run look like.

local array = require "rtl.array"
local keys = require "rtl.keys"
local lease = require "rtl.recipe.lease"
local receipt = require "rtl.recipe.receipt"
local row_of = require "rtl.plan.row"
local settings = require "rtl.recipe.settings"
local text = require "rtl.recipe.text"
local wire = require "rtl.wire"

local M = {}

local WIDTH = 96
local DETAIL = 17 -- columns of the first detail in a plan's line
local SIGN = { create = "+", change = "~", replace = "±", given = "=", unknown = "?", delete = "-",
  check = "·" }
local COUNTED = { { "create", "to create" }, { "change", "to change" }, { "replace", "to replace" },
  { "delete", "to delete" } }

-- The fields that say most about a resource, in order of telling.
local TELLING = { "cidr", "version", "service", "zone_id", "policies", "labels" }

local function scalar(value)
  if type(value) == "string" or type(value) == "number" then return tostring(value) end
  if type(value) == "table" and type(value[1]) == "string" then return table.concat(value, ", ") end
  return nil
end

local function detail_of(row)
  local res = row.resource
  if res.given then return "given: " .. tostring(res.given) end
  if row.action ~= "create" then return (row.reasons or {})[1] or "" end
  local f, parts = res.fields, {}
  if f.instance_type then
    parts[1] = f.count and ("%d × %s"):format(f.count, f.instance_type) or f.instance_type
  end
  if type(f.chart) == "table" then parts[1] = ("chart %s"):format(f.chart.version or "") end
  if f.workers then parts[1] = ("a head and %s"):format(text.count(f.workers, "worker")) end
  for _, field in ipairs(TELLING) do
    local shown = scalar(f[field])
    if shown and #parts < 2 then parts[#parts + 1] = shown end
  end
  if parts[2] then parts[1] = text.pad(parts[1], DETAIL) end
  return table.concat(parts, "  ")
end

local function plan_rows(plan)
  local rows = {}
  for _, row in ipairs(plan.changes) do
    if row.action ~= "none" and row.action ~= "check" and not row.left_out then
      rows[#rows + 1] = { SIGN[row.action] or "?", row.resource.kind_name, row.resource.name,
        detail_of(row) }
    end
  end
  for _, row in ipairs(plan.surplus or {}) do
    rows[#rows + 1] = { SIGN.delete, row.kind_name, row.name, row.reasons[1] }
  end
  return rows
end

--- Whether applying the plan would make, change or delete anything.
function M.has_changes(plan)
  local counts = plan.counts
  return (counts.create or 0) + (counts.change or 0) + (counts.replace or 0)
    + (counts.delete or 0) > 0
end

-- What is paid once, in words, with the GB where it is paid for them.
local function once_of(cost)
  local names, gb = {}, {}
  for _, line in ipairs(cost.lines) do
    local what = line.once_what
    if line.now > 0 then
      if not gb[what] then names[#names + 1] = what end
      gb[what] = (gb[what] or 0) + (line.now_gb or 0)
    end
  end
  for i, what in ipairs(names) do
    if gb[what] > 0 then names[i] = ("%s (%.0f GB)"):format(what, gb[what]) end
  end
  return table.concat(names, ", ")
end

local function price_of(cost)
  if not cost or (cost.hourly == 0 and cost.once == 0) then return nil end
  local parts = { text.money(cost.hourly) .. "/h" }
  if cost.once and cost.once > 0 then
    parts[2] = ("≈ %s for %s"):format(text.money(cost.once), once_of(cost))
  end
  return table.concat(parts, " + ")
end

-- The line that sums the plan up; two where one would be too long.
local function summary(plan)
  local counts = {}
  for _, pair in ipairs(COUNTED) do
    local n = plan.counts[pair[1]] or 0
    if n > 0 or pair[1] ~= "replace" then counts[#counts + 1] = ("%d %s"):format(n, pair[2]) end
  end
  local left = "Plan     " .. table.concat(counts, " · ")
  local right = {}
  if M.has_changes(plan) and plan.critical_path_s > 0 then
    right[1] = "≈ " .. text.about(plan.critical_path_s)
  end
  right[#right + 1] = price_of(plan.cost)
  if #right == 0 then return { left } end
  local line = text.pad(left, 48) .. "  " .. table.concat(right, " · ")
  if text.width(line) <= text.SCREEN then return { line } end
  return { left, (" "):rep(9) .. table.concat(right, " · ") }
end

local function changed_settings(values)
  local parts, defaults = {}, 0
  for _, row in ipairs(settings.report(values)) do
    if row.source == "default" then
      defaults = defaults + 1
    else
      parts[#parts + 1] = ("%s=%s (%s)"):format(row.name, row.text, row.source)
    end
  end
  parts[#parts + 1] = ("%d by default"):format(defaults)
  return text.wrap(table.concat(parts, " · "), WIDTH - 9)
end

--- Adds the lines of `list` behind a label, each folded to the screen.
function M.labelled(lines, label, list)
  for i, whole in ipairs(list) do
    for j, line in ipairs(text.fold(whole, text.SCREEN - 9, 2)) do
      lines[#lines + 1] = ("%-8s %s"):format(i == 1 and j == 1 and label or "", line)
    end
  end
end
local labelled = M.labelled

--- The head of a run: what it is, where, and as whom.
function M.head(run)
  local left = run.recipe.title or run.recipe.name
  return { text.pad(left, 40) .. "  " .. run.region .. " · " .. run.who }
end

-- What could not be compared with what lives, and why: a line for each reason.
local function unchecked(lines, plan)
  local counts, order = {}, {}
  for _, row in ipairs(plan.changes) do
    if row.note and not row.left_out then
      if not counts[row.note] then order[#order + 1] = row.note end
      counts[row.note] = (counts[row.note] or 0) + 1
    end
  end
  for _, why in ipairs(order) do
    lines[#lines + 1] = ("  not checkable yet: %s (%s)"):format(text.count(counts[why], "thing"),
      why)
  end
end

local function notes_of(plan)
  local lines = {}
  if (plan.left_out or 0) > 0 then
    lines[1] = ("  left out, of steps that are not chosen: %d more"):format(plan.left_out)
  end
  if plan.cost and plan.cost.source then
    lines[#lines + 1] = "  prices: " .. plan.cost.source
  end
  for _, key in ipairs(plan.cost and plan.cost.unknown or {}) do
    lines[#lines + 1] = "  no price known: " .. key
  end
  unchecked(lines, plan)
  return lines
end

--- The plan as lines: head, the settings that differ from their defaults, what the steps say
-- (`sections`: array of arrays of lines), the sum, and one line for each resource that changes.
function M.plan(run, plan, sections)
  local lines = M.head(run)
  lines[#lines + 1] = ""
  labelled(lines, "Settings", changed_settings(run.settings))
  for _, section in ipairs(sections) do
    lines[#lines + 1] = ""
    table.move(section, 1, #section, #lines + 1, lines)
  end
  lines[#lines + 1] = ""
  for _, line in ipairs(summary(plan)) do lines[#lines + 1] = line end
  local rows = text.columns(plan_rows(plan), "  ")
  for _, line in ipairs(rows) do lines[#lines + 1] = text.cut(line, text.SCREEN) end
  local notes = notes_of(plan)
  table.move(notes, 1, #notes, #lines + 1, lines)
  lines[#lines + 1] = ""
  return lines
end

-- The fields of a row as far as they are known by now.
local function fields_of(plan, row)
  return (row_of.resolve(row.resource, function (key, output) return plan:output(key, output) end))
end

local function change_of(plan, row)
  local unknown = {}
  for field, outputs in keys.pairs(row.unknown or {}) do unknown[field] = array(outputs) end
  return { resource = row.resource.key, action = row.action, reasons = array(row.reasons),
    step = row.resource.step, given = row.resource.given, fields = fields_of(plan, row),
    unknown = next(unknown) and unknown, unchecked = row.note }
end

local function settings_of(values)
  local list = array {}
  for i, row in ipairs(settings.report(values)) do
    list[i] = { name = row.name, value = row.text, source = row.source }
  end
  return list
end

--- The plan of a run as an event: settings = {{name, value, source}} with the source of each value;
-- changes = {{resource, action, reasons, step, given = the id that was given, fields = what is
-- known of them, unknown = {field = {outputs that it needs, "vpc/ray-train.id"}}, unchecked = why
-- what lives could not be looked at yet}}; counts, cost, critical_path_s, critical_path.
function M.plan_event(run, plan)
  local changes = array {}
  for _, row in ipairs(plan.changes) do
    if row.action ~= "none" and not row.left_out then
      changes[#changes + 1] = change_of(plan, row)
    end
  end
  for _, row in ipairs(plan.surplus or {}) do
    changes[#changes + 1] = { resource = row.key, action = "delete", reasons = row.reasons }
  end
  return { type = "plan", settings = settings_of(run.settings), counts = plan.counts,
    left_out = plan.left_out, changes = changes, cost = plan.cost,
    critical_path_s = plan.critical_path_s, critical_path = plan.critical_path }
end

-- ---- the end ----

local NAMING = { name = true, region = true, kubeconfig = true, context = true, namespace = true,
  use_cluster = true, profile = true }

-- A boolean setting as it is switched on or off on a command line.
local function switch(row)
  local option = settings.spellings(row.name)
  return row.text == "true" and option or option:gsub("^%-%-", "--no-")
end

--- The command that runs `recipe` on the same deployment as this run: with what names it, or with
-- all settings and steps (`all`) that stood on this run's command line.
function M.command(run, recipe, all)
  local parts = { "rtl" }
  parts[#parts + 1] = wire.describe().option
  parts[#parts + 1] = recipe
  for _, row in ipairs(settings.report(run.settings)) do
    local option = settings.spellings(row.name)
    if row.source == option and (all or NAMING[row.name]) then
      -- Of several regions, the one that the run is in.
      local value = row.name == "region" and not all and run.region or row.text
      parts[#parts + 1] = row.declaration.type == "boolean" and switch(row)
        or ("%s %s"):format(option, value:match("[^%w%-_./:=,@]") and ("'%s'"):format(value)
          or value)
    end
  end
  for _, name in ipairs(all and { "only", "from", "to" } or {}) do
    if run.options[name] then parts[#parts + 1] = ("--%s %s"):format(name, run.options[name]) end
  end
  return table.concat(parts, " ")
end

--- A verdict (rtl.recipe.verdict) as lines: the word, what proves it, the cause, the next step.
function M.verdict(verdict)
  local lines = {}
  labelled(lines, "Verdict", { text.pad(verdict.verdict, 8) .. "  " .. (verdict.text or "") })
  for _, line in ipairs(verdict.lines or {}) do
    labelled(lines, "", { "  " .. line })
  end
  if verdict.cause then labelled(lines, "Cause", text.wrap(verdict.cause, WIDTH - 9)) end
  if verdict.next then labelled(lines, "Next", text.wrap(verdict.next, WIDTH - 9)) end
  if verdict.code then labelled(lines, "", { "rtl explain " .. verdict.code }) end
  return lines
end

--- A job {id, status, seconds, exit_code, text} as one line.
function M.job(job)
  local facts = { job.status, job.id }
  if job.seconds then facts[#facts + 1] = text.elapsed(job.seconds) end
  if job.exit_code then facts[#facts + 1] = ("exit %d"):format(job.exit_code) end
  if job.text then facts[#facts + 1] = job.text end
  return table.concat(facts, " · ")
end

--- Adds to `lines` which world this was, where it was not the real one; with `whole`, also what
-- nothing real has confirmed of it.
function M.world(lines, whole)
  local world = wire.describe()
  if world.name == "native" then return end
  labelled(lines, "World", { world.name .. ": nothing was spent, nothing real was made" })
  for _, what in ipairs(whole and world.unconfirmed or {}) do
    labelled(lines, "", { "  unconfirmed: " .. what })
  end
end

--- The last screen of a run that has a plan: verdict, job, cost so far, what removes it all.
function M.ending(run)
  local lines, outcome = { ("─"):rep(WIDTH) }, run.outcome
  if outcome.verdict then
    local verdict = M.verdict(outcome.verdict)
    table.move(verdict, 1, #verdict, #lines + 1, lines)
  end
  if outcome.job then labelled(lines, "Job", { M.job(outcome.job) }) end
  local cost = receipt.of(run)
  local told = cost and receipt.line(cost)
  if told then
    outcome.cost = cost.total
    labelled(lines, "Cost", { told })
  end
  lines[#lines + 1] = lease.line(run)
  -- A path or a command is to be copied: it stays whole.
  lines[#lines + 1] = "Record   " .. run.record.dir
  lines[#lines + 1] = "Remove   " .. M.command(run, "recipes/teardown.lua")
  M.world(lines, true)
  return lines
end

return M
