-- The native module kube: items out of bodies, frames of exec.
local kube = require "rtl.native.kube"

-- Feeds a text in pieces of `size` bytes; returns the items and the rest, or nil and the message.
local function split(mode, text, size, limit)
  local splitter <close> = kube.splitter(mode, limit)
  local items = {}
  for at = 1, #text, size do
    local texts, problem = splitter:feed(text:sub(at, at + size - 1))
    if not texts then return nil, problem end
    table.move(texts, 1, #texts, #items + 1, items)
  end
  local rest, problem = splitter:finish()
  if not rest then return nil, problem end
  return items, rest
end

describe("kube.splitter", function ()
  local list = [[ {"kind":"PodList","x":"items","metadata":{"items":["a"],"n":1},"items" : [
    {"a":"}\"]\\"} , {"b":[1,{"items":[{}]}]}],"y":{"z":[]}} ]]

  it("cuts a list into its items however the bytes arrive", function ()
    for size = 1, #list do
      local items, rest = split("list", list, size)
      assert.same({ [[{"a":"}\"]\\"}]], [[{"b":[1,{"items":[{}]}]}]] }, items)
      assert.equal([[{"kind":"PodList","x":"items","metadata":{"items":["a"],"n":1},"items" : []]
        .. [[],"y":{"z":[]}}]], rest)
    end
  end)

  it("leaves a list without items whole", function ()
    for _, text in ipairs { '{"items":[],"a":1}', '{"items":null}', '{"a":{"items":[{"b":1}]}}',
      "{}" } do
      local items, rest = split("list", text, 3)
      assert.same({}, items)
      assert.equal(text, rest)
    end
  end)

  it("cuts a watch into its events", function ()
    local text = '{"type":"ADDED","object":{"a":"\\u007d{"}}\n{"b":[]}{"c":1}  \r\n'
    for size = 1, #text do
      assert.same({ '{"type":"ADDED","object":{"a":"\\u007d{"}}', '{"b":[]}', '{"c":1}' },
        (split("stream", text, size)))
    end
  end)

  it("refuses what is no object, too deep, too large or cut short", function ()
    local cases = {
      { "stream", "[1]", "not a JSON object where one must stand" },
      { "stream", '{"a":1} x', "not a JSON object where one must stand" },
      { "stream", '{"a":"', "the body was cut short" },
      { "stream", ('{"a":'):rep(300), "nested too deeply" },
      { "list", "null", "not a JSON object where one must stand" },
      { "list", '{"items":[1]}', "not a JSON object where one must stand" },
      { "list", '{"items":[{"a":1}', "the body was cut short" },
      { "list", '{"items":[', "the body was cut short" },
      { "list", "", "the body was cut short" },
      { "list", '{"items":[]} {}', "not a JSON object where one must stand" },
      { "list", '{"a":' .. ("["):rep(300), "nested too deeply" },
    }
    for _, case in ipairs(cases) do
      local items, problem = split(case[1], case[2], 4)
      assert.is_nil(items, case[2])
      assert.equal(case[3], problem)
    end
    assert.equal("an item is too large", select(2, split("stream", '{"a":"xxxxxxxxx"}', 4, 8)))
    assert.equal("an item is too large", select(2, split("list", '{"aaaaaaaaaa":1}', 4, 8)))
  end)

  it("stays broken, and says so when closed", function ()
    local splitter = kube.splitter("stream")
    assert.is_nil(splitter:feed("x"))
    assert.is_nil(splitter:feed("{}"))
    assert.is_nil(splitter:finish())
    splitter:close()
    splitter:close()
    assert.error_matches(function () splitter:feed("x") end, "closed")
    assert.error_matches(function () kube.splitter("x") end, "bad argument #1")
  end)
end)

describe("kube frames", function ()
  it("are one byte of channel and the bytes", function ()
    assert.equal("\0ab\0c", kube.frame(0, "ab\0c"))
    assert.equal("\255\0", kube.close_frame(0))
    assert.same({ 3, "{}" }, { kube.unframe("\3{}") })
    assert.same({ 1, "" }, { kube.unframe("\1") })
    assert.is_nil(kube.unframe(""))
    assert.error_matches(function () kube.frame(256, "") end,
      "bad argument #1 to 'frame' %(no channel%)")
  end)
end)
