-- The token service of IAM Identity Center: a refresh token for a new login's token.
-- The format is described in rtl/aws/model.lua.
return {
  name = "sso_oidc", id = "SSO OIDC", protocol = "rest-json", version = "2019-06-10",
  endpoint = "oidc", signing = "sso-oauth", actions = "sso-oauth",
  operations = {
    create_token = { -- a refresh token may serve once only
      once = true, unsigned = true, path = "/token",
      input = [[
        clientId! clientSecret!:secret grantType! deviceCode code refreshToken:secret
        scope:[string] redirectUri codeVerifier:secret]],
      output = [[
        accessToken:secret tokenType expiresIn:int refreshToken:secret idToken:secret]],
    },
  },
  errors = { InternalServerException = 500, InvalidClientException = 401 },
}
