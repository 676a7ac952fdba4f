-- Planted secrets: after runs of every kind, nothing that was written holds one of them: not the
-- state folder with its ledger, records and the world's journal, not what was printed, no
-- recording.
local fs = require "rtl.fs"
local played = require "test.support.played"
local program = require "test.support.program"
local record = require "rtl.record"
local rehearse = require "rtl.rehearse"
local seams = require "rtl.rehearse.seams"
local server = require "test.support.server"

-- What the surroundings hold and nobody asked for.
local PLANTED = {
  AWS_SECRET_ACCESS_KEY = "planted/secret+key0000000000000000000001",
  AWS_SESSION_TOKEN = "plantedSessionToken000000000000000000000002",
  AWS_ACCESS_KEY_ID = "AKIAPLANTED000000003",
  HTTPS_PROXY = "http://user:plantedProxyPassword4@127.0.0.1:1",
  GITHUB_TOKEN = "ghp_plantedToken0000000000000000000005",
}

-- The world's own credentials, and what is derived from any: bearer tokens, signatures.
local function secrets_of_world()
  local keys = seams.credentials(rehearse.world "calm")
  return { keys.secret_access_key, keys.session_token }
end

local DERIVED = {
  { "a bearer token", "k8s%-aws%-v1%.[%w_-][%w_-][%w_-][%w_-][%w_-][%w_-][%w_-][%w_-]" },
  { "a signature", "[Ss]ignature[\"':= ]+" .. ("%x"):rep(64) },
}

local function search(text, where, secrets, found)
  for _, secret in ipairs(secrets) do
    if text:find(secret, 1, true) then found[#found + 1] = where .. " holds " .. secret end
  end
  for _, pair in ipairs(DERIVED) do
    if text:find(pair[2]) then found[#found + 1] = where .. " holds " .. pair[1] end
  end
end

local function search_folder(folder, secrets, found, seen)
  for _, name in ipairs(assert(fs.list(folder))) do
    local path = fs.join(folder, name)
    if fs.stat(path).type == "directory" then
      search_folder(path, secrets, found, seen)
    else
      seen[#seen + 1] = path
      search(assert(fs.read(path)), path, secrets, found)
    end
  end
end

local function all_secrets()
  local secrets = secrets_of_world()
  for _, value in pairs(PLANTED) do secrets[#secrets + 1] = value end
  secrets[#secrets + 1] = "plantedProxyPassword4"
  secrets[#secrets + 1] = "plantedSettingPassword6"
  return secrets
end

describe("planted secrets", function ()
  local state

  before_each(function () state = fs.temp_dir("rtl-secrets-") end)
  after_each(function () fs.remove_tree(state) end)

  it("are in nothing that rehearsed runs write or print", function ()
    local secrets, found, seen = all_secrets(), {}, {}
    local runs = {
      { "--rehearse=tcp-fallback", "recipes/deploy.lua", "--json" },
      { "--rehearse", "recipes/verify.lua" },
      { "--rehearse", "recipes/status.lua", "--json" },
      { "--rehearse", "recipes/teardown.lua" },
      { "--rehearse=killed,call=40", "recipes/deploy.lua" },
      { "--rehearse", "recipes/deploy.lua" },
      { "--rehearse=no-quota,name=none", "recipes/deploy.lua" },
      { "--rehearse=name=none", "recipes/deploy.lua", "--to", "settings", "--json",
        "--proxy", "http://user:plantedSettingPassword6@127.0.0.1:1" },
    }
    for _, words in ipairs(runs) do
      local ran = program.rtl(words, { state = state, env = PLANTED })
      search(ran.stdout, "output of " .. table.concat(words, " "), secrets, found)
      search(ran.stderr, "errors of " .. table.concat(words, " "), secrets, found)
    end
    search_folder(state, secrets, found, seen)
    assert.is_true(#seen > 30)
    assert.same({}, found)
  end)

  it("would be found if they were there", function ()
    local found = {}
    fs.write(fs.join(state, "a"), "x" .. PLANTED.AWS_SESSION_TOKEN .. "y")
    fs.write(fs.join(state, "b"), "Bearer k8s-aws-v1.aHR0cHM6Ly9zdHM")
    fs.write(fs.join(state, "c"), "X-Amz-Signature=" .. ("0f"):rep(32))
    search_folder(state, all_secrets(), found, {})
    assert.equal(3, #found)
  end)

  it("of a profile stay hidden where a server gives them back in its refusal", function ()
    local home = fs.join(state, "home")
    fs.mkdirs(fs.join(home, ".aws"))
    fs.write(fs.join(home, ".aws/credentials"), ("[dev]\naws_access_key_id = %s\n"
      .. "aws_secret_access_key = %s\naws_session_token = %s\n"):format(PLANTED.AWS_ACCESS_KEY_ID,
      PLANTED.AWS_SECRET_ACCESS_KEY, PLANTED.AWS_SESSION_TOKEN))
    local echo = server.start()
    local secrets, found = { PLANTED.AWS_SECRET_ACCESS_KEY, PLANTED.AWS_SESSION_TOKEN }, {}
    for _, words in ipairs { { "recipes/deploy.lua", "--json" }, { "recipes/teardown.lua" } } do
      table.insert(words, "--profile")
      table.insert(words, "dev")
      local ran = program.rtl(words, { state = state, home = home,
        env = { AWS_ENDPOINT_URL = echo.url .. "/refuse", AWS_MAX_ATTEMPTS = "1" } })
      assert.equal(5, ran.status, ran.stdout .. ran.stderr)
      assert.matches("AWS4-HMAC-SHA256", ran.stdout .. ran.stderr, 1, true)
      search(ran.stdout, "output", secrets, found)
      search(ran.stderr, "errors", secrets, found)
    end
    echo:stop()
    fs.remove_tree(home)
    search_folder(state, secrets, found, {})
    assert.same({}, found)
  end)

  it("are not in a recording of a whole deploy", function ()
    local path, recorder = fs.join(state, "recording.ndjson"), nil
    local _, leave = played.enter("calm", state, function (impl)
      recorder = record.recorder(impl, path)
      return recorder
    end)
    local name, outcome = played.run("recipes/deploy.lua")
    leave()
    recorder.close()
    assert.equal("done", name, tostring(outcome))
    local found, text = {}, assert(fs.read(path))
    search(text, "the recording", secrets_of_world(), found)
    assert.same({}, found)
    assert.is_true(select(2, text:gsub("\n", "")) > 200)
    assert.matches("CreateNatGateway", text, 1, true)
  end)
end)
