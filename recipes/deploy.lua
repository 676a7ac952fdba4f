--- From an empty account to a proven distributed training job on EKS over EFA.
--
-- Makes a network, an EKS cluster with one system node and two GPU nodes, the two device plugins,
-- the KubeRay operator and a Ray cluster; runs a job on it and says which network it really took.
-- Run it again and it goes on where it stopped; nothing that stands is made twice.
--
--   rtl recipes/deploy.lua --plan               what would be made, what it costs; changes nothing
--   rtl recipes/deploy.lua --policy             the least IAM policy for it and for its teardown
--   rtl recipes/deploy.lua                      asks once, then makes it
--   rtl recipes/deploy.lua --down-after 4h      and AWS ends what bills, with the laptop shut
--   rtl recipes/deploy.lua --only job --again   another job, on what stands
--   rtl recipes/teardown.lua                    removes all of it
--
-- Costs about $10 an hour with the default GPU nodes, from the minute that they run.

return {
  title = "Ray Train on EKS over EFA",
  settings = { "settings" },
  steps = {
    -- Files beside this one, in order; `rtl help deploy` numbers them.
    "steps/settings",       -- what is wanted, checked against the instance table
    "steps/cluster",        -- capacity, network, cluster and node groups
    "steps/device_plugins", -- GPUs and EFA interfaces become resources of the nodes
    "steps/kuberay",        -- the operator
    "steps/ray_cluster",    -- head and workers, and what they really run
    "steps/job",            -- the job, its true end, and the verdict on its transport
  },
}
