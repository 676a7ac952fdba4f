-- Small answers that would grow, and large ones: each is one error or the answer, within a bound of
-- memory that is measured, in a process of its own. RTL_TEST_SLOW=1 takes every form and prints the
-- figures, the quick form those that grow most.
local archive = require "rtl.native.archive"
local hostile = require "test.support.hostile"
local json = require "rtl.native.json"
local program = require "test.support.program"

local SLOW = os.getenv "RTL_TEST_SLOW"

local answer, does, send = hostile.answer, hostile.does, hostile.send
local GZIP = "Content-Encoding: gzip\r\n"
local MIB = 1 << 20

-- What may be held, in MiB: 16 MiB of XML are half a million elements, 4 MiB of JSON two million
-- values. Without the limits it was gigabytes.
local BOUND = 320

local EC2, SSM = 1, 6 -- the reads of describe_vpcs and get_parameters_by_path

local server
setup(function () server = hostile.start() end)
teardown(function () server:stop() end)

local function packed(text)
  return { send(answer(200, GZIP, archive.gzip(text))) }
end

-- Filled up to `size` bytes with `part`.
local function filled(size, before, part, after)
  return before .. part:rep((size - #before - #after) // #part) .. after
end

local RESPONSE = { "<DescribeVpcsResponse>", "</DescribeVpcsResponse>" }

local function xml(size, part)
  return filled(size, RESPONSE[1], part, RESPONSE[2])
end

local function list(size, part)
  return filled(size, '{"Parameters":[0', part, "]}")
end

local ROWS = {
  { "of zeros in gzip", EC2, packed(("\0"):rep(80 * MIB)), "RTL-NET-011" },
  { "of gzip in gzip", EC2, packed(archive.gzip(("\0"):rep(80 * MIB))), "RTL-AWS-003" },
  { "of elements in gzip", EC2, packed(xml(16 * MIB, "<a/>")), "RTL-AWS-003" },
  { "of attributes in gzip", EC2, packed(xml(16 * MIB, "<a b=''/>")), "RTL-AWS-003", slow = true },
  { "of half a million elements", EC2, packed(xml(2 * MIB, "<a/>")), "ok" },
  { "of one long text", EC2, packed(xml(16 * MIB, "text")), "ok", slow = true },
  { "of one attribute", EC2, packed(filled(16 * MIB, "<DescribeVpcsResponse a='", "x", "'/>")),
    "ok", slow = true },
  { "of lists in gzip", SSM, packed(list(4 * MIB, ",[]")), "ok" },
  { "of objects in gzip", SSM, packed(list(4 * MIB, ",{}")), "ok", slow = true },
  { "of numbers in gzip", SSM, packed(list(4 * MIB, ",0")), "ok", slow = true },
  { "of more lists in gzip", SSM, packed(list(5 * MIB, ",[]")), "RTL-NET-011" },
  { "of one name, again and again", SSM, packed(filled(4 * MIB, '{"a":0', ',"a":0', "}")), "ok",
    slow = true },
  { "of one long reason", SSM,
    { send(answer(400, GZIP, archive.gzip(filled(4 * MIB, '{"__type":"E","message":"', "long",
      '"}')))) }, "E" },
  { "without an end", SSM, { send(answer(200, nil, "", "close")),
    send(("z"):rep(MIB), { times = -1 }) }, "RTL-NET-011" },
}

describe("a bomb", function ()
  for _, row in ipairs(ROWS) do
    if SLOW or not row.slow then it(row[1], function ()
      local call = hostile.CALLS[row[2]]
      local name = server:script(call, { answers = { does(row[3]) } })
      local result = program.rtl({ "test/support/hostile_call.lua", tostring(row[2]),
        server.url .. "/" .. name })
      assert.equal(0, result.status, result.stderr)
      local said = json.decode(result.stdout)
      assert.equal(row[4], said.code, said.text)
      assert.is_true(#said.text < 5000)
      local grown = (said.peak - said.before) / 1024
      assert.is_true(grown < BOUND, ("%s: %.0f MiB"):format(row[1], grown))
      if SLOW then print(("%-32s %6.1f MiB"):format(row[1], grown)) end
      assert.equal(1, server:seen(name).requests)
    end) end
  end
end)
