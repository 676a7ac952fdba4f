--- Words, figures and columns for people.

local M = {}

--- Columns that every line of a screen fits.
M.SCREEN = 100

--- Columns that a text takes (characters, not bytes).
function M.width(text)
  return utf8.len(text) or #text
end

--- `text` filled with blanks to `width`; never cut.
function M.pad(text, width)
  return text .. (" "):rep(width - M.width(text))
end

--- `text` cut to `width` columns, with an ellipsis.
function M.cut(text, width)
  if M.width(text) <= width then return text end
  if width < 1 then return "" end
  local stop = utf8.len(text) and utf8.offset(text, width) or width
  return text:sub(1, stop - 1) .. "…"
end

--- A foreign text without what would steer a terminal: colours, cursor movements, titles, bells.
function M.plain(text)
  text = text:gsub("\27%[[0-?]*[ -/]*[@-~]", ""):gsub("\27%][^\7\27]*\27?[\7\\]?", "")
  return (text:gsub("[\0-\8\11-\31\127]", ""))
end

--- Seconds as a stop-watch shows them: 7s, 3m12s, 1h04m.
function M.elapsed(seconds)
  local s = math.tointeger(math.floor(seconds + 0.5))
  if s < 60 then return ("%ds"):format(s) end
  if s < 3600 then return ("%dm%02ds"):format(s // 60, s % 60) end
  return ("%dh%02dm"):format(s // 3600, s // 60 % 60)
end

--- Seconds as people estimate them: "40 s", "23 min", "2 h 10 min".
function M.about(seconds)
  if seconds < 90 then return ("%d s"):format(math.floor(seconds + 0.5)) end
  local minutes = math.tointeger(math.floor(seconds / 60 + 0.5))
  if minutes < 120 then return ("%d min"):format(minutes) end
  if minutes % 60 == 0 then return ("%d h"):format(minutes // 60) end
  return ("%d h %d min"):format(minutes // 60, minutes % 60)
end

-- A half that binary fractions put a hair below itself (0.045) is rounded up.
local HAIR = 1e-9

--- Dollars with cents.
function M.money(dollars)
  return ("$%.2f"):format(dollars + HAIR)
end

--- Dollars an hour; what costs less than ten cents with tenths of a cent ("$0.045/h").
function M.rate(dollars)
  if dollars >= 0.1 then return M.money(dollars) .. "/h" end
  return ("$%.3f/h"):format(dollars + HAIR)
end

--- Bytes in the unit that reads best: "512 B", "1.3 GiB".
function M.bytes(n)
  local units, i = { "B", "KiB", "MiB", "GiB", "TiB" }, 1
  while n >= 1024 and i < #units do
    n, i = n / 1024, i + 1
  end
  return (i == 1 and "%d %s" or "%.1f %s"):format(n, units[i])
end

--- "1 thing", "2 things".
function M.count(n, one, many)
  return ("%d %s"):format(n, n == 1 and one or many or one .. "s")
end

--- What an id says beside the name: nothing when it is the name, the namespace when it is that of
-- an object in one, else itself.
function M.id_beside(name, id)
  id = tostring(id or "")
  if id == name then return "" end
  local namespace, rest = id:match("^([^/]+)/(.+)$")
  return rest and rest == name and "in " .. namespace or id
end

-- ---- lines that are too long ----

-- Where a text is best cut, in this order: a blank, a path's parts, a name's.
local SEAMS = { " ", "/", "[-_.:]" }

-- The last byte of what stays on a line of `width` columns, if it can be cut behind `from`.
local function seam(whole, from, width)
  local stop = utf8.len(whole) and utf8.offset(whole, width + 1) or width + 1
  for i, pattern in ipairs(SEAMS) do
    -- A blank may be the one behind the last column.
    for at = i == 1 and stop or stop - 1, from, -1 do
      if whole:sub(at, at):find(pattern) then return at end
    end
  end
end

--- A line as lines of at most `width` columns; what follows the first stands `more` columns further
-- in (4). Blanks inside stay, and a word is cut only where it is wider than a line itself.
function M.fold(line, width, more)
  local lead = line:match "^ *"
  local hang, lines, prefix = lead .. (" "):rep(more or 4), {}, lead
  local rest = line:sub(#lead + 1)
  while M.width(prefix) + M.width(rest) > width do
    local at = seam(rest, 2, width - #prefix)
    if not at then break end
    lines[#lines + 1] = prefix .. rest:sub(1, at):gsub(" +$", "")
    rest, prefix = rest:sub(at + 1):gsub("^ +", ""), hang
  end
  lines[#lines + 1] = prefix .. rest
  return lines
end

-- ---- columns ----

local GAP = 2   -- blanks between columns
local LEAST = 20 -- what a column keeps for itself when it is made narrower

local function widths_of(rows)
  local widths = {}
  for _, row in ipairs(rows) do
    for i, cell in ipairs(row) do
      for _, line in ipairs(type(cell) == "table" and cell or { cell }) do
        widths[i] = math.max(widths[i] or 0, M.width(line))
      end
    end
  end
  return widths
end

-- Takes from the widest columns what all are wider than `limit`.
local function narrow(widths, limit)
  local over, order = (#widths - 1) * GAP - limit, {}
  for i, width in ipairs(widths) do over, order[i] = over + width, i end
  table.sort(order, function (a, b)
    if widths[a] ~= widths[b] then return widths[a] > widths[b] end
    return a < b
  end)
  for _, i in ipairs(order) do
    local less = math.min(math.max(over, 0), math.max(widths[i] - LEAST, 0))
    widths[i], over = widths[i] - less, over - less
  end
end

local function folded(rows, widths)
  local out = {}
  for n, row in ipairs(rows) do
    out[n] = {}
    for i, cell in ipairs(row) do out[n][i] = M.fold(cell, widths[i], 0) end
  end
  return out
end

-- The lines of a row whose cells are arrays of lines.
local function lines_of(row, widths, indent)
  local lines, height = {}, 1
  for _, cell in ipairs(row) do height = math.max(height, #cell) end
  for n = 1, height do
    local cells = {}
    for i, cell in ipairs(row) do cells[i] = M.pad(cell[n] or "", widths[i]) end
    lines[n] = (indent .. table.concat(cells, (" "):rep(GAP))):gsub("%s+$", "")
  end
  return lines
end

--- Rows (arrays of texts) with columns two blanks apart: an array of lines for each. With `width`,
-- no line is wider: the widest columns are folded.
function M.rows(rows, indent, width)
  local widths, out = widths_of(rows), {}
  if width then narrow(widths, width - #(indent or "")) end
  local cells = folded(rows, widths)
  widths = widths_of(cells)
  for i, row in ipairs(cells) do out[i] = lines_of(row, widths, indent or "") end
  return out
end

--- As M.rows, the lines of all rows in one array.
function M.columns(rows, indent, width)
  local lines = {}
  for _, row in ipairs(M.rows(rows, indent, width)) do
    table.move(row, 1, #row, #lines + 1, lines)
  end
  return lines
end

--- Wraps text to lines of `width` columns.
function M.wrap(text, width)
  local lines, line = {}, ""
  for word in text:gmatch("%S+") do
    if line ~= "" and M.width(line) + 1 + M.width(word) > width then
      lines[#lines + 1], line = line, ""
    end
    line = line == "" and word or line .. " " .. word
  end
  lines[#lines + 1] = line
  return lines
end

return M
