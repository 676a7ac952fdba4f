-- The portal of IAM Identity Center: a login's token for the keys of a role.
-- The format is described in rtl/aws/model.lua.
return {
  name = "sso", id = "SSO", protocol = "rest-json", version = "2019-06-10",
  endpoint = "portal.sso", signing = "awsssoportal", actions = "sso",
  operations = {
    get_role_credentials = {
      unsigned = true, method = "GET", path = "/federation/credentials",
      query = "roleName!@role_name accountId!@account_id",
      header = "accessToken!:secret@x-amz-sso_bearer_token",
      output = "roleCredentials:RoleCredentials",
    },
  },
  shapes = {
    RoleCredentials = "accessKeyId secretAccessKey:secret sessionToken:secret expiration:int",
  },
  errors = {
    ResourceNotFoundException = 404,
    TooManyRequestsException = 429,
    UnauthorizedException = 401,
  },
}
