--- Step 6: runs the job on the Ray cluster and says which network it really took.
--
-- The job is submitted from the head pod (port 8265 is never exposed), followed to its true end,
-- and judged: NCCL's own log of each rank, and the EFA counters of each node before and after.
-- A job that ended well with the same script and settings is not submitted again.

local counters = require "rtl.recipe.counters"
local err = require "rtl.err"
local fs = require "rtl.fs"
local pods = require "rtl.recipe.ray_pods"
local ray_job = require "rtl.recipe.ray_job"
local verdict = require "rtl.recipe.verdict"

-- The script beside the recipe, else a path of the operator's.
local function script_text(run)
  local name = run.settings.script
  if not fs.exists(name) then return run:asset(name) end
  local text, failure = fs.read(name)
  return text or error(err.wrap(failure, { doing = "read the job's script", exit = "usage" }), 0)
end

-- What NCCL_NET is pinned to: the plugin's network name, as the plugin in the worker spells it.
local function pin_of(run, worker)
  if not run.settings.pin or run.settings.transport == "any" then return nil end
  local plugin = pods.versions(run, worker).plugin
  if plugin and plugin.name then return plugin.name end
  run:note("no NCCL network plugin was found in the worker: the transport is not pinned")
  return nil
end

local function read_counters(run, nodes, when)
  run:progress("reading the EFA counters " .. when .. " the job")
  local texts, errors = counters.read(run, nodes)
  for _, node in ipairs(nodes) do
    if errors[node] then run:note(("counters of %s: %s"):format(node, errors[node])) end
  end
  return texts
end

-- Follows the job to its end and brings home all that is known of it.
local function finish(run, found, id, submitted)
  run.outcome.running = id
  local job = ray_job.follow(run, found.jobs, id)
  run.outcome.running = nil
  job.id, job.digest, job.nodes, job.env = id, found.digest, ray_job.nodes(run, submitted.before),
    submitted.env
  job.before, job.submitted_by = submitted.before, submitted.run
  job.after = read_counters(run, job.nodes, "after")
  job.result = ray_job.result(job.log)
  return job
end

-- Reads the counters, then submits. What was read is remembered first: a run that dies here is
-- taken up by the next one, which still knows what stood before.
local function perform(run, found)
  local worker, id = pods.list(run, "worker")[1], found.next_id
  local pin = worker and pin_of(run, worker)
  local before = read_counters(run, ray_job.nodes(run), "before")
  local env = ray_job.environment(run, id, pin)
  local submitted = { id = id, digest = found.digest, before = before, env = env, run = run.id }
  assert(run.record:remember("submitted", submitted))
  ray_job.submit(run, found.head, found.jobs, id, script_text(run), env)
  run:emit { type = "job", id = id, status = pin and "submitted, pinned to " .. pin or "submitted" }
  return finish(run, found, id, submitted)
end

local function report(run, job)
  job.verdict = verdict.of(ray_job.join(run, job))
  job.verdict.exit = verdict.exit(job.verdict, job.info.status)
  -- What the containers set, and the job's own runtime environment above it.
  local wanted = { FI_PROVIDER = "efa", NCCL_NET_PLUGIN = "ofi" }
  for name, value in pairs(job.env) do wanted[name] = value end
  local text, wrong = ray_job.check_environment(job.files, wanted)
  table.insert(job.verdict.lines, text)
  for _, difference in ipairs(wrong) do run:note(difference, { sign = "✗" }) end
  ray_job.keep(run, job)
  run:verdict(job.verdict)
  run:job { id = job.id, status = job.info.status, seconds = job.seconds,
    exit_code = job.info.driver_exit_code, message = job.info.message }
end

local RUNNING = { PENDING = true, RUNNING = true }

-- What is known of the newest job's end, from the record. A cluster made anew counts its jobs from
-- one again: a verdict is this job's only if it is of the run that submitted it.
local function judged(run, found)
  local known, submitted = run.record:recall("job"), found.submitted
  local same = known and known.id == found.id and known.digest == found.digest
    and not (submitted and submitted.id == known.id and submitted.run ~= known.submitted_by)
  return same and known or nil
end

-- Whether what was found out leaves the transport open (a pod went with its files, say): only
-- another job can tell. One that did not use NCCL would not use it again.
local function is_open(shown)
  return shown.verdict == "UNKNOWN" and shown.exit ~= "done" and shown.class ~= "NOT_USED"
end

-- The verdict of the job if it ended well before; nil when it must run (again).
local function ended_well(run, found)
  local well = found.info and found.info.status == "SUCCEEDED" and not run.settings.again
  local shown = well and found.judged and found.judged.verdict
  return shown and not is_open(shown) and found.judged or nil
end

-- Whether the newest job was submitted by a run that did not live to see its end.
local function left_behind(found)
  local submitted = found.submitted
  if not (found.info and submitted and submitted.id == found.id) then return false end
  return RUNNING[found.info.status] or found.info.status == "SUCCEEDED" and not found.judged
end

-- What stands: head, jobs, the newest job of this script and settings, and the id for a new one.
local function look(run)
  local head = pods.head(run)
  local found = { head = head, jobs = pods.jobs(run, head) }
  found.digest = ray_job.digest(run, script_text(run))
  found.id, found.info, found.next_id = ray_job.find(run, found.jobs, found.digest)
  found.submitted = run.record:recall("submitted")
  found.judged = judged(run, found)
  found.known = ended_well(run, found)
  return found
end

return {
  title   = "Run the job and judge its transport",
  creates = "a Ray job; two short-lived pods that read the EFA counters, twice",

  -- Before anything is made: the script is there.
  preflight = function (run) script_text(run) end,

  -- Whether there is something to do, for the plan. Before there is a cluster there always is.
  pending = function (run)
    local ok, found = pcall(look, run)
    if not ok and not err.is(found) then error(found, 0) end
    if not ok then return "submit the job " .. run.settings.script end
    if found.known then return nil end
    if left_behind(found) then return "follow the job " .. found.id .. " to its end" end
    return ("submit the job %s as %s"):format(run.settings.script, found.next_id)
  end,

  action = function (run)
    local found = look(run)
    if found.known then
      run:note(("job %s ended well before: not submitted again"):format(found.id))
      run:verdict(verdict.again(found.known.verdict, run.settings.transport, found.info.status))
      return run:job { id = found.id, status = found.info.status, seconds = found.known.seconds,
        text = "verdict of " .. found.known.at }
    end
    if left_behind(found) then
      run:note("job " .. found.id .. " was submitted by an earlier run: following it")
      return report(run, finish(run, found, found.id, found.submitted))
    end
    report(run, perform(run, found))
  end,

  -- The job's end and its verdict are the run's outcome; here is what was checked on the way.
  verify = function (run)
    local job = run.outcome.job
    local proofs = { ("job %s: %s"):format(job.id, job.status) }
    local shown = run.outcome.verdict
    proofs[#proofs + 1] = ("transport: %s, %s"):format(shown.verdict, shown.text)
    return proofs
  end,
}
