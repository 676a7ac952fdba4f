--- The resource engine: `plan.read(graph, ctx)`, `plan.apply(p, ctx)`, `plan.teardown`.
-- It knows kinds by their shape (rtl.plan.kind) and no system.

local apply = require "rtl.plan.apply"
local diff = require "rtl.plan.diff"
local teardown = require "rtl.plan.teardown"

return {
  graph = require "rtl.plan.graph",
  context = require "rtl.plan.context",
  ledger = require "rtl.plan.ledger",
  lock = require "rtl.plan.lock",
  read = diff.read,
  reckon = diff.reckon,
  sketch = require "rtl.plan.sketch",
  policy = require "rtl.plan.policy",
  apply = apply.run,
  teardown = teardown,
}
