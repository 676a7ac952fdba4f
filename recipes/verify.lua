--- The transport verdict of the deployment's last job, judged again from what its run recorded.
--
--   rtl recipes/verify.lua                   exit code 0: EFA; 3: anything else, and no job yet
--   rtl recipes/verify.lua --proof log       the log alone is enough
--   rtl recipes/verify.lua --transport any   0 whatever it says, once there is a job
--
-- Of a job that failed the exit code is 1, unless its transport is known not to be EFA: then 3.
-- Reads the record of the run (NCCL's files and the counters before and after); runs no job.

local fs = require "rtl.fs"
local ray_job = require "rtl.recipe.ray_job"
local report = require "rtl.recipe.report"
local verdict = require "rtl.recipe.verdict"

local function read_tree(folder, prefix, files)
  for _, name in ipairs(fs.list(folder) or {}) do
    local path = fs.join(folder, name)
    local stat = fs.stat(path)
    if stat and stat.type == "directory" then
      read_tree(path, prefix .. name .. "/", files)
    elseif stat then
      files[#files + 1] = { name = prefix .. name, text = assert(fs.read(path)) }
    end
  end
  return files
end

-- The counters of each node, as the two readings were saved: NODE.before, NODE.after.
local function counters_of(record)
  local nodes, before, after, seen = {}, {}, {}, {}
  for _, file in ipairs(read_tree(fs.join(record, "counters"), "", {})) do
    local node, when = file.name:match("^(.*)%.(%a+)$")
    if node and not seen[node] then
      nodes[#nodes + 1], seen[node] = node, true
    end
    if when == "before" then
      before[node] = file.text
    elseif node then
      after[node] = file.text
    end
  end
  return nodes, before, after
end

return {
  title = "Verdict of the last job",
  settings = { "settings" },

  action = function (run)
    local known = run.record:recall("job")
    if not known then
      run:fail { code = "RTL-STEP-009", exit = "transport",
        message = "no job of this deployment was judged yet" }
    end
    local record = fs.join(run.record.folder, "runs", known.run)
    local job = { files = read_tree(fs.join(record, "nccl"), "", {}),
      result = known.result or {} }
    job.nodes, job.before, job.after = counters_of(record)
    local found = verdict.of(ray_job.join(run, job))
    found.exit = verdict.exit(found, known.status)
    run:verdict(found)
    local lines = report.verdict(found)
    lines[#lines + 1] = "Job      " .. report.job { id = known.id, status = known.status,
      seconds = known.seconds, text = "at " .. known.at }
    lines[#lines + 1] = "Record   " .. record
    report.world(lines)
    run:emit { type = "text", lines = lines }
  end,
}
