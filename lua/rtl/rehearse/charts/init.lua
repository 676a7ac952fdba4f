local M = {}
function M.host() return false end
function M.answer() return { status = 404, body = "" } end
return M
