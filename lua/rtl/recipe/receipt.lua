--- What a deployment has cost, for people: the line of a last screen, and the receipt.

local array = require "rtl.array"
local clock = require "rtl.clock"
local meter = require "rtl.plan.meter"
local text = require "rtl.recipe.text"

local M = {}

--- The receipt (rtl.plan.meter) of the run's ledger until now; nil where there is no ledger.
-- `look`: first ask what is in use, without writing it down.
function M.of(run, look)
  local ledger = run.ctx.ledger
  if not ledger then return nil end
  local seen = look and meter.look(run.ctx, run:all_kinds()) or nil
  return meter.receipt(ledger.records, { now = clock.utc(), more = seen })
end

local function about(flag)
  return flag and "about " or ""
end

--- One line: what it has cost so far and goes on to cost, and what is not in it since nobody knows
-- the price; nil for a receipt without lines.
function M.line(receipt)
  if #receipt.lines == 0 then return nil end
  local cost = about(receipt.about) .. text.money(receipt.total)
  local line = receipt.hourly == 0 and cost .. " in all"
    or ("%s so far · %s/h until it is removed"):format(cost, text.money(receipt.hourly))
  if #receipt.unknown == 0 then return line end
  return ("%s · no price known: %s"):format(line, table.concat(receipt.unknown, ", "))
end

local function quantity(line)
  if line.unknown then return "no price known" end
  if line.hourly == 0 then return "" end
  return ("%.2f h × $%.4g"):format(line.hours, line.hourly)
end

local function row_of(line)
  local stood = line.till and text.elapsed(line.till - line.from) or "stands"
  return { line.key, line.what, stood, quantity(line),
    line.once > 0 and ("$%.2f once"):format(line.once) or "",
    line.unknown and "?" or about(line.about) .. text.money(line.amount) }
end

--- The receipt as an event, for programs: total, hourly (of what still stands), about, sources,
-- unknown, lines as rtl.plan.meter gives them.
function M.event(receipt)
  return { type = "receipt", total = receipt.total, hourly = receipt.hourly,
    about = receipt.about, unknown = array(receipt.unknown), lines = array(receipt.lines),
    sources = array(receipt.sources) }
end

--- The receipt as lines: each part with what it is, how long it stood, hours and price, amount; the
-- sum; the sources of the prices.
function M.lines(receipt)
  if #receipt.lines == 0 then return { "Receipt  nothing that costs was made from here" } end
  local rows = {}
  for i, line in ipairs(receipt.lines) do rows[i] = row_of(line) end
  local lines = text.columns(rows, "  ", text.SCREEN)
  local sum = text.fold("Receipt  " .. M.line(receipt), text.SCREEN, 9)
  table.move(lines, 1, #lines, #sum + 1)
  table.move(sum, 1, #sum, 1, lines)
  for _, source in ipairs(receipt.sources) do lines[#lines + 1] = "  prices: " .. source end
  if receipt.earlier.count > 0 then
    lines[#lines + 1] = ("  before it: %s, of deployments of this name that are gone"):format(
      text.money(receipt.earlier.total))
  end
  return lines
end

return M
