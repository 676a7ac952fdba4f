local fs = require "rtl.fs"
local json = require "rtl.native.json"
local launch_template = require "rtl.kinds.launch_template"
local scripted_aws = require "test.support.scripted_aws"

-- Whole LaunchTemplateData per family and way of reserving, as looked over by a person once.
local GOLDEN = "test/vectors/launch_templates.json"
local TYPES = { "g6.12xlarge", "p4d.24xlarge", "p5.48xlarge", "p6-b300.48xlarge" }
local WAYS = {
  { "plain", {} },
  { "reservation", { reservation_id = "cr-0000000000000aaaa" } },
  { "group", { reservation_group = "arn:aws:resource-groups:us-east-2:123456789012:group/gpu" } },
  { "block", { reservation_id = "cr-0000000000000bbbb", capacity_block = true } },
}

local function data(instance_type, way)
  local fields = { instance_type = instance_type, disk_gib = 200,
    security_groups = { "sg-cluster", "sg-efa" } }
  for key, value in pairs(way) do fields[key] = value end
  local ctx = scripted_aws.context({}, { tags = { team = "ml" } })
  return launch_template.template_data(ctx, launch_template "gpu" (fields), fields)
end

describe("the golden launch templates", function ()
  local golden = assert(json.decode(assert(fs.read(GOLDEN))))

  for _, instance_type in ipairs(TYPES) do
    for _, way in ipairs(WAYS) do
      local name = instance_type .. " " .. way[1]
      it("of " .. name, function ()
        local made = json.decode(json.encode(data(instance_type, way[2])))
        assert.same(golden[name], made)
      end)
    end
  end

  it("are all that the file holds", function ()
    local count = 0
    for _ in pairs(golden) do count = count + 1 end
    assert.equal(#TYPES * #WAYS, count)
  end)
end)
