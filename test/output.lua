-- busted's output as this project wants it: every failure whole, one closing line with the counts.
local function show(kind, item)
  local trace = item.element and item.element.trace or {}
  local message = item.message
  if type(message) == "table" and not getmetatable(message) then
    message = require("pl.pretty").write(message)
  end
  local text = tostring(message or "no message"):gsub("\n", "\n  ")
  io.write(("\n%s %s:%s\n  %s\n  %s\n"):format(kind, trace.short_src or "?",
    trace.currentline or "?", item.name or "?", text))
end

return function ()
  local busted = require "busted"
  local handler = require "busted.outputHandlers.base" ()

  function handler.suiteEnd()
    for _, item in ipairs(handler.failures) do show("FAILED", item) end
    for _, item in ipairs(handler.errors) do show("ERROR", item) end
    for _, item in ipairs(handler.pendings) do show("skipped", item) end
    io.write(("specs: %d passed, %d failed, %d skipped\n"):format(handler.successesCount,
      handler.failuresCount + handler.errorsCount, handler.pendingsCount))
    io.flush()
    return nil, true
  end

  busted.subscribe({ "suite", "end" }, handler.suiteEnd)
  return handler
end
