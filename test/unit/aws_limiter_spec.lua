-- How fast a service is asked, in virtual time, against a service with a bucket of tokens.
local aws = require "rtl.aws"
local clock = require "rtl.clock"
local credentials = require "rtl.aws.credentials"
local crowd = require "test.support.crowd"
local fake_aws = require "test.support.fake_aws"
local fs = require "rtl.fs"
local limiter = require "rtl.aws.limiter"
local task = require "rtl.task"

describe("a limiter", function ()
  local now, former

  before_each(function ()
    now = 0
    former = clock.use {
      mono = function () return now end, utc = function () return now end,
      advance = function (to) now = to end,
    }
  end)
  after_each(function () clock.use(former) end)

  it("settles near what the service admits, and is seldom refused", function ()
    for _, row in ipairs {
      { holds = 100, refill = 20, rate = 20, refused = 0.02 },
      { holds = 100, refill = 20, refused = 0.02 },
      { holds = 50, refill = 5, rate = 20, refused = 0.05 },
      { holds = 10, refill = 2, refused = 0.1 },
    } do
      now = 0
      local s = crowd.service(row.holds, row.refill)
      crowd.ask(limiter.new(row.rate), s, 50, 180)
      local rate, refused = s.between(60, 180)
      assert.near(row.refill, rate, row.refill / 10)
      local _, all = s.between(0, 180)
      assert.is_true(refused / (120 * row.refill) <= row.refused, refused)
      assert.is_true(all / (180 * row.refill) <= 2 * row.refused, all)
      -- The same crowd without it is refused more often than not.
      now = 0
      local alone = crowd.service(row.holds, row.refill)
      crowd.ask(nil, alone, 50, 90)
      local admitted, turned_away = alone.between(60, 90)
      assert.is_true(turned_away > 30 * admitted, turned_away)
    end
  end)

  it("holds nothing back before the service does, and nothing after it no longer does", function ()
    local free = crowd.service(math.huge, 1)
    crowd.ask(limiter.new(20), free, 50, 5)
    assert.near(10 / crowd.ANSWER_TAKES, free.between(0, 5), 4)
    now = 0
    local s = crowd.service(100, 20)
    task.run(function ()
      task.group(function (g)
        g:spawn(function ()
          task.sleep(150)
          s.holds, s.refill = 1e6, 1e6
        end)
        g:spawn(crowd.ask, limiter.new(20), s, 50, 235)
      end)
    end)
    assert.near(20, s.between(60, 150), 2)
    local rate, refused = s.between(230, 235)
    assert.near(10 / crowd.ANSWER_TAKES, rate, 4)
    assert.equal(0, refused)
  end)

  it("slows down once for all calls that were under way", function ()
    local l = limiter.new()
    for _ = 1, 10 do l:with(function () end) end
    for _ = 1, 10 do l:throttled(0) end
    assert.near(7, l:rate(0), 1e-9)
    now = 1
    l:throttled(0)
    assert.near(7 * 1.05, l:rate(1), 1e-9)
    l:throttled(0.5)
    assert.near(7 * 1.05 * 0.7, l:rate(1), 1e-9)
    assert.is_nil(l:rate(62))
  end)

  it("lets others go on when one that waits is cancelled", function ()
    local l, done = limiter.new(), 0
    l:throttled(0)
    task.run(function ()
      task.group(function (g)
        local tasks = {}
        for i = 1, 16 do
          tasks[i] = g:spawn(function () l:with(function () done = done + 1 end) end)
        end
        task.yield()
        tasks[2]:cancel() -- it waits for the pace
        tasks[14]:cancel() -- and this one for a place
      end)
    end)
    assert.equal(14, done)
    assert.equal(0, task.live().timers)
  end)
end)

describe("the limiters of a session", function ()
  local home, fake, undo

  before_each(function ()
    home = assert(fs.temp_dir "rtl-limiter-")
    fake, undo = fake_aws.install(), fake_aws.environment { HOME = home }
  end)
  after_each(function ()
    fake.restore()
    undo()
    assert(fs.remove_tree(home))
  end)

  it("are one for a service in a region, whoever asks", function ()
    local session = assert(aws.session { region = "us-east-1", credentials = fake_aws.KEYS })
    local function limiter_of(service_name, options)
      return session:client(service_name, options).limiter
    end
    local ec2 = limiter_of "ec2"
    assert.equal(ec2, limiter_of("ec2", { endpoint = "http://127.0.0.1:1" }))
    assert.not_equal(ec2, limiter_of("ec2", { region = "us-west-2" }))
    assert.not_equal(ec2, limiter_of "eks")
    -- IAM is one service for all regions of a partition.
    assert.equal(limiter_of "iam", limiter_of("iam", { region = "us-west-2" }))
  end)

  local function client(service_name)
    return aws.client(service_name, {
      region = "us-east-1", credentials = credentials.static(fake_aws.KEYS),
    })
  end

  local function throttle()
    return { status = 400, body = '{"__type":"ThrottlingException","message":"m"}' }
  end

  it("slow a client down that was throttled, before it signs", function ()
    local ssm, signed = client "ssm", {}
    local function note(req)
      for _, pair in ipairs(req.headers) do
        if pair[1]:lower() == "x-amz-date" then signed[#signed + 1] = pair[2] end
      end
      return { body = "{}" }
    end
    fake.answers = { throttle() }
    for _ = 1, 11 do fake.answers[#fake.answers + 1] = note end
    task.run(function ()
      task.map({ 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 }, function ()
        return assert(ssm:get_parameter { Name = "n" })
      end)
    end)
    assert.near(10 / 5, fake.now, 0.2) -- five a second, a little more with each
    assert.equal(11, #signed)
    assert.equal(clock.amz(fake.start + fake.now), signed[#signed])
  end)

  it("bring every call of a crowd through, at the pace that the service bears", function ()
    local ec2 = client "ec2"
    local s, refused = crowd.service(20, 5), 0
    for i = 1, 1000 do
      fake.answers[i] = function ()
        if s.ask() then return { body = "<DescribeVpcsResponse/>" } end
        refused = refused + 1
        return { status = 503, body = "<Response><Errors><Error><Code>RequestLimitExceeded</Code>"
          .. "<Message>m</Message></Error></Errors></Response>" }
      end
    end
    local list = {}
    for i = 1, 320 do list[i] = i end
    task.run(task.map, list, function () return assert(ec2:describe_vpcs {}) end, 50)
    assert.near(300 / 5, fake.now, 12)
    assert.is_true(refused < 320 / 4, refused)
  end)

  it("let no more than so many calls be under way", function ()
    local ec2, under_way, most = client "ec2", 0, 0
    for i = 1, 60 do
      fake.answers[i] = function ()
        under_way = under_way + 1
        most = math.max(most, under_way)
        task.sleep(1)
        under_way = under_way - 1
        return { body = "<DescribeVpcsResponse/>" }
      end
    end
    local list = {}
    for i = 1, 60 do list[i] = i end
    task.run(task.map, list, function () return assert(ec2:describe_vpcs {}) end)
    assert.equal(10, most)
    assert.near(6, fake.now, 0.01)
  end)
end)
