--- The scenarios by name: what differs from an ordinary day. Each field is read by the part of the
-- world that it concerns; `keys` are what a user may add behind the name (with their kind).

local kinds = require "rtl.rehearse.weather.kinds"

local DEATH = { call = "integer", when = { before = true, after = true, answered = true } }

local M = {
  calm = {
    title = "an ordinary day: everything works, with AWS' usual timings",
  },
  empty = {
    title = "one zone (`zone`), or all zones of one region (`region`), have no GPU instances",
    capacity = "empty", keys = { zone = "word", region = "word", call = DEATH.call,
      when = DEATH.when },
  },
  ["quota-later"] = {
    title = "the quota for GPU instances is zero, and more is granted `after` seconds (1200)",
    quota = { ["L-DB2E81BA"] = 0, ["L-417A185B"] = 0 }, quota_granted = true,
    keys = { after = "integer" },
  },
  policy = {
    title = "the caller may do only what the policies in `file` allow; `scp` is denied by the "
      .. "organization",
    keys = { file = "policies", without = "action", scp = "action" },
  },
  killed = {
    title = "the process dies at the mutating call number `call`",
    keys = DEATH, needs = { "call" },
  },
  weather = {
    title = "a mix of troubles that the seed chooses",
    keys = DEATH, kinds = "mixed",
  },
}

-- Each kind of weather is a scenario of its own, too.
for name, row in pairs(kinds) do M[name] = { title = row.title, kinds = { name } } end

return M
