--- The verdict of saved NCCL logs: which network they show, the line that proves it, and why.
--
--   rtl recipes/nccl_log.lua rank0.log rank1.log      one job's files together
--   … | rtl recipes/nccl_log.lua -                   from standard input
--
-- Needs no cluster. A log proves EFA only as far as a log can: the counters are not read here.
-- Exit code 0: EFA (or one node); 3: anything else. --transport any: 0 whatever it says.

local err = require "rtl.err"
local fs = require "rtl.fs"
local nccl = require "rtl.nccl"
local report = require "rtl.recipe.report"
local verdict = require "rtl.recipe.verdict"

local function read(name)
  if name == "-" then return { name = "standard input", text = io.stdin:read("a") } end
  local text, failure = fs.read(name)
  if text then return { name = name, text = text } end
  return error(err.wrap(failure, { doing = "read a log", exit = "usage" }), 0)
end

return {
  title = "Verdict of saved NCCL logs",
  settings = { "settings" },
  words = "FILE…",

  action = function (run)
    if #run.words == 0 then
      error(err.new { code = "RTL-CLI-002", message = "name at least one log file",
        hint = "rtl recipes/nccl_log.lua rank0.log rank1.log, or - for standard input" }, 0)
    end
    local files = {}
    for i, name in ipairs(run.words) do files[i] = read(name) end
    local joined = nccl.join { log = nccl.classify(files, {}), proof = "log",
      transport = run.settings.transport }
    local found = verdict.of(joined)
    run:verdict(found)
    run:emit { type = "text", lines = report.verdict(found) }
  end,
}
