-- EventBridge Scheduler: the lease that works with the laptop shut.
-- The format is described in rtl/aws/model.lua.
return {
  name = "scheduler", id = "Scheduler", protocol = "rest-json", version = "2021-06-30",
  endpoint = "scheduler", signing = "scheduler", actions = "scheduler",
  hosts = { ["aws-us-gov"] = { fips = "{service}-fips.{region}.{suffix}" } },
  page = { send = "NextToken", receive = "NextToken", size = "MaxResults" },
  labels = { Name = "string(1..64)", ResourceArn = "string(1..1011)" },
  operations = {
    create_schedule_group = {
      method = "POST", path = "/schedule-groups/{Name}",
      input = "Tags:[Tag](0..200) ClientToken:token(1..64)",
      output = "ScheduleGroupArn",
    },
    get_schedule_group = {
      method = "GET", path = "/schedule-groups/{Name}",
      output = "Arn Name State CreationDate:time LastModificationDate:time",
    },
    list_schedule_groups = {
      method = "GET", path = "/schedule-groups", items = "ScheduleGroups",
      query = "NamePrefix:string(1..64) MaxResults:int(1..100) NextToken:string(1..2048)",
      output = "ScheduleGroups:[ScheduleGroupSummary] NextToken",
    },
    delete_schedule_group = {
      method = "DELETE", path = "/schedule-groups/{Name}",
      query = "ClientToken:token(1..64)@clientToken",
    },
    list_tags_for_resource = {
      method = "GET", path = "/tags/{ResourceArn}",
      output = "Tags:[Tag]",
    },
    create_schedule = {
      method = "POST", path = "/schedules/{Name}",
      input = [[
        ScheduleExpression!:string(1..256) Target!:Target FlexibleTimeWindow!:FlexibleTimeWindow
        GroupName:string(1..64) StartDate:time EndDate:time Description:string(0..512)
        ScheduleExpressionTimezone:string(1..50) State:(ENABLED|DISABLED) KmsKeyArn:string(1..2048)
        ActionAfterCompletion:(NONE|DELETE) ClientToken:token(1..64)]],
      output = "ScheduleArn",
    },
    get_schedule = {
      method = "GET", path = "/schedules/{Name}",
      query = "GroupName:string(1..64)@groupName",
      output = [[
        Arn GroupName Name ScheduleExpression StartDate:time EndDate:time Description
        ScheduleExpressionTimezone State CreationDate:time LastModificationDate:time KmsKeyArn
        Target:Target FlexibleTimeWindow:FlexibleTimeWindow ActionAfterCompletion]],
    },
    list_schedules = {
      method = "GET", path = "/schedules", items = "Schedules",
      query = [[
        GroupName:string(1..64)@ScheduleGroup NamePrefix:string(1..64) State:(ENABLED|DISABLED)
        MaxResults:int(1..100) NextToken:string(1..2048)]],
      output = "Schedules:[ScheduleSummary] NextToken",
    },
    update_schedule = {
      method = "PUT", path = "/schedules/{Name}",
      input = [[
        ScheduleExpression!:string(1..256) Target!:Target FlexibleTimeWindow!:FlexibleTimeWindow
        GroupName:string(1..64) StartDate:time EndDate:time Description:string(0..512)
        ScheduleExpressionTimezone:string(1..50) State:(ENABLED|DISABLED) KmsKeyArn:string(1..2048)
        ActionAfterCompletion:(NONE|DELETE) ClientToken:token(1..64)]],
      output = "ScheduleArn",
    },
    delete_schedule = {
      method = "DELETE", path = "/schedules/{Name}",
      query = "GroupName:string(1..64)@groupName ClientToken:token(1..64)@clientToken",
    },
  },
  shapes = {
    DeadLetterConfig = "Arn:string(1..1600)",
    FlexibleTimeWindow = "Mode!:(OFF|FLEXIBLE) MaximumWindowInMinutes:int(1..1440)",
    RetryPolicy = "MaximumEventAgeInSeconds:int(60..86400) MaximumRetryAttempts:int(0..185)",
    ScheduleGroupSummary = "Arn Name State CreationDate:time LastModificationDate:time",
    ScheduleSummary = [[
      Arn Name GroupName State CreationDate:time LastModificationDate:time Target:TargetSummary]],
    Tag = "Key!:string(1..128) Value!:string(1..256)",
    Target = [[
      Arn!:string(1..1600) RoleArn!:string(1..1600) DeadLetterConfig:DeadLetterConfig
      RetryPolicy:RetryPolicy Input:json(1..)]],
    TargetSummary = "Arn",
  },
  errors = {
    ConflictException = 409,
    InternalServerException = 500,
    ResourceNotFoundException = 404,
    ServiceQuotaExceededException = 402,
    ThrottlingException = 429,
  },
}
