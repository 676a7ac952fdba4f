-- Credentials that are kept until they age: fetched once for all, early, and again after a failure.
local credentials = require "rtl.aws.credentials"
local err = require "rtl.err"
local fake_aws = require "test.support.fake_aws"
local secret = require "rtl.native.secret"
local task = require "rtl.task"

local fake, undo

describe("kept credentials", function ()
  before_each(function ()
    fake, undo = fake_aws.install(), fake_aws.environment {}
  end)
  after_each(function ()
    fake.restore()
    undo()
  end)

  local function keys(id, seconds)
    return {
      access_key_id = id, secret_access_key = secret.new "s", source = "test",
      expires = seconds and fake.start + seconds,
    }
  end

  it("are fetched once for many tasks", function ()
    local count = 0
    local provider = credentials.new(function ()
      count = count + 1
      task.sleep(1)
      return keys("A", 3600)
    end)
    local ids = task.run(function ()
      return task.map({ 1, 2, 3, 4, 5 }, function () return provider:get().access_key_id end)
    end)
    assert.same({ "A", "A", "A", "A", "A" }, ids)
    assert.equal(1, count)
  end)

  it("share a failure, and are asked for again next time", function ()
    local count = 0
    local provider = credentials.new(function ()
      count = count + 1
      task.sleep(1)
      if count == 1 then return err.fail { code = "X", message = "no" } end
      return keys("A", 3600)
    end)
    local codes = task.run(function ()
      return task.map({ 1, 2, 3 }, function ()
        local _, e = provider:get()
        return e.code
      end)
    end)
    assert.same({ "X", "X", "X" }, codes)
    assert.equal(1, count)
    assert.equal("A", provider:get().access_key_id)
  end)

  -- A provider whose keys live for `life` seconds and take a second to fetch, and the ids that a
  -- hundred tasks get when `left` seconds of the first ones are left.
  local function hundred(life, seconds_left)
    local count = 0
    local provider = credentials.new(function ()
      count = count + 1
      if count > 1 then task.sleep(1) end
      return keys(("K%d"):format(count), fake.now + life)
    end)
    assert.equal("K1", provider:get().access_key_id)
    fake.now = life - seconds_left
    local list, seen = {}, {}
    for i = 1, 100 do list[i] = i end
    task.run(function ()
      task.map(list, function ()
        local id = provider:get().access_key_id
        seen[id] = (seen[id] or 0) + 1
      end)
    end)
    return seen, count
  end

  it("are fetched once for a hundred tasks, and these wait only when they must", function ()
    for _, case in ipairs {
      { 3600, 901, { K1 = 100 }, 1 }, -- not yet
      { 3600, 899, { K1 = 99, K2 = 1 }, 2 }, -- one task fetches, the others go on
      { 3600, 599, { K2 = 100 }, 2 }, -- all wait
      { 3600, -1, { K2 = 100 }, 2 }, -- too late: all wait
      { 900, 301, { K1 = 100 }, 1 }, -- short sessions are not fetched all the time
      { 900, 299, { K1 = 99, K2 = 1 }, 2 },
      { 900, 199, { K2 = 100 }, 2 },
    } do
      fake.now = 0
      local seen, count = hundred(case[1], case[2])
      assert.same({ case[3], case[4] }, { seen, count }, ("%d, %d"):format(case[1], case[2]))
    end
  end)

  it("that a person gave a code for are replaced as late as can be", function ()
    local count = 0
    local provider = credentials.new(function ()
      count = count + 1
      local creds = keys(("K%d"):format(count), fake.now + 3600)
      creds.asked = true
      return creds
    end)
    for _, case in ipairs { { 0, "K1" }, { 3500, "K1" }, { 3541, "K2" }, { 7000, "K2" } } do
      fake.now = case[1]
      assert.equal(case[2], provider:get().access_key_id)
    end
    assert.equal(2, count)
  end)

  it("that have ended when they come are refused, with what to do", function ()
    local provider = credentials.new(function () return keys("A", -1) end)
    local none, e = provider:get()
    assert.is_nil(none)
    assert.equal("RTL-CRED-012", e.code)
    assert.matches("run the same command again", e.hint, 1, true)
  end)

  it("that the service called ended twice are not taken from their source again", function ()
    local id = "A"
    local provider = credentials.new(function () return keys(id) end)
    provider:expire(provider:get())
    provider:expire(assert(provider:get()))
    local none, e = provider:get()
    assert.is_nil(none)
    assert.equal("RTL-CRED-012", e.code)
    id = "B"
    assert.equal("B", provider:get().access_key_id)
  end)

  -- A provider with a person: what the source gives at each time (keys or an error), what is typed.
  local function asked(given, typed)
    local prompts = {}
    local provider = credentials.new(function ()
      local one = table.remove(given, 1)
      if one.code then return nil, err.new(one) end
      return one
    end, { ask = function (prompt)
      prompts[#prompts + 1] = prompt
      return table.remove(typed, 1)
    end })
    return provider, prompts
  end

  local function logged_out()
    return { code = "RTL-CRED-010", message = "the SSO login has expired", renew = "log in" }
  end

  it("are asked for when a person can renew them, once the old ones are over", function ()
    local provider, prompts = asked({ keys("A", 3600), logged_out(), logged_out(), logged_out(),
      keys("B", 9000) }, { "", "" })
    assert.equal("A", provider:get().access_key_id)
    fake.now = 3100
    assert.equal("A", provider:get().access_key_id) -- they hold: nobody is bothered
    assert.same({}, prompts)
    fake.now = 3600
    assert.equal("B", provider:get().access_key_id)
    assert.same({ "the SSO login has expired. In another terminal, log in. Then press Enter to go "
      .. "on, or type stop: " }, { prompts[1] })
    assert.equal(2, #prompts)
  end)

  it("are given up when the person stops, or is gone", function ()
    for _, typed in ipairs { { "stop" }, {} } do
      fake.now = 0
      local provider = asked({ keys("A", 3600), logged_out() }, typed)
      assert(provider:get())
      fake.now = 3700
      local none, e = provider:get()
      assert.is_nil(none)
      assert.equal("RTL-CRED-010", e.code)
    end
  end)

  it("are not asked for at the beginning", function ()
    local provider, prompts = asked({ logged_out() }, { "" })
    local none, e = provider:get()
    assert.is_nil(none)
    assert.equal("RTL-CRED-010", e.code)
    assert.same({}, prompts)
  end)

  it("are replaced ten minutes before they end, and serve on when that fails", function ()
    local next_keys = keys("A", 3600)
    local count = 0
    local provider = credentials.new(function ()
      count = count + 1
      if not next_keys then return err.fail { code = "X", message = "no" } end
      return next_keys
    end)
    assert.equal("A", provider:get().access_key_id)
    fake.now = 2600
    assert.equal("A", provider:get().access_key_id)
    assert.equal(1, count)
    fake.now, next_keys = 3100, nil
    assert.equal("A", provider:get().access_key_id)
    assert.equal("A", provider:get().access_key_id) -- not asked again at once
    assert.equal(2, count)
    fake.now, next_keys = 3200, keys("B", 7200)
    assert.equal("B", provider:get().access_key_id)
    fake.now, next_keys = 7300, nil
    local none, e = provider:get()
    assert.is_nil(none)
    assert.equal("X", e.code)
  end)

  it("do not hold others up when their fetcher is cancelled", function ()
    local count = 0
    local provider = credentials.new(function ()
      count = count + 1
      task.sleep(count == 1 and 100 or 1)
      return keys("A", 3600)
    end)
    local id = task.run(function ()
      return task.group(function (g)
        g:spawn(function () task.deadline(5, function () return provider:get() end) end)
        task.sleep(1)
        return provider:get().access_key_id
      end)
    end)
    assert.equal("A", id)
    assert.equal(2, count)
  end)
end)
