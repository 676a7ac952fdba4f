-- The command line without its waits: `build/rtl test/support/at_once.lua recipes/deploy.lua …`.
-- Against a local server a deploy of twenty minutes takes seconds, in a process of its own that can
-- be killed.
require "test.support.jumps".use()

return require "rtl.cli.main"({ ... })
