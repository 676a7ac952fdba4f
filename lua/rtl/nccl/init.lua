--- Proof of transport: which network NCCL really took between the nodes of a job.

local M = {}

M.classify = require("rtl.nccl.classify").classify
M.counters = require "rtl.nccl.counters"
M.join = require("rtl.nccl.join").join
M.passes = require("rtl.nccl.join").passes

return M
