--- The command line: what the words after `rtl` mean.

local M = {}

--- Runs the command line in `args` (args[0] is the program's name). Returns the exit code.
function M.main(args)
  local script = args[1]
  if not script then return 0 end
  if script == "-e" then
    assert(load(args[2] or "", "=(command line)"))()
    return 0
  end
  local chunk = assert(loadfile(script))
  _G.arg = table.move(args, 1, #args, 0, { })
  chunk(table.unpack(args, 2))
  return 0
end

return M.main
