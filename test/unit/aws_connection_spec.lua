-- The AWS client over real connections: compressed answers, silence, one connection for many calls.
local archive = require "rtl.native.archive"
local aws = require "rtl.aws"
local credentials = require "rtl.aws.credentials"
local fake_aws = require "test.support.fake_aws"
local server = require "test.support.server"
local task = require "rtl.task"

describe("an AWS client on a connection", function ()
  local there

  lazy_setup(function () there = server.start() end)
  lazy_teardown(function () there:stop() end)

  -- A client whose every request gets what the server has at `path`.
  local function client(service, path, options)
    local given = {
      region = "us-east-1", credentials = credentials.static(fake_aws.KEYS), attempts = 1,
      endpoint = there.url .. path,
    }
    for key, field in pairs(options or {}) do given[key] = field end
    return aws.client(service, given)
  end

  local function raw(body, status, headers)
    return (server.raw(("HTTP/1.1 %s\r\nContent-Length: %d\r\n%s\r\n"):format(status or "200 OK",
      #body, headers or "") .. body):gsub("%?.*", ""))
  end

  local function packed(text, status)
    return raw(archive.gzip(text), status, "Content-Encoding: gzip\r\n")
  end

  it("reads compressed answers and refusals", function ()
    local answer = assert(client("eks", packed '{"clusters":["demo"]}'):list_clusters {})
    assert.same({ "demo" }, answer.clusters)
    local _, e = client("eks", packed('{"__type":"AccessDeniedException","message":"m"}',
      "403 Forbidden")):list_clusters {}
    assert.equal("AccessDeniedException", e.code)
  end)

  it("refuses one that swells without end, and does not ask for it again", function ()
    local _, e = client("eks", "/bomb/65", { attempts = 3 }):list_clusters {}
    assert.equal("RTL-NET-011", e.code)
    assert.equal(1, e.attempts)
    assert.matches("^eks:ListClusters", e.doing)
  end)

  it("gives stored data as it is, compressed or not, whole or as a stream", function ()
    local stored = archive.gzip "data"
    local s3 = client("s3", packed "data")
    assert.equal(stored, assert(s3:get_object { Bucket = "b", Key = "k" }).Body)
    local answer = assert(s3:get_object({ Bucket = "b", Key = "k" }, { stream = true }))
    assert.equal(#stored, answer.ContentLength)
    local bytes, part = "", nil
    repeat
      bytes = bytes .. (part or "")
      part = answer.Body:read()
    until not part
    assert.equal(stored, bytes)
    local _, e = client("s3", raw("<Error><Code>NoSuchKey</Code><Message>m</Message></Error>",
      "404 Not Found")):get_object({ Bucket = "b", Key = "k" }, { stream = true })
    assert.equal("NoSuchKey", e.code)
  end)

  it("gives up when nothing comes", function ()
    local told = {}
    local eks = client("eks", "/hold", {
      attempts = 2, timeouts = { reads = 0.2 }, notice = function (text) told[#told + 1] = text end,
    })
    local _, e = eks:list_clusters {}
    assert.equal("RTL-NET-006", e.code)
    assert.equal(2, e.attempts)
    assert.same({}, told) -- shorter than what makes one uneasy
  end)

  it("asks again and again on the same few connections", function ()
    local eks, list = client("eks", raw '{"clusters":[]}'), {}
    local before = there:count "connections"
    for i = 1, 200 do list[i] = i end
    task.run(task.map, list, function () return assert(eks:list_clusters {}) end)
    local more = there:count "connections" - before
    assert.is_true(more <= 10, more)
  end)
end)
