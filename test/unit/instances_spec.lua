-- The table of instance types: interfaces, EFA, quotas.
local instances = require "rtl.kinds.instances"

local function pairs_of(name, efa)
  local list = {}
  for _, one in ipairs(instances.interfaces(name, efa)) do
    list[#list + 1] = ("%d/%d %s"):format(one.card, one.device, one.type)
  end
  return list
end

describe("the instance table", function ()
  it("gives one interface for one card, ENA and EFA in one", function ()
    assert.same({ "0/0 efa" }, pairs_of "g6.12xlarge")
    assert.same({ "0/0 interface" }, pairs_of "g6.2xlarge")
    assert.same({ "0/0 interface" }, pairs_of("g6.12xlarge", 0))
    assert.same({ "0/0 interface" }, pairs_of "m7i.xlarge")
  end)

  it("gives card 0 device 0 and device 1 of each further card", function ()
    assert.same({ "0/0 efa", "1/1 efa-only", "2/1 efa-only", "3/1 efa-only" },
      pairs_of "p4d.24xlarge")
    local list = pairs_of "p5.48xlarge"
    assert.equal(32, #list)
    assert.equal("31/1 efa-only", list[32])
    local seen = {}
    for _, pair in ipairs(list) do
      assert.is_nil(seen[pair])
      seen[pair] = true
    end
  end)

  it("leaves card 0 without EFA where it can't hold it", function ()
    local list = pairs_of "p6-b300.48xlarge"
    assert.equal(17, #list)
    assert.equal("0/0 interface", list[1])
    assert.equal("1/1 efa-only", list[2])
    assert.equal("16/1 efa-only", list[17])
  end)

  it("names the nearest type, and takes new ones", function ()
    assert.error_matches(function () instances.of "g6.12xlrage" end, "g6.12xlarge")
    instances.add("x9.large", { gpus = 1, vcpu = 2, memory_gib = 4, cards = 1, efa = 1,
      quota = "L-0", gbit = 1 })
    assert.same({ "0/0 efa" }, pairs_of "x9.large")
    instances.add("x9.large", nil)
    assert.is_nil(instances.find "x9.large")
  end)

  it("says what is wrong with a row", function ()
    local good = { gpus = 1, vcpu = 2, memory_gib = 4, cards = 2, efa = 1, quota = "L-0" }
    local function wrong(change)
      local row = {}
      for key, value in pairs(good) do row[key] = value end
      for key, value in pairs(change) do row[key] = value end
      return instances.wrong(row)
    end
    assert.is_nil(wrong {})
    assert.equal("field 'vcpu' is missing", instances.wrong { gpus = 1, cards = 1, efa = 1,
      memory_gib = 4, quota = "L-0" })
    assert.equal("there is no field 'gpu_memory_gb' (did you mean 'gpu_memory_gib'?)",
      wrong { gpu_memory_gb = 1 })
    assert.equal("vcpu is 2.5, integer expected", wrong { vcpu = 2.5 })
    assert.equal("2 EFA interfaces on 1 cards: one a card at most",
      wrong { efa = 2, first_efa_card = 1 })
    assert.equal("it is no table", instances.wrong(7))
  end)

  it("has only rows that it would take", function ()
    for _, name in ipairs(instances.names()) do
      assert.is_nil(instances.wrong(instances.of(name)), name)
    end
  end)

  it("names each field in which EC2 knows a type otherwise", function ()
    local function info(change)
      local cards = {}
      for i = 1, change.cards or 4 do
        cards[i] = { NetworkCardIndex = i - 1, MaximumNetworkInterfaces = change.devices or 15 }
      end
      return { InstanceType = "p4d.24xlarge", VCpuInfo = { DefaultVCpus = change.vcpu or 96 },
        MemoryInfo = { SizeInMiB = (change.memory or 1152) * 1024 },
        GpuInfo = { Gpus = { { Count = change.gpus or 8,
          MemoryInfo = { SizeInMiB = change.gpu_mib or 40960 } } } },
        NetworkInfo = { EfaSupported = change.efa ~= 0, NetworkCards = cards,
          EfaInfo = change.efa ~= 0 and { MaximumEfaInterfaces = change.efa or 4 } or nil } }
    end
    local function fields(change)
      local list = {}
      for i, one in ipairs(instances.differences("p4d.24xlarge", info(change))) do
        list[i] = ("%s %s %s"):format(one.field, one.have, one.want)
      end
      return list
    end
    assert.same({}, fields {})
    assert.same({}, fields { memory = 1130, gpu_mib = 38000 }) -- told a little under
    assert.same({ "gpus 4 8", "gpu_memory_gib 160.0 320" }, fields { gpus = 4 })
    assert.same({ "vcpu 48 96" }, fields { vcpu = 48 })
    assert.same({ "memory_gib 768.0 1152" }, fields { memory = 768 })
    assert.same({ "cards 3 4", "interfaces of card 3 0 2" }, fields { cards = 3 })
    assert.same({ "efa 3 4" }, fields { efa = 3 })
    assert.same({ "efa 0 4" }, fields { efa = 0 })
    assert.same({ "interfaces of card 1 1 2", "interfaces of card 2 1 2",
      "interfaces of card 3 1 2" }, fields { devices = 1 })
  end)
end)
