-- AWS IAM (global, signed for one region a partition).
-- The format is described in rtl/aws/model.lua.
return {
  name = "iam", id = "IAM", protocol = "awsquery", version = "2010-05-08",
  endpoint = "iam", signing = "iam", actions = "iam",
  xmlns = "https://iam.amazonaws.com/doc/2010-05-08/",
  hosts = {
    aws = {
      region = "us-east-1", plain = "iam.{suffix}", dual = "iam.global.{dual}",
      fips = "iam-fips.{suffix}", fips_dual = "iam-fips.global.{dual}",
    },
    ["aws-cn"] = { region = "cn-north-1", dual = "iam.global.{dual}", fips = "iam-fips.{suffix}" },
    ["aws-us-gov"] = {
      region = "us-gov-west-1", plain = "iam.us-gov.{suffix}", dual = "iam.us-gov.{dual}",
      fips = "iam.us-gov.{suffix}", fips_dual = "iam.us-gov.{dual}",
    },
    ["aws-eusc"] = {
      region = "eusc-de-east-1", dual = "iam.global.{dual}", fips = "iam-fips.{suffix}",
    },
    ["aws-iso"] = { region = "us-iso-east-1" },
    ["aws-iso-b"] = { region = "us-isob-east-1" },
    ["aws-iso-e"] = { region = "eu-isoe-west-1", fips = "iam-fips.{suffix}" },
    ["aws-iso-f"] = { region = "us-isof-south-1", fips = "iam-fips.{suffix}" },
    any = { dual = "iam.{dual}", fips_dual = "iam-fips.{dual}" },
  },
  page = { send = "Marker", receive = "Marker", size = "MaxItems", more = "IsTruncated" },
  operations = {
    -- Roles
    create_role = {
      once = true,
      input = [[
        RoleName!:string(1..64) AssumeRolePolicyDocument!:urljson(1..131072) Path:string(1..512)
        Description:string(0..1000) MaxSessionDuration:int(3600..43200)
        PermissionsBoundary:string(20..2048) Tags:[Tag](0..50)]],
      output = "Role:Role",
    },
    get_role = {
      input = "RoleName!:string(1..64)",
      output = "Role:Role",
    },
    list_roles = {
      items = "Roles",
      input = "PathPrefix:string(1..512) MaxItems:int(1..1000) Marker:string(1..320)",
      output = "Roles:[Role] IsTruncated:bool Marker",
    },
    update_assume_role_policy = {
      repeatable = true,
      input = "RoleName!:string(1..64) PolicyDocument!:urljson(1..131072)",
    },
    update_role = {
      repeatable = true,
      input = [[
        RoleName!:string(1..64) Description:string(0..1000) MaxSessionDuration:int(3600..43200)]],
    },
    put_role_permissions_boundary = {
      repeatable = true,
      input = "RoleName!:string(1..64) PermissionsBoundary!:string(20..2048)",
    },
    delete_role = {
      input = "RoleName!:string(1..64)",
    },
    tag_role = {
      repeatable = true,
      input = "RoleName!:string(1..64) Tags!:[Tag](0..50)",
    },
    untag_role = {
      repeatable = true,
      input = "RoleName!:string(1..64) TagKeys!:[string(1..128)](0..50)",
    },
    list_role_tags = {
      items = "Tags",
      input = "RoleName!:string(1..64) MaxItems:int(1..1000) Marker:string(1..320)",
      output = "IsTruncated:bool Tags:[Tag] Marker",
    },

    -- Policies of a role
    attach_role_policy = {
      repeatable = true,
      input = "RoleName!:string(1..64) PolicyArn!:string(20..2048)",
    },
    detach_role_policy = {
      repeatable = true,
      input = "RoleName!:string(1..64) PolicyArn!:string(20..2048)",
    },
    list_attached_role_policies = {
      items = "AttachedPolicies",
      input = [[
        RoleName!:string(1..64) PathPrefix:string(1..512) MaxItems:int(1..1000)
        Marker:string(1..320)]],
      output = "AttachedPolicies:[AttachedPolicy] IsTruncated:bool Marker",
    },
    put_role_policy = {
      repeatable = true,
      input = [[
        RoleName!:string(1..64) PolicyName!:string(1..128) PolicyDocument!:urljson(1..131072)]],
    },
    get_role_policy = {
      input = "RoleName!:string(1..64) PolicyName!:string(1..128)",
      output = "RoleName PolicyName PolicyDocument:urljson",
    },
    list_role_policies = {
      items = "PolicyNames",
      input = "RoleName!:string(1..64) MaxItems:int(1..1000) Marker:string(1..320)",
      output = "PolicyNames:[string] IsTruncated:bool Marker",
    },
    delete_role_policy = {
      input = "RoleName!:string(1..64) PolicyName!:string(1..128)",
    },

    -- Managed policies
    create_policy = {
      once = true,
      input = [[
        PolicyName!:string(1..128) PolicyDocument!:urljson(1..131072) Path:string(1..512)
        Description:string(0..1000) Tags:[Tag](0..50)]],
      output = "Policy:Policy",
    },
    get_policy = {
      input = "PolicyArn!:string(20..2048)",
      output = "Policy:Policy",
    },
    list_policies = {
      items = "Policies",
      input = [[
        Scope:(All|AWS|Local) OnlyAttached:bool PathPrefix:string(1..512)
        PolicyUsageFilter:(PermissionsPolicy|PermissionsBoundary) MaxItems:int(1..1000)
        Marker:string(1..320)]],
      output = "Policies:[Policy] IsTruncated:bool Marker",
    },
    delete_policy = {
      input = "PolicyArn!:string(20..2048)",
    },

    -- Instance profiles
    create_instance_profile = {
      once = true,
      input = "InstanceProfileName!:string(1..128) Path:string(1..512) Tags:[Tag](0..50)",
      output = "InstanceProfile:InstanceProfile",
    },
    get_instance_profile = {
      input = "InstanceProfileName!:string(1..128)",
      output = "InstanceProfile:InstanceProfile",
    },
    list_instance_profiles_for_role = {
      items = "InstanceProfiles",
      input = "RoleName!:string(1..64) MaxItems:int(1..1000) Marker:string(1..320)",
      output = "InstanceProfiles:[InstanceProfile] IsTruncated:bool Marker",
    },
    add_role_to_instance_profile = {
      repeatable = true,
      input = "InstanceProfileName!:string(1..128) RoleName!:string(1..64)",
    },
    remove_role_from_instance_profile = {
      repeatable = true,
      input = "InstanceProfileName!:string(1..128) RoleName!:string(1..64)",
    },
    delete_instance_profile = {
      input = "InstanceProfileName!:string(1..128)",
    },

    -- Checks, linked roles, OIDC
    simulate_principal_policy = {
      items = "EvaluationResults",
      input = [[
        PolicySourceArn!:string(20..2048) ActionNames!:[string(3..128)]
        PolicyInputList:[string(1..131072)] ResourceArns:[string(1..2048)]
        ResourcePolicy:string(1..131072) CallerArn:string(1..2048)
        ContextEntries:[ContextEntry] MaxItems:int(1..1000) Marker:string(1..320)]],
      output = "EvaluationResults:[EvaluationResult] IsTruncated:bool Marker",
    },
    create_service_linked_role = {
      once = true,
      input = [[
        AWSServiceName!:string(1..128) Description:string(0..1000) CustomSuffix:string(1..64)]],
      output = "Role:Role",
    },
    list_open_id_connect_providers = {
      name = "ListOpenIDConnectProviders",
      output = "OpenIDConnectProviderList:[OpenIDConnectProviderListEntry]",
    },
    create_open_id_connect_provider = {
      name = "CreateOpenIDConnectProvider", once = true,
      input = [[
        Url!:string(1..255) ClientIDList:[string(1..255)] ThumbprintList:[string(40..40)]
        Tags:[Tag](0..50)]],
      output = "OpenIDConnectProviderArn Tags:[Tag]",
    },
    get_open_id_connect_provider = {
      name = "GetOpenIDConnectProvider",
      input = "OpenIDConnectProviderArn!:string(20..2048)",
      output = "Url ClientIDList:[string] ThumbprintList:[string] CreateDate:time Tags:[Tag]",
    },
    delete_open_id_connect_provider = {
      name = "DeleteOpenIDConnectProvider",
      input = "OpenIDConnectProviderArn!:string(20..2048)",
    },
  },
  shapes = {
    AttachedPermissionsBoundary = "PermissionsBoundaryType PermissionsBoundaryArn",
    AttachedPolicy = "PolicyName PolicyArn",
    BoundaryDecisionDetail = "AllowedByPermissionsBoundary:bool",
    ContextEntry = "ContextKeyName:string(5..256) ContextKeyValues:[string] "
      .. "ContextKeyType:(string|stringList|numeric|numericList|boolean|booleanList|ip|ipList"
      .. "|binary|binaryList|date|dateList)",
    EvaluationResult = [[
      EvalActionName EvalResourceName EvalDecision MatchedStatements:[Statement]
      MissingContextValues:[string] OrganizationsDecisionDetail:OrganizationsDecisionDetail
      PermissionsBoundaryDecisionDetail:BoundaryDecisionDetail
      ResourceSpecificResults:[ResourceSpecificResult]
    ]],
    InstanceProfile = [[
      Path InstanceProfileName InstanceProfileId Arn CreateDate:time Roles:[Role] Tags:[Tag]
    ]],
    OpenIDConnectProviderListEntry = "Arn",
    OrganizationsDecisionDetail = "AllowedByOrganizations:bool",
    Policy = [[
      PolicyName PolicyId Arn Path DefaultVersionId AttachmentCount:int
      PermissionsBoundaryUsageCount:int IsAttachable:bool Description CreateDate:time
      UpdateDate:time Tags:[Tag]
    ]],
    ResourceSpecificResult = "EvalResourceName EvalResourceDecision MissingContextValues:[string]",
    Role = [[
      Path RoleName RoleId Arn CreateDate:time AssumeRolePolicyDocument:urljson Description
      MaxSessionDuration:int PermissionsBoundary:AttachedPermissionsBoundary Tags:[Tag]
    ]],
    Statement = "SourcePolicyId SourcePolicyType",
    Tag = "Key!:string(1..128) Value!:string(0..256)",
  },
  waiters = {
    instance_profile_exists = { op = "get_instance_profile", delay = 1, tries = 40,
      { "success", status = 200 },
      { "retry", status = 404 },
    },
    role_exists = { op = "get_role", delay = 1, tries = 20,
      { "success", status = 200 },
      { "retry", error = "NoSuchEntity" },
    },
    policy_exists = { op = "get_policy", delay = 1, tries = 20,
      { "success", status = 200 },
      { "retry", error = "NoSuchEntity" },
    },
  },
  errors = {
    ConcurrentModification = 409,
    DeleteConflict = 409,
    EntityAlreadyExists = 409,
    LimitExceeded = 409,
    NoSuchEntity = 404,
    PolicyEvaluation = 500,
    ServiceFailure = 500,
  },
}
