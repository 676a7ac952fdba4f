-- Resource Groups: the group of reservations that a launch template names.
-- The format is described in rtl/aws/model.lua.
return {
  name = "resource_groups", id = "Resource Groups", protocol = "rest-json", version = "2017-11-27",
  endpoint = "resource-groups", signing = "resource-groups", actions = "resource-groups",
  page = { send = "NextToken", receive = "NextToken", size = "MaxResults" },
  labels = { Arn = "string(12..1600)" },
  operations = {
    create_group = {
      once = true, method = "POST", path = "/groups",
      input = [[
        Name!:string(1..300) Description:string(0..1024) ResourceQuery:ResourceQuery
        Configuration:[GroupConfigurationItem](0..2) Tags:{string(1..128)=string(0..256)}]],
      output = [[
        Group:Group ResourceQuery:ResourceQuery GroupConfiguration:GroupConfiguration
        Tags:{string}]],
    },
    get_group = {
      method = "POST", path = "/get-group",
      input = "GroupName:string(1..300) Group:string(1..1600)",
      output = "Group:Group",
    },
    list_groups = {
      method = "POST", path = "/groups-list", items = "GroupIdentifiers",
      query = "MaxResults:int(1..50)@maxResults NextToken:string(0..8192)@nextToken",
      input = "Filters:[GroupFilter]",
      output = "GroupIdentifiers:[GroupIdentifier] Groups:[Group] NextToken",
    },
    delete_group = {
      method = "POST", path = "/delete-group",
      input = "GroupName:string(1..300) Group:string(1..1600)",
      output = "Group:Group",
    },
    group_resources = {
      repeatable = true, method = "POST", path = "/group-resources",
      input = "Group!:string(1..1600) ResourceArns!:[string](1..10)",
      output = "Succeeded:[string] Failed:[FailedResource] Pending:[PendingResource]",
    },
    ungroup_resources = {
      repeatable = true, method = "POST", path = "/ungroup-resources",
      input = "Group!:string(1..1600) ResourceArns!:[string](1..10)",
      output = "Succeeded:[string] Failed:[FailedResource] Pending:[PendingResource]",
    },
    list_group_resources = {
      method = "POST", path = "/list-group-resources", items = "ResourceIdentifiers",
      input = [[
        GroupName:string(1..300) Group:string(1..1600) Filters:[ResourceFilter]
        MaxResults:int(1..50) NextToken:string(0..8192)]],
      output = [[
        Resources:[ListGroupResourcesItem] ResourceIdentifiers:[ResourceIdentifier]
        QueryErrors:[QueryError] NextToken]],
    },
    get_group_configuration = {
      method = "POST", path = "/get-group-configuration",
      input = "Group:string(1..1600)",
      output = "GroupConfiguration:GroupConfiguration",
    },
    tag = {
      repeatable = true, method = "PUT", path = "/resources/{Arn}/tags",
      input = "Tags!:{string(1..128)=string(0..256)}",
      output = "Arn Tags:{string}",
    },
    get_tags = {
      method = "GET", path = "/resources/{Arn}/tags",
      output = "Arn Tags:{string}",
    },
  },
  shapes = {
    FailedResource = "ResourceArn ErrorMessage ErrorCode",
    Group = "GroupArn Name Description ApplicationTag:{string}",
    GroupConfiguration = [[
      Configuration:[GroupConfigurationItem] ProposedConfiguration:[GroupConfigurationItem] Status
      FailureReason]],
    GroupConfigurationItem = "Type!:string(0..40) Parameters:[GroupConfigurationParameter]",
    GroupConfigurationParameter = "Name!:string(1..80) Values:[string(1..256)]",
    GroupFilter = [[
      Name!:(resource-type|configuration-type|owner|display-name|criticality)
      Values!:[string(1..300)](1..5)]],
    GroupIdentifier = "GroupName GroupArn Description",
    ListGroupResourcesItem = "Identifier:ResourceIdentifier Status:ResourceStatus",
    PendingResource = "ResourceArn",
    QueryError = "ErrorCode Message",
    ResourceFilter = "Name!:(resource-type) Values!:[string(1..128)](1..5)",
    ResourceIdentifier = "ResourceArn ResourceType",
    ResourceQuery = "Type!:(TAG_FILTERS_1_0|CLOUDFORMATION_STACK_1_0) Query!:string(0..4096)",
    ResourceStatus = "Name",
  },
  errors = {
    ForbiddenException = 403,
    InternalServerErrorException = 500,
    MethodNotAllowedException = 405,
    NotFoundException = 404,
    TooManyRequestsException = 429,
    UnauthorizedException = 401,
  },
}
