-- What `--plan --out` writes, held against what the same deploy then really sends to the world.
local fs = require "rtl.fs"
local json = require "rtl.native.json"
local played = require "test.support.played"
local program = require "test.support.program"
local yaml = require "rtl.native.yaml"

local DEPLOY = "recipes/deploy.lua"

local function read(...)
  return assert(fs.read(fs.join(...)))
end

-- A text in which <…> stands for what was not known, as a pattern of the whole.
local function pattern_of(text)
  local escaped = text:gsub("[%^%$%(%)%%%.%[%]%*%+%-%?]", "%%%0")
  return "^" .. escaped:gsub("<[^<>]+>", ".+") .. "$"
end

-- Whether what was really sent is what was told, but for what could not be known.
local function fits(told, sent)
  if type(told) == "string" and type(sent) == "string" then
    return sent:match(pattern_of(told)) ~= nil
  elseif type(told) ~= "table" or type(sent) ~= "table" then
    return told == sent
  end
  for key, value in pairs(told) do
    if not fits(value, sent[key]) then return false end
  end
  for key in pairs(sent) do
    if told[key] == nil then return false end
  end
  return true
end

-- Takes the first of `list` that fits `told` out of it; false when there is none.
local function take(list, told)
  for i, sent in ipairs(list) do
    if fits(told, sent) then
      table.remove(list, i)
      return true
    end
  end
  return false
end

local function told_in(dir)
  local requests, objects = {}, {}
  for _, name in ipairs(assert(fs.list(dir))) do
    if name:match "%.yaml$" then
      for _, object in ipairs(assert(yaml.decode_all(read(dir, name)))) do
        objects[#objects + 1] = object
      end
    elseif name ~= "plan.json" then
      for _, request in ipairs(assert(json.decode(read(dir, name)))) do
        requests[#requests + 1] = request
      end
    end
  end
  return requests, objects
end

local function camel(key)
  return (key:gsub("^%l", string.upper):gsub("_(%w)", string.upper))
end

-- What the world was asked to change: AWS requests and applied objects.
local function sent_to(state)
  local requests, objects = {}, {}
  for _, record in ipairs(played.records(state)) do
    local a = record.a
    if record.k == "aws" then
      requests[#requests + 1] = { operation = camel(a.o), parameters = a.p, service = a.s }
    elseif record.k == "kube" and a.m == "PATCH" and a.t:match "apply" then
      objects[#objects + 1] = assert(json.decode(a.b))
    end
  end
  return requests, objects
end

-- What a deploy sends beside its resources: the account's lock, given and taken back.
local BESIDE = { PutParameter = true, DeleteParameter = true }

describe("--plan --out", function ()
  local state, dir

  local function rtl(words, status)
    local ran = program.rtl(words, { state = state })
    assert.equal(status or 0, ran.status, ran.stdout .. ran.stderr)
    return ran
  end

  local function plan(...)
    return rtl { "--rehearse", DEPLOY, "--plan", "--out", dir, ... }
  end

  before_each(function ()
    state = fs.temp_dir "rtl-plan-out-"
    dir = fs.join(state, "told")
  end)
  after_each(function () fs.remove_tree(state) end)

  it("tells each request and each object that the deploy then sends", function ()
    plan()
    local requests, objects = told_in(dir)
    assert.is_true(#requests > 30, #requests)
    assert.is_true(#objects > 5, #objects)
    rtl { "--rehearse", DEPLOY }
    local sent, applied = sent_to(state)
    local silent = {}
    for _, told in ipairs(requests) do
      local call = { operation = told.operation, parameters = told.parameters,
        service = told.service }
      if not take(sent, call) then silent[#silent + 1] = told.operation end
    end
    for _, told in ipairs(objects) do
      if not take(applied, told) then silent[#silent + 1] = told.kind end
    end
    assert.same({}, silent)
    for _, call in ipairs(sent) do
      assert.is_true(BESIDE[call.operation], call.operation .. " was not told")
    end
  end)

  it("writes the same files twice, and asks for nothing to be made", function ()
    plan()
    local first = {}
    for _, name in ipairs(assert(fs.list(dir))) do first[name] = read(dir, name) end
    assert.is_true(fs.write(fs.join(dir, "99-vpc-old.json"), "[]"))
    plan()
    local second = {}
    for _, name in ipairs(assert(fs.list(dir))) do second[name] = read(dir, name) end
    assert.same(first, second)
    assert.same({}, (sent_to(state)))
  end)

  it("has the plan itself beside them", function ()
    plan()
    local index = assert(json.decode(read(dir, "plan.json")))
    assert.equal("plan", index.type)
    assert.is_true(index.counts.create > 20 and index.cost.hourly > 1)
  end)

  it("says of each thing what is known, what is not, and what can't be looked at yet", function ()
    local ran = plan("--gpu-count", "3")
    local index = assert(json.decode(read(dir, "plan.json")))
    local changes, sources = {}, {}
    for _, one in ipairs(index.changes) do changes[one.resource] = one end
    for _, one in ipairs(index.settings) do sources[one.name] = one end
    assert.same({ name = "gpu_count", value = "3", source = "--gpu-count" }, sources.gpu_count)
    assert.equal("default", sources.gpu_type.source)
    local group = changes["node_group/gpu-workers-use2-az2"]
    assert.equal(3, group.fields.count)
    assert.is_nil(group.fields.subnet_ids)
    assert.same({ "subnet/private-use2-az2.id" }, group.unknown.subnet_ids)
    assert.is_nil(changes["vpc/ray-train"].unknown)
    assert.is_nil(changes["vpc/ray-train"].unchecked)
    local why = "cluster ray-train is not there yet"
    assert.equal(why, changes["helm_release/kuberay-operator"].unchecked)
    assert.matches("not checkable yet: 6 things (" .. why .. ")", ran.stdout, 1, true)
    local bytes = 0
    for _, line in ipairs(index.cost.lines) do bytes = bytes + (line.now_gb or 0) end
    assert.equal(48, bytes)
    assert.matches("for image pulls (48 GB)", ran.stdout, 1, true)
  end)

  it("tells what changes of what stands, and nothing else", function ()
    rtl { "--rehearse", DEPLOY, "--to", "cluster" }
    rtl { "--rehearse", DEPLOY, "--to", "cluster", "--plan", "--out", dir,
      "--public-access-cidrs", "198.51.100.0/24" }
    local requests, objects = told_in(dir)
    assert.equal(1, #requests)
    assert.equal("UpdateClusterConfig", requests[1].operation)
    assert.same({ "198.51.100.0/24" },
      requests[1].parameters.resourcesVpcConfig.publicAccessCidrs)
    assert.same({}, objects)
  end)

  it("touches no folder that holds something else", function ()
    assert.is_true(fs.mkdirs(dir))
    assert.is_true(fs.write(fs.join(dir, "thesis.txt"), "years of work"))
    local ran = rtl({ "--rehearse", DEPLOY, "--plan", "--out", dir }, 2)
    assert.matches("RTL%-CLI%-017", ran.stderr)
    assert.matches("thesis.txt", ran.stderr, 1, true)
    assert.same({ "thesis.txt" }, fs.list(dir))
  end)

  it("is refused without --plan, and so is --exit-code", function ()
    for _, option in ipairs { "--out=" .. dir, "--exit-code" } do
      local ran = rtl({ "--rehearse", DEPLOY, option }, 2)
      assert.matches("goes with %-%-plan", ran.stderr)
    end
    assert.is_false(fs.exists(dir))
  end)
end)
