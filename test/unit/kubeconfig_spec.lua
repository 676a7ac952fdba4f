-- kubeconfig: schema, merging, material, exec plugins; what is refused is what client-go refuses.
local clock = require "rtl.clock"
local err = require "rtl.err"
local fs = require "rtl.fs"
local json = require "rtl.native.json"
local kubeconfig = require "rtl.k8s.kubeconfig"
local k8s = require "rtl.k8s"
local process = require "rtl.process"
local secret = require "rtl.native.secret"

local dir, former, env, answers, calls

-- A process runner that answers from `answers` and writes down what it was asked.
local function runner()
  return {
    getenv = function (name) return env[name] end,
    environ = function () return { "HOME=" .. dir, "PATH=/bin", "ODD" } end,
    run = function (options)
      calls[#calls + 1] = options
      local answer = table.remove(answers, 1)
      if type(answer) == "function" then return answer(options) end
      return answer
    end,
  }
end

before_each(function ()
  dir = assert(fs.temp_dir())
  env, answers, calls = { HOME = dir }, {}, {}
  former = process.use(runner())
end)

after_each(function ()
  process.use(former)
  fs.remove_tree(dir)
end)

local function write(name, text)
  local path = fs.join(dir, name)
  fs.mkdirs(fs.dirname(path))
  assert(fs.write(path, text))
  return path
end

local function config(fields)
  fields = fields or {}
  return ([[
apiVersion: v1
kind: Config
current-context: one
clusters:
- name: c1
  cluster: {server: "https://c1.test/prefix"%s}
users:
- name: u1
  user: {%s}
contexts:
- name: one
  context: {cluster: c1, user: u1%s}
]]):format(fields.cluster or "", fields.user or 'token: abc', fields.context or "")
end

local function load(fields, options)
  options = options or {}
  options.path = write("config", config(fields))
  return kubeconfig.load(options)
end

local function refused(fields, wanted)
  local settings, problem = load(fields)
  assert.is_nil(settings)
  assert.matches(wanted, problem.message)
  assert.matches("^RTL%-K8S%-05[01]$", problem.code)
end

describe("kubeconfig", function ()
  it("gives server, credentials and namespace of the current context", function ()
    local settings = assert(load { context = ", namespace: train",
      cluster = ', certificate-authority-data: "Q0E=", tls-server-name: other, '
        .. 'proxy-url: "http://p:1"' })
    local c = settings.client
    assert.equal("https://c1.test/prefix", c.server)
    assert.equal("CA", c.ca)
    assert.equal("other", c.server_name)
    assert.equal("http://p:1", c.proxy)
    assert.equal("train", c.namespace)
    assert.equal("abc", secret.reveal(c.token))
    assert.same({ "one", "c1", "u1" }, { settings.about.context, settings.about.cluster,
      settings.about.user })
  end)

  it("reads files beside the kubeconfig", function ()
    write("pki/ca.pem", "CA FILE")
    write("pki/me.pem", "CERT")
    write("pki/me.key", "KEY")
    local c = assert(load { cluster = ", certificate-authority: pki/ca.pem",
      user = "client-certificate: pki/me.pem, client-key: pki/me.key" }).client
    assert.equal("CA FILE", c.ca)
    assert.equal("CERT", c.cert)
    assert.equal("KEY", secret.reveal(c.key))
  end)

  it("reads a token file again when it has aged", function ()
    local path = write("token", "first\n")
    local c = assert(load { user = "token: x, tokenFile: token" }).client
    local token, expires = c.token()
    assert.equal("first", secret.reveal(token))
    assert.is_true(expires > clock.utc())
    assert(fs.write(path, "second"))
    assert.equal("second", secret.reveal((c.token())))
  end)

  it("refuses what contradicts itself", function ()
    refused({ cluster = ', certificate-authority: x, certificate-authority-data: "Q0E="' },
      "has both")
    refused({ user = 'client-certificate-data: "Q0E="' }, "needs both client certificate and key")
    refused({ user = "client-certificate: nope, client-key: nope" }, "can't be read")
    refused({ cluster = ', insecure-skip-tls-verify: true, certificate-authority-data: "Q0E="' },
      "insecure")
    refused({ cluster = ', certificate-authority-data: "*"' }, "no base64")
    refused({ cluster = ", proxy-url: 'ftp://x'" }, "proxy%-url")
    refused({ user = "as-groups: [a]" }, "without as")
    refused({ user = "token: a, username: b, password: c" }, "token and a user name")
    refused({ user = "auth-provider: {name: gcp}" }, "auth%-provider")
    refused({ user = "exec: {apiVersion: client.authentication.k8s.io/v1}" }, "no command")
    refused({ user = "exec: {command: x, apiVersion: client.authentication.k8s.io/v1alpha1}" },
      "no usable apiVersion")
    refused({ context = ", namespace: Not_A_Label" }, "is no namespace")
  end)

  it("refuses contexts that lead nowhere", function ()
    local _, problem = load({}, { context = "other" })
    assert.matches('no context "other"', problem.message)
    local path = write("bad", config():gsub("cluster: c1, user", "cluster: c9, user"))
    _, problem = kubeconfig.load { path = path }
    assert.matches("no known cluster", problem.message)
    _, problem = kubeconfig.load { path = write("yaml", "a: [") }
    assert.equal("RTL-K8S-050", problem.code)
    _, problem = kubeconfig.load { path = fs.join(dir, "none") }
    assert.truthy(err.is(problem))
    _, problem = kubeconfig.load {}
    assert.matches("no kubeconfig", problem.message)
  end)

  it("merges the files of KUBECONFIG: the first wins whole entries, and a difference is told",
    function ()
    local a = write("a", 'users: [{name: u, user: {token: AAA}}]\ncurrent-context: ""\n')
    local b = write("b", [[
current-context: ctx-b
clusters: [{name: c, cluster: {server: "https://b.test"}}]
users: [{name: u, user: {token: BBB, as: x}}]
contexts: [{name: ctx-b, context: {cluster: c, user: u}}]
]])
    env.KUBECONFIG = ":" .. a .. "::" .. fs.join(dir, "none") .. ":" .. b .. ":" .. a .. ":"
    local settings = assert(kubeconfig.load {})
    assert.equal("AAA", secret.reveal(settings.client.token))
    assert.is_nil(settings.client.as)
    assert.same({ a, b }, settings.about.files)
    assert.equal(1, #settings.about.warnings)
    assert.matches('user "u"', settings.about.warnings[1])
    env.KUBECONFIG = nil
    write(".kube/config", config())
    assert.equal("c1", assert(kubeconfig.load {}).about.cluster)
  end)

  it("makes a client", function ()
    write(".kube/config", config())
    local client = assert(k8s.from_kubeconfig())
    assert.equal("https://c1.test/prefix", client.server)
    assert.equal("one", client.kubeconfig.context)
  end)
end)

describe("an exec plugin", function ()
  local function credential(status, version)
    return { status = 0, stderr = "", stdout = json.encode { kind = "ExecCredential",
      status = status,
      apiVersion = version or "client.authentication.k8s.io/v1beta1" } }
  end
  local function plugin(more)
    return { user = 'exec: {command: aws, args: [eks, get-token, 7], apiVersion: '
      .. 'client.authentication.k8s.io/v1beta1, env: [{name: AWS_PROFILE, value: dev}], '
      .. 'installHint: "install aws"' .. (more or "") .. "}" }
  end

  it("is run with its words, its environment and what client-go tells it", function ()
    answers = { credential { token = "t1", expirationTimestamp = "2033-05-18T03:33:20Z" },
      credential { token = "t2" } }
    local fields = plugin(", provideClusterInfo: true")
    fields.cluster = ', certificate-authority-data: "Q0E="'
    local c = assert(load(fields)).client
    assert.same({ "aws", "eks", "get-token", "7" }, calls[1].argv)
    assert.equal("dev", calls[1].env.AWS_PROFILE)
    assert.equal("/bin", calls[1].env.PATH)
    assert.same({ kind = "ExecCredential", apiVersion = "client.authentication.k8s.io/v1beta1",
      spec = { interactive = false, cluster = { server = "https://c1.test/prefix",
        ["certificate-authority-data"] = "Q0E=" } } },
      json.decode(calls[1].env.KUBERNETES_EXEC_INFO))
    local token, expires = c.token(false)
    assert.equal("t1", secret.reveal(token))
    assert.equal(2e9, expires)
    assert.equal(1, #calls)
    token, expires = c.token(true)
    assert.equal("t2", secret.reveal(token))
    assert.is_nil(expires)
  end)

  it("may give a certificate", function ()
    answers = { credential { clientCertificateData = "CERT", clientKeyData = "KEY" } }
    local c = assert(load(plugin())).client
    assert.equal("CERT", c.cert)
    assert.equal("KEY", secret.reveal(c.key))
    assert.is_nil(c.token)
  end)

  it("that answers another version is believed with a warning", function ()
    answers = { credential({ token = "t" }, "client.authentication.k8s.io/v1alpha1") }
    local settings = assert(load(plugin()))
    assert.matches("v1alpha1", settings.about.warnings[1])
  end)

  it("that fails is an error with its hint", function ()
    local cases = {
      { { status = 1, stdout = "", stderr = "no profile\n" }, "it failed: no profile" },
      { { status = 0, stdout = "Bearer x", stderr = "" }, "no ExecCredential" },
      { credential {}, "neither a token nor" },
    }
    for _, case in ipairs(cases) do
      answers = { case[1] }
      refused(plugin(), case[2])
    end
    answers = { function () return nil, err.new { code = "RTL-PROC-001",
      message = "not found" } end }
    local _, problem = load(plugin())
    assert.equal("install aws", problem.hint)
    refused(plugin(", interactiveMode: Always"), "wants a terminal")
  end)

  it("is not run when the user has a token too", function ()
    local fields = plugin()
    fields.user = "token: mine, " .. fields.user
    assert.equal("mine", secret.reveal(assert(load(fields)).client.token))
    assert.equal(0, #calls)
  end)

  it("beside the kubeconfig is found from there", function ()
    answers = { credential { token = "t" } }
    local fields = plugin()
    fields.user = fields.user:gsub("command: aws", "command: bin/tool")
    assert(load(fields))
    assert.equal(fs.join(dir, "bin/tool"), calls[1].argv[1])
  end)
end)
