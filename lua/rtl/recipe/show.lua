--- The three faces of a run: live lines on a terminal, plain timestamped lines elsewhere, one JSON
-- object a line with --json. Each is a sink of the bus.

local clock = require "rtl.clock"
local events = require "rtl.recipe.events"
local lines = require "rtl.recipe.lines"
local process = require "rtl.process"
local redact = require "rtl.redact"
local task = require "rtl.task"
local text = require "rtl.recipe.text"

local M = {}

local LIVE_LINES = 12
local TICK = 0.25
local PATIENCE = 20 -- seconds before plain lines tell what is waited for
-- What is fitted already, or what a job wrote.
local WHOLE = { text = true, log = true }

-- Standard output, brought out at once. Raises when nobody reads it any more: the bus then drops
-- the face, and the run goes on.
local function to_stdout(bytes)
  local ok, message = io.stdout:write(bytes)
  if ok then ok, message = io.stdout:flush() end
  if not ok then error(message, 0) end
end

local function to_stderr(list)
  io.stderr:write(redact.text(table.concat(list, "\n")), "\n")
end

-- ---- one JSON object a line ----

local Json = {}
Json.__index = Json

function Json:sink(event)
  if event.type == "text" then return end -- what it says is in the other events
  self.write(events.line(event) .. "\n")
end

function Json.pause() end
function Json.resume() end
function Json.close() end

-- ---- plain lines ----

local Plain = {}
Plain.__index = Plain

local STARTS = { start = true, deleting = true }

-- What a terminal shows as lines in flight is told here when it begins, if it is slow, and when its
-- state changes later on.
local function plain_progress(self, event)
  if event.type ~= "resource" or (event.usual_s or 0) < 60 then return nil end
  local key = event.kind .. "/" .. event.name
  if STARTS[event.state] then
    self.since[key] = clock.mono()
    return lines.begun(event)
  end
  self.since[key] = self.since[key] or clock.mono()
  local elapsed = clock.mono() - self.since[key]
  if event.state ~= "waiting" or not event.detail or elapsed < PATIENCE then return nil end
  return lines.in_flight(event, elapsed)
end

function Plain:sink(event)
  if lines.is_aside(event) then return self.write_error(lines.of(event)) end
  local stamp = event.time:sub(12, 19) .. " "
  local list = lines.of(event)
  if #list == 0 then list = { plain_progress(self, event) } end
  if event.type == "text" then stamp = "" end
  local out = {}
  for _, whole in ipairs(list) do
    local room = WHOLE[event.type] and math.huge or text.SCREEN - #stamp
    for _, line in ipairs(text.fold(whole, room)) do
      out[#out + 1] = (line == "" and line or stamp .. line) .. "\n"
    end
  end
  if #out > 0 then self.write(redact.text(table.concat(out))) end
end

function Plain.pause() end
function Plain.resume() end
function Plain.close() end

-- ---- a terminal ----

local Terminal = {}
Terminal.__index = Terminal

local function erase(self)
  local back = self.shown > 0 and ("\27[%dA\27[J"):format(self.shown) or ""
  self.shown = 0
  return back
end

local function live_lines(self)
  local out, columns = {}, self.columns
  for _, key in ipairs(self.order) do
    local item = self.flying[key]
    if #out == LIVE_LINES then
      out[#out + 1] = ("  … and %d more"):format(#self.order - LIVE_LINES)
      break
    end
    out[#out + 1] = text.cut(lines.in_flight(item.event, clock.mono() - item.since), columns - 1)
  end
  if self.line then out[#out + 1] = text.cut("  · " .. self.line, columns - 1) end
  return out
end

local function draw(self)
  local list = live_lines(self)
  self.shown = #list
  for i, line in ipairs(list) do list[i] = "\27[2m" .. redact.text(line) .. "\27[0m\n" end
  return table.concat(list)
end

local ENDS = { done = true, failed = true, skipped = true, deleted = true, kept = true }

local function track(self, event)
  if event.type == "progress" then self.line = event.text end
  -- What was in progress is over when something is said of a step, or of the job.
  if event.type == "step" or event.type == "text" or event.type == "job" then self.line = nil end
  if event.type ~= "resource" then return end
  local key = event.kind .. "/" .. event.name
  local item = self.flying[key]
  if ENDS[event.state] then
    if not item then return end
    self.flying[key] = nil
    for i, other in ipairs(self.order) do
      if other == key then table.remove(self.order, i) break end
    end
  elseif item then
    item.event = { kind = event.kind, name = event.name, state = event.state,
      detail = event.detail, action = event.action or item.event.action,
      usual_s = event.usual_s or item.event.usual_s }
  else
    self.flying[key] = { event = event, since = clock.mono() }
    self.order[#self.order + 1] = key
  end
end

local COLOURED = { ["✓"] = "\27[32m✓\27[0m", ["✗"] = "\27[31m✗\27[0m", ["→"] = "\27[36m→\27[0m" }

local function coloured(self, line)
  return self.colour and (line:gsub(utf8.charpattern, COLOURED)) or line
end

-- Shows lines above those in flight; during a question they wait.
local function show(self, list)
  local out = {}
  for i, line in ipairs(list) do out[i] = coloured(self, redact.text(line)) .. "\n" end
  local bytes = table.concat(out)
  if self.held then
    self.held = self.held .. bytes
  else
    self.write(erase(self) .. bytes .. draw(self))
  end
end

function Terminal:sink(event)
  track(self, event)
  if event.type == "failure" then
    self.write(erase(self))
    return self.write_error(lines.of(event))
  end
  local list = lines.of(event)
  if #list > 0 or event.type == "resource" or event.type == "progress" then show(self, list) end
end

function Terminal:pause()
  self.write(erase(self))
  self.held = self.held or ""
end

function Terminal:resume()
  local held = self.held
  self.held = nil
  if held then self.write(held .. draw(self)) end
end

function Terminal:close()
  self.closed = true
  self.flying, self.order, self.line = {}, {}, nil
  self:resume()
  self.write(erase(self))
end

--- Redraws the lines in flight as time passes, until close(). Where time is not real it passes by
-- events alone.
function Terminal:tick()
  while not self.closed and not clock.is_virtual() do
    task.sleep(TICK)
    if #self.order > 0 and not self.held then self.write(erase(self) .. draw(self)) end
  end
end

--- The face for this run: NDJSON with `json`, else by whether standard output is a terminal. It
-- has sink(event), pause() and resume() (around a question), tick() (a task, or nil) and close().
-- For specs, `options` gives write(text), terminal, columns and colour.
function M.open(json, options)
  options = options or {}
  local write, terminal = options.write or to_stdout, options.terminal
  if terminal == nil then terminal = process.is_terminal(1) end
  if json then return setmetatable({ mode = "json", write = write }, Json) end
  local face = { write = write, write_error = options.write_error or to_stderr }
  if not terminal then
    face.mode, face.since = "plain", {}
    return setmetatable(face, Plain)
  end
  local colour = options.colour
  if colour == nil then colour = (process.getenv("NO_COLOR") or "") == "" end
  face.mode, face.colour, face.columns = "terminal", colour, options.columns or process.columns()
  face.flying, face.order, face.shown = {}, {}, 0
  return setmetatable(face, Terminal)
end

return M
