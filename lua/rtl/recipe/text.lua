--- Words, figures and columns for people.

local M = {}

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

--- Rows (arrays of texts) as lines with columns two blanks apart.
function M.columns(rows, indent)
  local widths, lines = {}, {}
  for _, row in ipairs(rows) do
    for i, cell in ipairs(row) do widths[i] = math.max(widths[i] or 0, M.width(cell)) end
  end
  for n, row in ipairs(rows) do
    local cells = {}
    for i, cell in ipairs(row) do
      cells[i] = i < #row and M.pad(cell, widths[i]) or cell
    end
    lines[n] = (indent or "") .. (table.concat(cells, "  "):gsub("%s+$", ""))
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
