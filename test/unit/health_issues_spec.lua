-- Each health code that the rehearsed EKS can show has a next step, and so has every code that the
-- kinds may meet.
local kinds = require "rtl.rehearse.weather.kinds"
local next_steps = require "rtl.kinds.health_issues"

describe("a health issue", function ()
  for _, name in ipairs { "cluster-failure", "addon-failure", "nodegroup-failure",
    "stuck-nodegroup" } do
    it("of " .. name .. " has a next step", function ()
      for _, issue in ipairs(kinds[name].pick.issue) do
        assert.is_string(next_steps[issue[1]], issue[1])
      end
    end)
  end
end)
