-- CloudWatch Logs: the cluster's log group.
-- The format is described in rtl/aws/model.lua.
return {
  name = "logs", id = "CloudWatch Logs", protocol = "json", version = "2014-03-28",
  endpoint = "logs", signing = "logs", actions = "logs",
  json = "1.1", target = "Logs_20140328",
  page = { send = "nextToken", receive = "nextToken", size = "limit" },
  operations = {
    describe_log_groups = {
      items = "logGroups",
      input = [[
        logGroupNamePrefix:string(1..512) logGroupNamePattern:string(0..512) limit:int(1..50)
        logGroupClass:(STANDARD|INFREQUENT_ACCESS|DELIVERY) nextToken:string(1..)]],
      output = "logGroups:[LogGroup] nextToken",
    },
    delete_log_group = {
      input = "logGroupName!:string(1..512)",
    },
    list_tags_for_resource = {
      input = "resourceArn!:string(1..1011)",
      output = "tags:{string}",
    },
  },
  shapes = {
    LogGroup = [[
      logGroupName creationTime:int retentionInDays:int arn storedBytes:int logGroupClass
      logGroupArn deletionProtectionEnabled:bool]],
  },
}
