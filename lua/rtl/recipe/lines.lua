--- What an event says to people: lines that stay on the screen. Terminal and plain output share
-- them; what differs is the time before each line and the lines in flight below.

local failure = require "rtl.recipe.failure"
local text = require "rtl.recipe.text"

local M = {}

local SIGN = { done = "✓", failed = "✗", skipped = "-", deleted = "-", kept = "=" }
local DONE_WORD = { create = "made", change = "changed", replace = "replaced", check = "checked" }
local KEY_WIDTH = 40

local function key_of(event)
  return event.kind .. " " .. event.name
end

local function row(sign, key, word, rest)
  local line = ("  %s %s %s%s"):format(sign, text.pad(text.cut(key, KEY_WIDTH), KEY_WIDTH),
    text.pad(word, 9), rest)
  return (line:gsub("%s+$", ""))
end

local function short_error(e)
  local inner = e
  while inner.cause and inner.cause.message do inner = inner.cause end
  return ("%s (%s)"):format(inner.message, inner.code)
end

-- The id, as far as the name does not say it. A name that is cut says nothing.
local function id_of(event)
  if text.width(key_of(event)) > KEY_WIDTH then return tostring(event.id) end
  return text.id_beside(event.name, event.id)
end

local resource = {}

function resource.done(event)
  if event.action == "none" then return {} end
  local facts = {}
  if event.elapsed_s then facts[1] = text.elapsed(event.elapsed_s) end
  if event.id then facts[#facts + 1] = id_of(event) end
  return { row(SIGN.done, key_of(event), DONE_WORD[event.action] or "done",
    table.concat(facts, "  ")) }
end

function resource.deleted(event)
  local took = event.elapsed_s and text.elapsed(event.elapsed_s) or ""
  return { row(SIGN.deleted, key_of(event), "removed", took) }
end

function resource.failed(event)
  return { row(SIGN.failed, key_of(event), "failed", event.err and short_error(event.err) or "") }
end

function resource.skipped(event)
  return { row(SIGN.skipped, key_of(event), "skipped", event.detail or "") }
end

local step = {}

function step.proved(event)
  local lines = { ("✓ step %d  %s"):format(event.number, event.title) }
  for _, proof in ipairs(event.proofs or {}) do lines[#lines + 1] = "      " .. proof end
  return lines
end

function step.failed(event)
  local lines = { ("✗ step %d  %s"):format(event.number, event.title) }
  for _, proof in ipairs(event.proofs or {}) do lines[#lines + 1] = "      " .. proof end
  return lines
end

function step.action(event)
  return { ("· step %d  %s"):format(event.number, event.title) }
end

local of_type = {}

function of_type.resource(event)
  local show = resource[event.state]
  return show and show(event) or {}
end

function of_type.step(event)
  local show = step[event.state]
  return show and show(event) or {}
end

function of_type.note(event)
  return { "  " .. (event.sign or "·") .. " " .. event.text }
end

function of_type.log(event)
  return { "  │ " .. event.text }
end

function of_type.job(event)
  return { ("  · job %s: %s"):format(event.id, event.status) }
end

function of_type.text(event)
  return event.lines
end

function of_type.failure(event)
  local lines = failure.block(event.err)
  table.insert(lines, 1, "")
  return lines
end

-- What is said beside an output that may go into a file.
function of_type.aside(event)
  return { event.text }
end

--- Whether the lines of an event belong on standard error.
function M.is_aside(event)
  return event.type == "failure" or event.type == "aside"
end

--- The lines that an event leaves on the screen (an array, maybe empty).
function M.of(event)
  local show = of_type[event.type]
  return show and show(event) or {}
end

local function doing(event)
  return (event.state == "deleting" or event.action == "delete") and "removing"
    or event.action == "check" and "checking" or event.action == "change" and "changing" or "making"
end

--- What a slow resource says when it begins: "making, usually about 10 min".
function M.begun(event)
  return row("·", key_of(event), doing(event), "usually about " .. text.about(event.usual_s))
end

--- What a resource in flight says: how long, of how long, and what it waits for.
function M.in_flight(event, elapsed)
  local word = doing(event)
  local usual = event.usual_s and event.usual_s >= 1
    and (" of about " .. text.about(event.usual_s)) or ""
  local detail = event.detail and "  " .. event.detail or ""
  return row("·", key_of(event), word, text.elapsed(elapsed) .. usual .. detail)
end

return M
