-- Codes of the receipt: recipes/report.lua.
return {
  ["RTL-COST-001"] = {
    title = "There is nothing to make a receipt of",
    cause = "No ledger of this deployment is in the state folder: it was made from another "
      .. "machine, or not at all.",
    next = "Look at name and region; the state folder is $RTL_STATE. rtl recipes/status.lua shows "
      .. "what stands, from any machine.",
  },
}
