--- How IAM says what rtl.plan.policy puts together. Data.
return {
  -- Before the last part of an ARN; for services whose resources belong to no region.
  arn = "arn:{partition}:%s:{region}:{account}:",
  global_arn = "arn:{partition}:%s::{account}:",
  global = { iam = true },

  -- The conditions of what is made with this deployment's tag, and of what carries it.
  new = { StringEquals = { ["aws:RequestTag/rtl:deployment"] = "{deployment}" } },
  ours = { StringEquals = { ["aws:ResourceTag/rtl:deployment"] = "{deployment}" } },

  -- Services in which the tags of a create are a right of their own: the action, and the condition
  -- key that says for which call.
  tagging = { ec2 = { action = "ec2:CreateTags", operator = "StringEquals",
    key = "ec2:CreateAction" } },
}
