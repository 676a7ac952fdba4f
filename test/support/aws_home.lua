--- For specs of the credential chain: a home folder with AWS' files in it, an environment of its
-- own, no network and no programs but the fakes'.

local assert = require "luassert"
local aws = require "rtl.aws"
local fake_aws = require "test.support.fake_aws"
local fs = require "rtl.fs"
local secret = require "rtl.native.secret"

local M = {}

local home = {}
home.__index = home

--- Makes one; returns it with `path`, `variables` (the environment, to be changed) and `fake` (the
-- wire and the clock).
function M.open()
  local path = assert(fs.temp_dir "rtl-aws-")
  local variables = { HOME = path, AWS_EC2_METADATA_DISABLED = "true" }
  return setmetatable({ path = path, variables = variables, fake = fake_aws.install(),
                        undo = fake_aws.environment(variables) }, home)
end

--- Removes it, and puts back what was there before.
function home:close()
  self.fake.restore()
  self.undo()
  assert(fs.remove_tree(self.path))
end

--- From now on processes are run by `run`, and a person types `lines`: as fake_aws.environment.
function home:surroundings(run, lines)
  self.undo()
  self.undo = fake_aws.environment(self.variables, run, lines)
end

--- Writes .aws/NAME.
function home:write(name, text)
  assert(fs.mkdirs(fs.join(self.path, ".aws")))
  assert(fs.write(fs.join(self.path, ".aws", name), text))
end

--- The credentials of a session, or nil and the error.
function M.found(options)
  local given = { region = "us-east-1" }
  for key, value in pairs(options or {}) do given[key] = value end
  local session, failure = aws.session(given)
  if not session then return nil, failure end
  return session.credentials:get()
end

--- Fails unless these are the keys; without a token when none is given.
function M.same_keys(creds, id, key, token)
  assert.equal(id, creds.access_key_id)
  assert.is_true(secret.is(creds.secret_access_key))
  assert.is_true(secret.equals(creds.secret_access_key, key))
  if token then
    assert.is_true(secret.equals(creds.session_token, token))
  else
    assert.is_nil(creds.session_token)
  end
end

return M
