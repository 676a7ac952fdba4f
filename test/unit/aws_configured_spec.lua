-- What environment and profile say to all clients: attempts, retry mode, kinds of endpoints.
local aws = require "rtl.aws"
local configured = require "rtl.aws.configured"
local fake_aws = require "test.support.fake_aws"
local fs = require "rtl.fs"

describe("the settings of all AWS clients", function ()
  local function read(variables, profile)
    local undo = fake_aws.environment(variables)
    local found, e = configured.read(profile)
    undo()
    return found, e
  end

  it("come from the environment, then from the profile; empty is unset", function ()
    assert.same({}, read {})
    assert.same({}, read({ AWS_MAX_ATTEMPTS = "" }, { retry_mode = "" }))
    assert.same({ attempts = 7, mode = "adaptive", fips = true, dual = false },
      read({ AWS_MAX_ATTEMPTS = "7", AWS_USE_FIPS_ENDPOINT = "True" }, {
        max_attempts = "2", retry_mode = "Adaptive", use_fips_endpoint = "false",
        use_dualstack_endpoint = "false",
      }))
  end)

  it("are refused when they mean nothing, with their place", function ()
    for text, row in pairs {
      ["AWS_MAX_ATTEMPTS is '0', not a whole number of attempts, 1 or more"] =
        { { AWS_MAX_ATTEMPTS = "0" } },
      ["AWS_MAX_ATTEMPTS is 'many', not a whole number of attempts, 1 or more"] =
        { { AWS_MAX_ATTEMPTS = "many" } },
      ["max_attempts of the profile is '2.5', not a whole number of attempts, 1 or more"] =
        { {}, { max_attempts = "2.5" } },
      ["AWS_RETRY_MODE is 'fast', not legacy, standard or adaptive"] =
        { { AWS_RETRY_MODE = "fast" }, { retry_mode = "standard" } },
      ["use_fips_endpoint of the profile is 'yes', not true or false"] =
        { {}, { use_fips_endpoint = "yes" } },
      ["AWS_USE_DUALSTACK_ENDPOINT is '1', not true or false"] =
        { { AWS_USE_DUALSTACK_ENDPOINT = "1" } },
    } do
      local found, e = read(row[1], row[2])
      assert.is_nil(found)
      assert.equal("RTL-AWS-007", e.code)
      assert.equal(text, e.message)
    end
  end)

  it("reach each client of a session", function ()
    local home = assert(fs.temp_dir "rtl-configured-")
    assert(fs.mkdirs(fs.join(home, ".aws")))
    assert(fs.write(fs.join(home, ".aws/config"),
      "[default]\nregion = eu-west-1\nmax_attempts = 6\nuse_fips_endpoint = true\n"))
    local undo = fake_aws.environment { HOME = home, AWS_RETRY_MODE = "legacy" }
    local ec2 = assert(aws.session { credentials = fake_aws.KEYS }):client "ec2"
    undo()
    assert.equal("https://ec2-fips.eu-west-1.amazonaws.com", ec2.endpoint.url)
    assert.equal(6, ec2.bucket.attempts)
    undo = fake_aws.environment { HOME = home, AWS_RETRY_MODE = "often" }
    local session, e = aws.session { credentials = fake_aws.KEYS }
    undo()
    assert.is_nil(session)
    assert.equal("RTL-AWS-007", e.code)
    assert(fs.remove_tree(home))
  end)
end)
