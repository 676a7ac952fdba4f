local nccl = require "rtl.nccl"

local function read(path)
  local f <close> = assert(io.open(path, "rb"))
  return f:read("a")
end

local function log(name)
  return { { name = name, text = read("test/vectors/nccl/" .. name) } }
end

local function folder(name, ranks)
  local files = {}
  for rank = 0, ranks - 1 do
    local path = name .. "/rank" .. rank .. ".log"
    files[#files + 1] = { name = path, text = read("test/vectors/nccl/" .. path) }
  end
  return files
end

-- What a careful person says of each real log (none of them is EFA), and why.
local VERDICTS = {
  { "nccl-2.28.3-socket-two-ranks.log", "TCP", "PLUGIN_NOT_FOUND" },
  { "a-algo-proto.log", "TCP", "PLUGIN_NOT_FOUND" },
  { "a-default-4.log", "TCP", "PLUGIN_NOT_FOUND" },
  { "a-default-all-subsys.log", "TCP", "PLUGIN_NOT_FOUND" },
  { "a-default-eager.log", "TCP", "PLUGIN_NOT_FOUND" },
  { "a-default-torn.log", "TCP", "PLUGIN_NOT_FOUND" },
  { "a-default-version.log", "UNKNOWN", "NO_TRANSPORT_LINES" },
  { "a-family-ipv6.log", "TCP", "PLUGIN_NOT_FOUND" },
  { "a-no-gpu.log", "UNKNOWN", "CUDA_FAILED" },
  { "a-one-rank.log", "NOT_APPLICABLE" },
  { "b-ifname-exclude-all.log", "UNKNOWN", "NO_INTERFACE" },
  { "b-ifname-lo-same-netns.log", "TCP", "PLUGIN_NOT_FOUND" },
  { "b-ifname-wrong.log", "UNKNOWN", "NO_INTERFACE" },
  { "c-conf-file-socket-plugin-present.log", "TCP", "NET_PINNED_TO_SOCKET" },
  { "c-net-socket-plugin-present.log", "TCP", "NET_PINNED_TO_SOCKET" },
  { "d-plugin-file-name.log", "TCP", "PROVIDER_NOT_EFA" },
  { "d-plugin-none-installed.log", "TCP", "PLUGIN_SWITCHED_OFF" },
  { "d-plugin-ofi-absent.log", "TCP", "PLUGIN_NOT_FOUND" },
  { "d-plugin-ofi-present-tcp.log", "TCP", "PROVIDER_NOT_EFA" },
  { "e-net-libfabric-absent.log", "UNKNOWN", "PLUGIN_NOT_FOUND" },
  { "e-net-libfabric-absent-warn.log", "UNKNOWN", "PIN_REFUSED" },
  { "f-1.13.2-shm.log", "UNKNOWN", "NO_NCCL_LINES" },
  { "f-1.15.0-tcp-as-g6.log", "TCP", "PROVIDER_NOT_EFA" },
  { "f-1.15.0-tcp-rdma.log", "UNKNOWN", "NO_NCCL_LINES" },
  { "f-1.15.0-tcp.log", "TCP", "PROVIDER_NOT_EFA" },
  { "f-1.17.3-tcp.log", "TCP", "PROVIDER_NOT_EFA" },
  { "f-1.21.1-bad-provider.log", "TCP", "NO_PROVIDER" },
  { "f-1.21.1-sockets.log", "TCP", "PROVIDER_NOT_EFA" },
  { "f-1.21.1-tcp-4.log", "TCP", "PROVIDER_NOT_EFA" },
  { "f-1.21.1-tcp-as-p5.log", "TCP", "PROVIDER_NOT_EFA" },
  { "f-1.21.1-tcp-fi-warn.log", "TCP", "PROVIDER_NOT_EFA" },
  { "f-1.21.1-tcp-lf122.log", "TCP", "LIBFABRIC_TOO_OLD" },
  { "f-1.21.1-tcp-rdma.log", "TCP", "NO_PROVIDER" },
  { "f-1.21.1-tcp-subsys-unset.log", "TCP" },
  { "f-1.21.1-tcp-two-nics.log", "TCP", "PROVIDER_NOT_EFA" },
  { "f-1.21.1-tuner-ofi.log", "TCP", "PROVIDER_NOT_EFA" },
  { "f-1.9.2-tcp-rdma.log", "UNKNOWN", "NO_NCCL_LINES" },
  { "f-1.9.2-tcp.log", "TCP", "PROVIDER_NOT_EFA" },
  { "g-1.13.2-efa-none-pinned.log", "UNKNOWN", "NO_NCCL_LINES" },
  { "g-1.15.0-efa-none-as-g6.log", "UNKNOWN", "NO_NCCL_LINES" },
  { "g-1.15.0-efa-none.log", "UNKNOWN", "NO_NCCL_LINES" },
  { "g-1.17.3-efa-none.log", "TCP", "NO_PROVIDER" },
  { "g-1.21.1-efa-none-sendrecv.log", "TCP", "PLUGIN_FAILED" },
  { "g-1.21.1-efa-none.log", "TCP", "NO_PROVIDER" },
  { "g-1.9.2-efa-none.log", "UNKNOWN", "NO_NCCL_LINES" },
  { "h-1.15.0-unset.log", "UNKNOWN", "NO_NCCL_LINES" },
  { "h-1.17.3-unset.log", "TCP", "NO_PROVIDER" },
  { "h-1.21.1-unset-platform-aws.log", "TCP", "PROVIDER_NOT_EFA" },
  { "h-1.9.2-unset.log", "UNKNOWN", "NO_NCCL_LINES" },
  { "i-1.13.2-lf-1.17.log", "TCP", "LIBFABRIC_TOO_OLD" },
  { "i-1.9.2-plain117-efa-none.log", "UNKNOWN" },
  { "i-1.9.2-plain117-tcp.log", "TCP", "PROVIDER_NOT_EFA" },
  { "j-1.21.1-libfabric.log", "TCP", "PROVIDER_NOT_EFA" },
  { "j-1.21.1-ofi-rename.log", "TCP", "PROVIDER_NOT_EFA" },
  { "j-1.21.1-pinned-efa-none-warn.log", "UNKNOWN" },
  { "j-1.9.2-awslibfabric.log", "TCP", "PROVIDER_NOT_EFA" },
  { "j-1.9.2-libfabric-wrong-name.log", "UNKNOWN", "PIN_REFUSED" },
  { "k-same-hostid-shm-off.log", "UNKNOWN", "DUPLICATE_GPU" },
  { "k-same-hostid-warn.log", "UNKNOWN", "DUPLICATE_GPU" },
  { "k-same-hostid.log", "UNKNOWN", "DUPLICATE_GPU" },
  { "l-rank0-net-socket.log", "MIXED" },
  { "l-rank1-1.13.2-rank0-1.21.1.log", "TCP", "PROVIDER_NOT_EFA" },
  { "l-rank1-debug-off.log", "TCP", "PROVIDER_NOT_EFA" },
  { "l-rank1-pinned-absent-rank0-tcp.log", "UNKNOWN" },
  { "l-rank1-plugin-none-tcp.log", "MIXED", "PLUGIN_SWITCHED_OFF" },
  { "l-rank3-of-4-plugin-none.log", "MIXED", "PLUGIN_SWITCHED_OFF" },
  { "m-1.21.1-tcp-rank0-killed.log", "TCP" },
  { "m-1.21.1-tcp-rank1-killed.log", "TCP" },
  { "m-rank1-never-came.log", "UNKNOWN", "NO_NCCL_LINES" },
  { "m-socket-rank1-killed-before-init.log", "UNKNOWN" },
  { "m-socket-rank1-killed-warn.log", "UNKNOWN", "PEER_LOST" },
  { "m-socket-rank1-killed.log", "TCP", "PLUGIN_NOT_FOUND" },
  { "n-wheel-1.13.2-efa-none.log", "UNKNOWN", "NO_NCCL_LINES" },
  { "n-wheel-1.13.2-tcp.log", "TCP", "PROVIDER_NOT_EFA" },
  { "n-wheel-1.21.1-tcp.log", "TCP", "PROVIDER_NOT_EFA" },
  { "t-torchrun-1.21.1-tcp.log", "TCP", "PROVIDER_NOT_EFA" },
  { "t-torchrun-default.log", "TCP", "PLUGIN_NOT_FOUND" },
  { "t-torchrun-pinned-absent.log", "UNKNOWN" },
}

local FOLDERS = {
  { "a-default-4", 4, "TCP", "PLUGIN_NOT_FOUND" },
  { "e-net-libfabric-absent", 2, "UNKNOWN", "PLUGIN_NOT_FOUND" },
  { "g-1.15.0-efa-none", 2, "UNKNOWN" },
  { "g-1.9.2-efa-none", 2, "UNKNOWN" },
  { "h-1.15.0-unset", 2, "UNKNOWN" },
  { "m-1.21.1-tcp-rank1-killed", 2, "TCP" },
  { "m-rank1-never-came", 1, "UNKNOWN", "PLUGIN_NOT_FOUND" },
  { "n-wheel-1.13.2-efa-none", 2, "UNKNOWN" },
}

local function class(verdict)
  return verdict.cause and verdict.cause.class
end

describe("the verdict of a real log", function ()
  for _, row in ipairs(VERDICTS) do
    it(row[1] .. " is " .. row[2], function ()
      local verdict = nccl.classify(log(row[1]))
      assert.equal(row[2], verdict.verdict)
      if row[3] then assert.equal(row[3], class(verdict)) end
    end)
  end

  for _, row in ipairs(FOLDERS) do
    it(row[1] .. "/ is " .. row[3], function ()
      local verdict = nccl.classify(folder(row[1], row[2]))
      assert.equal(row[3], verdict.verdict)
      if row[4] then assert.equal(row[4], class(verdict)) end
    end)
  end

  it("names every file of test/vectors/nccl", function ()
    local known = {}
    for _, row in ipairs(VERDICTS) do known[row[1]] = true end
    local pipe = assert(io.popen("ls test/vectors/nccl"))
    for name in pipe:lines() do
      if name:match("%.log$") then assert.is_true(known[name], name) end
    end
    pipe:close()
  end)
end)

-- Logs of EFA runs, in the forms that public logs show (versions differ in wording).
local EFA_STYLES = {
  old = { provider = "NET/OFI Selected Provider is efa (found 1 nics)", network = "AWS Libfabric",
    suffix = "/GDRDMA" },
  new = { provider = "NET/OFI Selected provider is efa, fabric is efa (found 1 nics)",
    network = "Libfabric", suffix = "" },
  direct = { provider = "NET/OFI Selected provider is efa, fabric is efa-direct (found 32 nics)",
    network = "Libfabric", suffix = "/GDRDMA/Shared" },
}

-- A ring over `nodes` × `gpus` ranks; only the ranks at a node's edge print NET lines.
local function ring(style, nodes, gpus, change)
  local files, ranks = {}, nodes * gpus
  for rank = 0, ranks - 1 do
    local host = "ip-10-42-0-" .. (10 + rank // gpus)
    local lines = {}
    local function say(text)
      lines[#lines + 1] = ("%s:%d:%d [%d] NCCL INFO %s"):format(host, 100 + rank, 100 + rank,
        rank % gpus, text)
    end
    say(style.provider)
    say("Initialized NET plugin " .. style.network)
    say("Using network " .. style.network)
    say(("ncclCommInitRank comm 0x%x rank %d nranks %d cudaDev %d nvmlDev %d busId 60 commId 0xabc"
      .. " - Init START"):format(0x1000 + rank, rank, ranks, rank % gpus, rank % gpus))
    say(("comm 0x%x rank %d nRanks %d nNodes %d localRanks %d localRank %d MNNVL 0"):format(
      0x1000 + rank, rank, ranks, nodes, gpus, rank % gpus))
    local from, to = (rank - 1) % ranks, (rank + 1) % ranks
    local function channel(src, dst, side)
      local far = src // gpus ~= dst // gpus
      say(("Channel 00/0 : %d[%d] -> %d[%d] [%s] via %s"):format(src, src % gpus, dst, dst % gpus,
        side, far and "NET/" .. style.network .. "/0" .. style.suffix or "P2P/CUMEM"))
    end
    channel(from, rank, "receive")
    channel(rank, to, "send")
    say("Connected all rings, use ring PXN 0 GDR 0")
    if change then lines = change(rank, lines) end
    files[#files + 1] = { name = "rank" .. rank .. ".log", text = table.concat(lines, "\n") }
  end
  return files
end

describe("the verdict of an EFA log", function ()
  for name, style in pairs(EFA_STYLES) do
    it("is EFA in the " .. name .. " form, though inner ranks show no network", function ()
      local verdict = nccl.classify(ring(style, 2, 4))
      assert.equal("EFA", verdict.verdict)
      assert.is_nil(verdict.cause)
      assert.equal(2, #verdict.edges)
      assert.equal(style.suffix:find("GDRDMA") ~= nil, verdict.gdr)
    end)
  end

  it("is EFA through Ray's prefixes", function ()
    local verdict = nccl.classify(ring(EFA_STYLES.new, 2, 1, function (rank, lines)
      for i, line in ipairs(lines) do
        lines[i] = ("\27[36m(RayTrainWorker pid=%d, ip=10.0.0.%d)\27[0m %s"):format(7 + rank, rank,
          line)
      end
      return lines
    end))
    assert.equal("EFA", verdict.verdict)
  end)

  it("is UNKNOWN where the log of a node's edge is missing", function ()
    local files = ring(EFA_STYLES.new, 3, 1)
    files[2].text, files[3].text = "", ""
    local verdict = nccl.classify(files)
    assert.equal("UNKNOWN", verdict.verdict)
    assert.equal("EDGES_NOT_SEEN", class(verdict))
  end)

  it("is UNKNOWN where one node, or a rank that shows no edge, is silent", function ()
    for _, silent in ipairs { { 3, 4 }, { 2 } } do
      local files = ring(EFA_STYLES.new, 2, 2)
      for _, i in ipairs(silent) do files[i].text = "" end
      local verdict = nccl.classify(files)
      assert.equal("UNKNOWN", verdict.verdict)
      assert.equal("EDGES_NOT_SEEN", class(verdict))
    end
  end)

  it("is UNKNOWN where two silent nodes have a rank each at an edge", function ()
    local files = ring(EFA_STYLES.new, 4, 1)
    files[2].text, files[4].text = "", ""
    for _, i in ipairs { 1, 3 } do
      files[i].text = files[i].text .. "\nx:1:1 [0] NCCL INFO y [repeated 3x across cluster]"
    end
    assert.equal("EDGES_NOT_SEEN", class(nccl.classify(files)))
  end)

  it("is UNKNOWN where the ends of one of its edges did not connect", function ()
    local verdict = nccl.classify(ring(EFA_STYLES.new, 4, 1, function (rank, lines)
      if rank < 2 then lines[#lines] = nil end
      return lines
    end))
    assert.equal("NOT_CONNECTED", class(verdict))
  end)

  it("is MIXED where a rank inside of a node took sockets", function ()
    local verdict = nccl.classify(ring(EFA_STYLES.new, 2, 3, function (rank, lines)
      if rank == 1 then lines[3] = lines[3]:gsub("Libfabric", "Socket") end
      return lines
    end))
    assert.equal("MIXED", verdict.verdict)
  end)

  it("is MIXED where a process names another provider, or took sockets, as well", function ()
    for _, line in ipairs { "NET/OFI Selected provider is tcp, fabric is x (found 1 nics)",
      "Using network Socket" } do
      local verdict = nccl.classify(ring(EFA_STYLES.new, 2, 1, function (rank, lines)
        if rank == 1 then table.insert(lines, 1, (lines[1]:gsub("INFO .*", "INFO " .. line))) end
        return lines
      end))
      assert.equal("MIXED", verdict.verdict)
    end
  end)

  it("is TCP where the provider is efa and the channels are sockets", function ()
    local verdict = nccl.classify(ring({ network = "Socket", suffix = "",
      provider = EFA_STYLES.new.provider }, 2, 1))
    assert.equal("TCP", verdict.verdict)
  end)

  it("is not NOT_APPLICABLE where two nodes ran by themselves", function ()
    local files = ring(EFA_STYLES.new, 1, 2)
    assert.equal("NOT_APPLICABLE", nccl.classify(files).verdict)
    local other = ring(EFA_STYLES.new, 1, 2, function (_, lines)
      for i, line in ipairs(lines) do lines[i] = line:gsub("^ip%-10%-42%-0%-10", "other") end
      return lines
    end)
    table.move(other, 1, 2, 3, files)
    local verdict = nccl.classify(files)
    assert.equal("UNKNOWN", verdict.verdict)
    assert.equal("EDGES_NOT_SEEN", class(verdict))
  end)

  it("is not NOT_APPLICABLE while a communicator does not say on how many nodes it is", function ()
    local verdict = nccl.classify(ring(EFA_STYLES.new, 1, 2, function (rank, lines)
      table.insert(lines, 1, (lines[4]:gsub("comm 0x%x+", "comm 0x77")
        :gsub("nranks %d+", "nranks 8"):gsub("0xabc", "0xdef")))
      return rank == 0 and lines or { lines[1] }
    end))
    assert.equal("UNKNOWN", verdict.verdict)
  end)

  it("is UNKNOWN while nothing connected: channel lines only announce", function ()
    local verdict = nccl.classify(ring(EFA_STYLES.new, 2, 1, function (_, lines)
      lines[#lines] = nil
      return lines
    end))
    assert.equal("UNKNOWN", verdict.verdict)
    assert.equal("NOT_CONNECTED", class(verdict))
  end)

  it("is MIXED when one rank's provider is tcp", function ()
    local verdict = nccl.classify(ring(EFA_STYLES.new, 2, 1, function (rank, lines)
      if rank == 1 then
        lines[1] = lines[1]:gsub("efa, fabric is efa", "tcp, fabric is 10.0.0.0/24")
      end
      return lines
    end))
    assert.equal("MIXED", verdict.verdict)
  end)

  it("is DEGRADED with fewer devices than the type has", function ()
    local verdict = nccl.classify(ring(EFA_STYLES.new, 2, 1), { nics = 4 })
    assert.equal("DEGRADED", verdict.verdict)
    assert.equal("EFA_PARTIAL", class(verdict))
  end)

  it("is never EFA for the same plugin over another fabric", function ()
    local verdict = nccl.classify(ring({ network = "Libfabric", suffix = "",
      provider = "NET/OFI Selected provider is cxi, fabric is cxi (found 4 nics)" }, 2, 1))
    assert.equal("OTHER", verdict.verdict)
  end)
end)

describe("the cause", function ()
  local prefix = "a:1:1 [0] NCCL INFO "
  local cases = {
    { "K045", prefix .. "NET/Plugin : No plugin found (libnccl-net.so), using internal "
      .. "implementation\n" .. prefix .. "Using network Socket", {}, "TCP", "PLUGIN_NOT_FOUND" },
    { "K046", prefix .. "NET/Plugin: Could not find: libnccl-net-aws-ofi.so. Using internal "
      .. "network plugin.\n" .. prefix .. "Using network Socket",
      { plugin_files = { "libnccl-net-ofi.so" } }, "TCP", "PLUGIN_NAME_MISMATCH" },
    { "K047", "a:1:1 [0] x:1 NCCL WARN NET/OFI Could not find any optimal provider\n"
      .. "a:1:1 [0] x:1 NCCL WARN Failed to open libibverbs.so[.1]\n" .. prefix
      .. "Using network Socket", {}, "TCP", "NO_PROVIDER" },
    { "K049", prefix .. "NET/Plugin: Failed to find ncclCollNetPlugin_v6 symbol.\n"
      .. "a:1:1 [0] x:1 NCCL WARN NET/OFI Only EFA provider is supported\n" .. prefix
      .. "Using network Socket", {}, "TCP", "NO_EFA_ON_NODE" },
    { "K050", "a:1:1 [0] x:1 NCCL WARN NET/OFI OFI fi_getinfo() call failed: No data available",
      { pod_has_efa = false }, "UNKNOWN", "EFA_DEVICES_NOT_IN_POD" },
    { "K051", "a:1:1 [0] graph/xml.h:101 NCCL WARN Attribute arch of node cpu not found", {},
      "UNKNOWN", "TOPO_XML" },
    { "K053", prefix .. "NET/Plugin : dlerror=/opt/amazon/efa/lib/libfabric.so.1: version "
      .. "`FABRIC_1.7' not found No plugin found (libnccl-net.so), using internal implementation\n"
      .. prefix .. "Using network Socket", {}, "TCP", "LIBFABRIC_TOO_OLD" },
    { "K059", "a:1:1 [0] x:1 NCCL WARN Error while creating shared memory segment /dev/shm/nccl-A "
      .. "(size 9600000), error: No space left on device (28)", {}, "UNKNOWN", "SHM_TOO_SMALL" },
    { "K011", "a:1:1 [0] x:1 NCCL WARN NET/OFI Unable to insert remote address into address vector "
      .. "for device 1. RC: -22", {}, "UNKNOWN", "EFA_BLOCKED_BY_SECURITY_GROUP" },
  }
  for _, case in ipairs(cases) do
    it("of " .. case[1] .. " is " .. case[5], function ()
      local verdict = nccl.classify({ { name = "x", text = case[2] } }, case[3])
      assert.equal(case[4], verdict.verdict)
      assert.equal(case[5], class(verdict))
    end)
  end

  it("names both where a link-local interface came on top (K056)", function ()
    local text = "a:1:1 [0] NCCL INFO NET/OFI No eligible providers were found\n"
      .. "a:1:1 [0] NCCL INFO NET/Socket : Using [0]enp73s0:10.0.0.9<0> "
      .. "[1]pod-id-link0:169.254.170.23<0>\na:1:1 [0] NCCL INFO Using network Socket"
    local verdict = nccl.classify { { name = "x", text = text } }
    assert.equal("TCP", verdict.verdict)
    assert.equal("NO_PROVIDER", verdict.causes[1].class)
    assert.equal("LINK_LOCAL_INTERFACE", verdict.causes[2].class)
  end)

  it("is explained for every class that a log can name", function ()
    local explained = require "rtl.codes.nccl"
    for _, row in ipairs(require("rtl.nccl.causes").ROWS) do
      assert.is_table(explained[row[2]], row[2])
    end
  end)
end)

-- What a reader pod prints on a node whose one EFA device has sent `efa` and eth0 `net` bytes.
local function reading(efa, net)
  return nccl.counters.parse(("efa/rdmap0s6/1/tx_bytes %s\nefa/rdmap0s6/1/rx_bytes %s\n"
    .. "net/ens5/tx_bytes %s\nend\n"):format(efa, efa, net))
end

local function judge(before_efa, after_efa, before_net, after_net, expected)
  return nccl.counters.judge { expected_bytes = expected, nodes = {
    { name = "a", before = reading(before_efa, before_net), after = reading(after_efa, after_net) },
  } }
end

describe("the counters", function ()
  it("are as expected, short, flat or elsewhere by what each node sent", function ()
    assert.equal("as_expected", judge(5, 1005, 7, 20, 1000).state)
    assert.equal("short", judge(5, 505, 7, 20, 1000).state)
    assert.equal("flat", judge(5, 25, 7, 2000, 1000).state)
    assert.equal("elsewhere", judge(5, 1005, 7, 2000, 1000).state)
  end)

  it("are unknown, never zero, where a file is missing, cut short or counts down", function ()
    assert.equal("unknown", judge("-", "-", 7, 20, 1000).state)
    assert.equal("unknown", judge(5, "-", 7, 20, 1000).state)
    assert.equal("unknown", judge(500, 5, 7, 20, 1000).state)
    assert.equal("unmeasured", judge(5, 1005, 7, 20, nil).state)
    local cut = nccl.counters.parse("efa/rdmap0s6/1/tx_bytes 5")
    assert.is_false(cut.complete)
    assert.equal("unknown", nccl.counters.judge { expected_bytes = 10,
      nodes = { { name = "a", before = cut, after = reading(50, 1) } } }.state)
  end)

  it("are unknown where Ethernet's or the received bytes are missing", function ()
    local function without(what)
      local function text(n)
        return ("efa/a/1/tx_bytes %d\nefa/a/1/rx_bytes %d\nnet/e/tx_bytes 1\nend\n")
          :format(n, n):gsub(what .. " %d+", what .. " -")
      end
      return nccl.counters.judge { expected_bytes = 1000, nodes = {
        { name = "a", before = nccl.counters.parse(text(0)),
          after = nccl.counters.parse(text(1000)) } } }.state
    end
    assert.equal("as_expected", without("nothing"))
    assert.equal("unknown", without("net/e/tx_bytes"))
    assert.equal("unknown", without("rx_bytes"))
  end)

  it("are flat where a node sent over EFA and got nothing by it", function ()
    local before = nccl.counters.parse(
      "efa/a/1/tx_bytes 0\nefa/a/1/rx_bytes 0\nnet/e/tx_bytes 0\nend\n")
    local after = nccl.counters.parse(
      "efa/a/1/tx_bytes 1000\nefa/a/1/rx_bytes 9\nnet/e/tx_bytes 0\nend\n")
    assert.equal("flat", nccl.counters.judge { expected_bytes = 1000,
      nodes = { { name = "a", before = before, after = after } } }.state)
  end)

  it("are as good as the worst node", function ()
    local judged = nccl.counters.judge { expected_bytes = 1000, nodes = {
      { name = "a", before = reading(0, 0), after = reading(1000, 0) },
      { name = "b", before = reading(0, 0), after = reading(10, 0) },
    } }
    assert.equal("flat", judged.state)
  end)

  it("come from a script that a plain shell runs", function ()
    local pipe = assert(io.popen("sh -c '" .. nccl.counters.script:gsub("'", "'\\''") .. "'"))
    local parsed = nccl.counters.parse(pipe:read("a"))
    pipe:close()
    assert.is_true(parsed.complete)
  end)
end)

describe("the joined verdict", function ()
  local efa = { verdict = "EFA" }
  local cases = {
    -- log, counters, proof, transport → verdict, ok
    { "EFA", "as_expected", nil, nil, "EFA", true },
    { "EFA", "unknown", nil, nil, "UNKNOWN", false },
    { "EFA", "unknown", "log", nil, "EFA", true },
    { "EFA", nil, nil, nil, "UNKNOWN", false },
    { "EFA", "flat", nil, nil, "TCP", false },
    { "EFA", "flat", "log", nil, "TCP", false },
    { "EFA", "elsewhere", nil, nil, "TCP", false },
    { "EFA", "short", nil, nil, "UNKNOWN", false },
    { "DEGRADED", "as_expected", nil, nil, "DEGRADED", true },
    { "TCP", "as_expected", nil, nil, "TCP", false },
    { "MIXED", "as_expected", nil, nil, "MIXED", false },
    { "UNKNOWN", "as_expected", "log", nil, "UNKNOWN", false },
    { "UNKNOWN", nil, nil, "any", "UNKNOWN", true },
    { "TCP", nil, nil, "any", "TCP", true },
    { "NOT_APPLICABLE", nil, nil, nil, "NOT_APPLICABLE", true },
  }
  for _, case in ipairs(cases) do
    it(("of %s in the log, counters %s, proof %s, transport %s is %s"):format(case[1], case[2],
      case[3], case[4], case[5]), function ()
      local joined = nccl.join { log = { verdict = case[1] },
        counters = case[2] and { state = case[2] } or nil, proof = case[3], transport = case[4] }
      assert.equal(case[5], joined.verdict)
      assert.equal(case[6], joined.ok)
    end)
  end

  it("is UNKNOWN where fewer nodes were read than took part", function ()
    local facts = { log = { verdict = "EFA", nodes = 2 },
      counters = { state = "as_expected", nodes = { { name = "a" } } } }
    assert.equal("UNKNOWN", nccl.join(facts).verdict)
    facts.counters.nodes[2] = { name = "b" }
    assert.equal("EFA", nccl.join(facts).verdict)
  end)

  it("is UNKNOWN for a job that says it did without NCCL, whatever lies in its folder", function ()
    local joined = nccl.join { log = efa, proof = "log", unused = true }
    assert.equal("UNKNOWN", joined.verdict)
    assert.equal("NOT_USED", joined.cause.class)
  end)

  it("is lowered by bandwidth, never raised", function ()
    local facts = { log = efa, counters = { state = "as_expected" },
      bandwidth = { degraded = true } }
    assert.equal("DEGRADED", nccl.join(facts).verdict)
    facts.log = { verdict = "TCP" }
    facts.bandwidth = { degraded = false }
    assert.equal("TCP", nccl.join(facts).verdict)
  end)
end)
