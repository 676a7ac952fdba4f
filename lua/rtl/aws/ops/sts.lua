-- AWS STS.
-- The format is described in rtl/aws/model.lua.
return {
  name = "sts", id = "STS", protocol = "awsquery", version = "2011-06-15",
  endpoint = "sts", signing = "sts", actions = "sts",
  xmlns = "https://sts.amazonaws.com/doc/2011-06-15/",
  operations = {
    get_caller_identity = {
      output = "UserId Account Arn",
    },
    assume_role = {
      repeatable = true,
      input = [[
        RoleArn!:string(20..2048) RoleSessionName!:string(2..64) Policy:string(1..)
        DurationSeconds:int(900..43200) ExternalId:string(2..1224) SerialNumber:string(9..256)
        TokenCode:string(6..6) Tags:[Tag](0..50)]],
      output = "Credentials:Credentials AssumedRoleUser:AssumedRoleUser",
    },
    assume_role_with_web_identity = {
      repeatable = true, unsigned = true,
      input = [[
        RoleArn!:string(20..2048) RoleSessionName!:string(2..64) WebIdentityToken!:string(4..20000)
        ProviderId:string(4..2048) Policy:string(1..2048) DurationSeconds:int(900..43200)]],
      output = [[
        Credentials:Credentials SubjectFromWebIdentityToken AssumedRoleUser:AssumedRoleUser
        Provider Audience]],
    },
    decode_authorization_message = {
      input = "EncodedMessage!:string(1..10240)",
      output = "DecodedMessage",
    },
  },
  shapes = {
    AssumedRoleUser = "AssumedRoleId Arn",
    Credentials = "AccessKeyId SecretAccessKey:secret SessionToken:secret Expiration:time",
    Tag = "Key!:string(1..128) Value!:string(0..256)",
  },
  errors = {
    IDPRejectedClaim = 403,
    RegionDisabledException = 403,
  },
}
