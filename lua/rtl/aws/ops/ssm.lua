-- Systems Manager parameters: AMI ids and the lock of a deployment.
-- The format is described in rtl/aws/model.lua.
return {
  name = "ssm", id = "SSM", protocol = "json", version = "2014-11-06",
  endpoint = "ssm", signing = "ssm", actions = "ssm",
  json = "1.1", target = "AmazonSSM",
  page = { send = "NextToken", receive = "NextToken", size = "MaxResults" },
  operations = {
    get_parameter = {
      input = "Name!:string(1..2048) WithDecryption:bool",
      output = "Parameter:Parameter",
    },
    get_parameters = {
      input = "Names!:[string(1..2048)](1..10) WithDecryption:bool",
      output = "Parameters:[Parameter] InvalidParameters:[string]",
    },
    put_parameter = {
      once = true,
      input = [[
        Name!:string(1..2048) Value! Description:string(0..1024)
        Type:(String|StringList|SecureString) KeyId:string(1..256) Overwrite:bool
        AllowedPattern:string(0..1024) Tier:(Standard|Advanced|Intelligent-Tiering)
        Policies:string(1..4096) DataType:string(0..128) Tags:[Tag](0..1000)]],
      output = "Version:int Tier",
    },
    delete_parameter = {
      input = "Name!:string(1..2048)",
    },
    get_parameters_by_path = {
      items = "Parameters",
      input = [[
        Path!:string(1..2048) Recursive:bool ParameterFilters:[ParameterStringFilter]
        WithDecryption:bool MaxResults:int(1..10) NextToken]],
      output = "Parameters:[Parameter] NextToken",
    },
    add_tags_to_resource = {
      repeatable = true,
      input = [[
        ResourceType!:(Document|ManagedInstance|MaintenanceWindow|Parameter|PatchBaseline|OpsItem|]]
        .. [[OpsMetadata|Automation|Association|CloudConnector)
        ResourceId! Tags!:[Tag](0..1000)]],
    },
  },
  shapes = {
    Parameter = [[
      Name Type Value Version:int Selector SourceResult LastModifiedDate:time ARN DataType]],
    ParameterStringFilter = [[
      Key!:string(1..132) Option:string(1..10) Values:[string(1..1024)](1..50)]],
    Tag = "Key!:string(1..128) Value!:string(0..256)",
  },
}
