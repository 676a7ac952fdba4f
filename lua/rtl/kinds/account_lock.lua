--- The account's lock of a deployment, against a second machine: an SSM parameter that is put
-- without overwrite. Its value names run and expiry; an expired one is taken by an overwriting put,
-- and is owned by the writer whose version is the old one plus one.

local clock = require "rtl.clock"
local err = require "rtl.err"
local json = require "rtl.native.json"
local process = require "rtl.process"
local support = require "rtl.kinds.support"

local M = {}
local Lock = {}
Lock.__index = Lock

-- Longer than all that a run makes or removes can take; what it waits for beside that is added.
local LASTS = 4 * 3600

--- What the lock needs of IAM (rtl.plan.policy).
M.actions = { { "ssm:GetParameter", "ssm:PutParameter", "ssm:DeleteParameter",
  on = "parameter/rtl/{deployment}/lock" } }

local function name_of(ctx)
  return "/rtl/" .. ctx.deployment .. "/lock"
end

local function value_of(ctx, seconds)
  return json.encode { run = ctx.run_id, host = process.hostname(),
    expires = clock.iso(clock.utc() + seconds) }
end

local function current(ctx)
  local answer, failure = support.absent_if_missing(
    ctx:aws("ssm"):get_parameter { Name = name_of(ctx) })
  if not answer then return nil, failure end
  local holder = json.decode(answer.Parameter.Value) or {}
  return { version = answer.Parameter.Version, run = holder.run, host = holder.host,
    expires = holder.expires or "" }
end

local function expired(holder)
  local at = clock.parse_iso(holder.expires)
  return not at or at < clock.utc()
end

local function held(holder)
  return err.new { code = "RTL-PLAN-020", exit = "refused",
    message = ("run %s on %s holds the account's lock until %s"):format(tostring(holder.run),
      tostring(holder.host), holder.expires),
    hint = ("Wait for it to end, or until then; if you know that it is dead: --dead-run %s")
      :format(tostring(holder.run)) }
end

local function put(ctx, seconds, overwrite)
  return ctx:aws("ssm"):put_parameter { Name = name_of(ctx), Type = "String",
    Value = value_of(ctx, seconds), Overwrite = overwrite or false }
end

-- Two may see the same expired lock: only the one whose put made the next version has it.
local function take_over(ctx, seconds, holder)
  local answer, failure = put(ctx, seconds, true)
  if not answer then
    local now = failure.sent and current(ctx)
    if now and now.run == ctx.run_id then return now.version end
    return nil, failure
  end
  if answer.Version == holder.version + 1 then return answer.Version end
  return nil, held(assert(current(ctx)))
end

-- A put whose outcome is unknown may be ours: the value tells.
local function settle(ctx, failure)
  local holder, unread = current(ctx)
  if not holder then return nil, unread or failure end
  if holder.run == ctx.run_id then return holder.version end
  return nil, nil, holder
end

local TRIES = 3

-- Puts the lock where there is none. A put that got lost on its way is sent again.
local function put_new(ctx, seconds)
  for try = 1, TRIES do
    local answer, failure = put(ctx, seconds, false)
    if answer or not failure.sent or try == TRIES or current(ctx) then return answer, failure end
  end
end

--- Takes the lock: returns it (close(), `<close>`), or nil and RTL-PLAN-020 that names the holder.
-- It lasts 4 h and options.waits seconds if nobody gives it back: a run that died is held for that
-- long, and is no hindrance where options.dead (a set of run ids) has its run.
function M.take(ctx, options)
  options = options or {}
  local seconds = LASTS + (options.waits or 0)
  local answer, failure = put_new(ctx, seconds)
  local version = answer and answer.Version
  if not answer then
    if failure.code ~= "ParameterAlreadyExists" and not failure.sent then return nil, failure end
    local holder, why
    version, why, holder = settle(ctx, failure)
    if why then return nil, why end
    if holder then
      local ours = options.dead and options.dead[holder.run]
      if not (ours or expired(holder)) then return nil, held(holder) end
      version, why = take_over(ctx, seconds, holder)
      if not version then return nil, why end
    end
  end
  return setmetatable({ ctx = ctx, version = version }, Lock)
end

--- Gives the lock back, if it is still ours. Idempotent.
function Lock:close()
  if self.closed then return true end
  self.closed = true
  local holder, failure = current(self.ctx)
  if failure then return nil, failure end
  if not holder or holder.run ~= (self.of or self.ctx.run_id) then return true end
  local done, refused = self.ctx:aws("ssm"):delete_parameter { Name = name_of(self.ctx) }
  if not done and not support.not_found(refused) then return nil, refused end
  return true
end

Lock.__close = Lock.close

--- Gives back what a run that died left: deletes the lock if `dead` (a set of run ids) names its
-- holder. Returns true, or nil, err.
function M.release_dead(ctx, dead)
  local holder, failure = current(ctx)
  if failure then return nil, failure end
  if not holder or not dead[holder.run] then return true end
  return Lock.close(setmetatable({ ctx = ctx, of = holder.run }, Lock))
end

return M
