-- Regions, profiles and credentials: homes made here are read by rtl and by botocore's own
-- resolver. Where the two differ, the row says what rtl finds and why.
local array = require "rtl.array"
local aws = require "rtl.aws"
local crypto = require "rtl.native.crypto"
local err = require "rtl.err"
local fake_aws = require "test.support.fake_aws"
local fs = require "rtl.fs"
local json = require "rtl.native.json"
local process = require "rtl.process"
local python = require "test.support.python"
local rows = require "test.contract.aws_homes"
local secret = require "rtl.native.secret"

local NOW = 1790000000 -- the SSO logins of the rows end long after

local function make_home(root, row, number)
  local home = fs.join(root, tostring(number))
  assert(fs.mkdirs(home))
  for path, text in pairs(row.files or {}) do
    path = path:gsub("SHA1%((.-)%)", function (name) return crypto.hex(crypto.sha1(name)) end)
    assert(fs.mkdirs(fs.join(home, fs.dirname(path))))
    assert(fs.write(fs.join(home, path), (text:gsub("HOME", home))))
  end
  return home
end

local function environment_of(row, home)
  local variables = { HOME = home, AWS_EC2_METADATA_DISABLED = "true", PATH = "/usr/bin:/bin" }
  for name, text in pairs(row.environment or {}) do
    variables[name] = text ~= false and text:gsub("HOME", home) or nil
  end
  return variables
end

local SHOWN = { Action = true, RoleArn = true, RoleSessionName = true, ExternalId = true,
  DurationSeconds = true }

-- The value of the Authorization header, and the key id in it.
local function authorization(headers)
  for name, field in pairs(headers) do
    if type(field) == "table" then name, field = field[1], field[2] end
    if name:lower() == "authorization" then
      local text = secret.reveal(field)
      local id = text:match "^AWS4%-.*Credential=([^/]+)"
      return not id and text or nil, id or ""
    end
  end
  return nil, ""
end

local function shown(req)
  local out = { method = req.method or "GET", url = req.url }
  out.authorization, out.key = authorization(req.headers)
  local body = req.body and secret.reveal(req.body) or ""
  for name, field in body:gmatch "([^&=]+)=([^&]*)" do
    if SHOWN[name] then
      out[name] = field:gsub("%%(%x%x)", function (hex) return string.char(tonumber(hex, 16)) end)
    end
  end
  -- Each program has a name of its own where none is given.
  if (out.RoleSessionName or ""):find "^rtl%-" then out.RoleSessionName = nil end
  return out
end

-- A real program, in spite of the fakes.
local function run(options)
  local fakes = process.use {}
  local done, failure = process.run(options)
  process.use(fakes)
  return done, failure
end

-- What rtl finds: {keys, region, endpoint, asked, error}.
local function look(row, variables)
  local answers = {}
  for i, answer in ipairs(row.answers or {}) do answers[i] = answer end
  for i = #answers + 1, 20 do
    answers[i] = { err = err.new { code = "RTL-NET-005", message = "nobody is there" } }
  end
  local fake = fake_aws.install(answers, NOW)
  local undo = fake_aws.environment(variables, run)
  local found = { asked = array {} }
  local session, failure = aws.session { profile = row.profile }
  found.region = session and session.region
  if failure and failure.code == "RTL-AWS-001" then
    session, failure = aws.session { profile = row.profile, region = "us-east-1" }
  end
  local creds
  if session then creds, failure = session.credentials:get() end
  if creds then
    found.keys = { creds.access_key_id, secret.reveal(creds.secret_access_key),
      creds.session_token and secret.reveal(creds.session_token) or "" }
  end
  if session and row.endpoint_of then
    found.endpoint = session:client(row.endpoint_of).endpoint.url
  end
  for i, req in ipairs(fake.requests) do found.asked[i] = shown(req) end
  found.error = failure and tostring(failure)
  undo()
  fake.restore()
  return found
end

describe("regions, profiles and credentials", function ()
  local root, ours, theirs

  lazy_setup(function ()
    root = assert(fs.temp_dir "rtl-homes-")
    local cases = array {}
    ours = {}
    for i, row in ipairs(rows) do
      local variables = environment_of(row, make_home(root, row, i))
      ours[i] = look(row, variables)
      cases[i] = { environment = variables, profile = row.profile, endpoint_of = row.endpoint_of,
        answers = array(table.move(row.answers or {}, 1, #(row.answers or {}), 1, {})) }
    end
    theirs = json.decode(python.run("test/contract/aws_homes.py", json.encode(cases)))
  end)

  lazy_teardown(function () assert(fs.remove_tree(root)) end)

  local function same_as_botocore(i, row)
    local mine, other = ours[i], theirs[i]
    local context = ("%s\nrtl: %s\nbotocore: %s"):format(row.what, mine.error or "",
      other.error or "")
    assert.same(other.keys, mine.keys, context)
    if row.endpoint_of then assert.equal(other.endpoint, mine.endpoint, context) end
    if other.region then assert.equal(other.region, mine.region, context) end
    if row.asked then assert.same(other.asked, mine.asked, context) end
  end

  for i, row in ipairs(rows) do
    it(row.what, function ()
      if row.keys ~= nil then
        local keys = ours[i].keys and table.concat(ours[i].keys, " ") or false
        assert.equal(row.keys, keys, ours[i].error)
      end
      if row.region then assert.equal(row.region, ours[i].region) end
      if row.but then
        local differs = pcall(same_as_botocore, i, row) == false
        assert.is_true(differs, "botocore does the same now: " .. row.but)
      else
        same_as_botocore(i, row)
      end
    end)
  end
end)
