--- Proof of transport: which network NCCL really took between the nodes of a job.
-- `nccl.classify(files, options)` reads NCCL's logs, `nccl.counters` the EFA counters before and
-- after, `nccl.join { log =, … }` judges both together, `nccl.passes(verdict, transport)` says
-- whether that is what was wanted. Each is told in the module of its name.

local M = {}

M.classify = require("rtl.nccl.classify").classify
M.counters = require "rtl.nccl.counters"
M.join = require("rtl.nccl.join").join
M.passes = require("rtl.nccl.join").passes

return M
