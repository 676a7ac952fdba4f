--- `rtl tour`: a first walk in five commands.

local host = require "rtl.native.host"
local output = require "rtl.cli.output"

local M = {}

--- The sub-command. Returns the exit code.
function M.run()
  output.write(host.embedded("host/tour.txt"))
  return require("rtl.cli.exit").done
end

return M
