-- The tagging API: everything of a region by tag.
-- The format is described in rtl/aws/model.lua.
return {
  name = "tagging", id = "Resource Groups Tagging API", protocol = "json", version = "2017-01-26",
  endpoint = "tagging", signing = "tagging", actions = "tag",
  hosts = { ["aws-us-gov"] = { fips = "{service}-fips.{region}.{suffix}" } },
  json = "1.1", target = "ResourceGroupsTaggingAPI_20170126",
  page = { send = "PaginationToken", receive = "PaginationToken", size = "ResourcesPerPage" },
  operations = {
    get_resources = {
      items = "ResourceTagMappingList",
      input = [[
        PaginationToken:string(0..2048) TagFilters:[TagFilter](0..50) ResourcesPerPage:int
        TagsPerPage:int ResourceTypeFilters:[string(0..256)]
        ResourceARNList:[string(1..1011)](1..100)]],
      output = "PaginationToken ResourceTagMappingList:[ResourceTagMapping]",
    },
    get_tag_keys = {
      items = "TagKeys", page = { send = "PaginationToken", receive = "PaginationToken" },
      input = "PaginationToken:string(0..2048)",
      output = "PaginationToken TagKeys:[string]",
    },
    tag_resources = {
      repeatable = true,
      input = [[
        ResourceARNList!:[string(1..1011)](1..20) Tags!:{string(1..128)=string(0..256)}(1..50)]],
      output = "FailedResourcesMap:{FailureInfo}",
    },
    untag_resources = {
      repeatable = true,
      input = "ResourceARNList!:[string(1..1011)](1..20) TagKeys!:[string(1..128)](1..50)",
      output = "FailedResourcesMap:{FailureInfo}",
    },
  },
  shapes = {
    FailureInfo = "StatusCode:int ErrorCode ErrorMessage",
    ResourceTagMapping = "ResourceARN Tags:[Tag]",
    Tag = "Key Value",
    TagFilter = "Key:string(1..128) Values:[string(0..256)](0..20)",
  },
}
