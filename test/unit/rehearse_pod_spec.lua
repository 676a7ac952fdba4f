-- The shell and the programs of a simulated container.
local commands = require "rtl.rehearse.pod.commands"
local files = require "rtl.rehearse.pod.files"
local nccl = require "rtl.nccl"
local shell = require "rtl.rehearse.pod.shell"

local function run(script, options)
  options = options or {}
  local state = { env = { A = "1", EMPTY = "" }, args = options.args or {}, cwd = "/", out = {},
    errors = {}, commands = commands, input = options.input, host_name = "pod", status = 0,
    files = options.files or files.new(options.written or {}, {}, options.shown or {}) }
  local code = shell.run(state, script)
  return { code = code, out = table.concat(state.out), err = table.concat(state.errors),
           seconds = state.seconds, files = state.files }
end

local function says(script, text, options)
  local ran = run(script, options)
  assert.equal(text, ran.out, script .. "\n" .. ran.err)
  return ran
end

describe("the shell of a simulated container", function ()
  it("expands words as a shell does", function ()
    says([[echo "a $A" 'b $A' c$A ${A}d "${NONE:-else}" ${NONE-x} "${EMPTY:-y}" ${#A}]],
         "a 1 b $A c1 1d else x y 1\n")
    says([[p=/a/b.tar.gz; echo ${p##*/} ${p%.*} ${p%%.*} ${p#*/}]],
         "b.tar.gz /a/b.tar /a/b a/b.tar.gz\n")
    says([[echo $((2 + 3 * 4)) $(($1 + 1))]], "14 6\n", { args = { "5" } })
    says([[echo "$@" $#]], "a b c d 3\n", { args = { "a b", "c", "d" } })
    says([[for x in "$@"; do echo "[$x]"; done]], "[a b]\n[c]\n", { args = { "a b", "c" } })
    says([[x='a  b'; echo $x "$x"]], "a b a  b\n")
    says([[echo $(echo one; echo two)]], "one two\n")
    says("echo a\\ b \\\n  c # a comment\n", "a b c\n")
  end)

  it("branches and loops", function ()
    says([[if [ a = b ]; then echo 1; elif [ 2 -gt 1 ]; then echo 2; else echo 3; fi]], "2\n")
    says([[for i in 1 2 3 4; do [ $i = 2 ] && continue; [ $i = 4 ] && break; echo $i; done]],
         "1\n3\n")
    says([[false || { echo or; false; } || echo again; true && echo and]], "or\nagain\nand\n")
    says([[while true; do echo once; break; done; until true; do echo never; done]], "once\n")
    says([[! false && echo not]], "not\n")
    says([[(cd /tmp; exit 4); echo $?]], "4\n")
    assert.equal(3, run("echo a; exit 3; echo b").code)
  end)

  it("redirects and pipes", function ()
    local ran = says([[echo hello >/tmp/a; cat </tmp/a; echo more >>/tmp/a; wc -l </tmp/a]],
                     "hello\n2\n")
    assert.equal("hello\nmore\n", ran.files:read "/tmp/a")
    says([[cat /none 2>/dev/null || echo gone]], "gone\n")
    assert.equal("to err\n", run("echo to err >&2").err)
    says([[echo to both 2>&1 | cat]], "to both\n")
    says([[printf '%s-%d\n' a 3 | tail -c +3]], "3\n")
    says([[seq 5 | head -n 2; seq 5 | tail -n 1]], "1\n2\n5\n")
    assert.equal(2, run("echo x >/no/such/folder/file").code)
  end)

  it("finds files by pattern, and leaves a pattern that finds none", function ()
    says("cd /d; for f in *.log; do echo $f; done; echo /none/*", "a.log\nb.log\n/none/*\n",
         { written = { ["/d/b.log"] = "", ["/d/a.log"] = "", ["/d/c.txt"] = "" } })
  end)

  it("says what is not there", function ()
    local ran = run "unicorn --help"
    assert.equal(127, ran.code)
    assert.matches("unicorn: command not found", ran.err, 1, true)
    assert.equal(2, run("echo 'open").code)
  end)

  it("counts the time that sleep takes", function ()
    assert.equal(7, run("sleep 3; sleep 4").seconds)
  end)

  it("runs the script that reads counters", function ()
    local shown = {
      ["/sys/class/infiniband/rdmap0s27/ports/1/hw_counters/tx_bytes"] = "12\n",
      ["/sys/class/net/ens5/device/vendor"] = "0x1d0f\n",
      ["/sys/class/net/ens5/statistics/tx_bytes"] = "7\n",
      ["/sys/class/net/lo/statistics/tx_bytes"] = "9\n",
    }
    local reading = nccl.counters.parse(run(nccl.counters.script, { shown = shown }).out)
    assert.same({ ["rdmap0s27/1"] = { tx_bytes = 12 } }, reading.efa)
    assert.same({ ens5 = { tx_bytes = 7 } }, reading.net)
    assert.is_true(reading.complete)
    assert.same({}, nccl.counters.parse(run(nccl.counters.script).out).efa)
  end)
end)
