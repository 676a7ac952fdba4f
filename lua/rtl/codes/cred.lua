-- Codes of the AWS credential chain.
return {
  ["RTL-CRED-001"] = {
    title = "A shared AWS file can't be read",
    cause = "The line named is neither a section nor a setting, or longer than 16 KiB.",
    next = "Mend ~/.aws/config or ~/.aws/credentials at that line.",
  },
  ["RTL-CRED-002"] = {
    title = "No AWS credentials found",
    cause = "Environment, profile, web identity, container and instance metadata hold none. The "
      .. "error says of each why.",
    next = "Set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.",
  },
  ["RTL-CRED-003"] = {
    title = "Half of a key pair is missing",
    cause = "An access key id stands without its secret, or the other way round.",
    next = "Set both.",
  },
  ["RTL-CRED-004"] = {
    title = "A credential source gave no usable keys",
    cause = "Its document lacks AccessKeyId or SecretAccessKey, or a key came with a line end or "
      .. "another control character (a bad copy).",
    next = "Ask the source by hand, and look at its message; copy keys anew, each as one line.",
  },
  ["RTL-CRED-005"] = {
    title = "credential_process failed",
    cause = "The command of the profile ended with an error or printed something else.",
    next = "Run the command of the profile's credential_process line by hand.",
  },
  ["RTL-CRED-006"] = {
    title = "A profile's role has no usable source",
    cause = "source_profile and credential_source are missing, both given, unknown or circular.",
    next = "Give the profile exactly one of source_profile and credential_source.",
  },
  ["RTL-CRED-007"] = {
    title = "A profile needs an MFA code",
    cause = "The profile has mfa_serial, and there was no terminal to ask on, or no code came.",
    next = "Run it on a terminal and type the six digits, or bring temporary keys.",
  },
  ["RTL-CRED-008"] = {
    title = "The profile can't be used",
    cause = "It does not exist, or holds no credentials of a kind that rtl knows.",
    next = "Check the spelling; the config file wants [profile NAME], the credentials file [NAME].",
  },
  ["RTL-CRED-010"] = {
    title = "The SSO login has expired",
    cause = "The token in ~/.aws/sso/cache has ended, or none is for the profile's start URL.",
    next = "Log in again (aws sso login --profile NAME), then run the same command again.",
  },
  ["RTL-CRED-011"] = {
    title = "Instance metadata does not answer",
    cause = "The connection stands but the token does not come: its hop limit is 1 in a container.",
    next = "Set HttpPutResponseHopLimit to 2 in the instance's metadata options.",
  },
  ["RTL-CRED-012"] = {
    title = "The keys have ended",
    cause = "Temporary keys stand in a file or variable, and AWS or their date calls them over.",
    next = "Bring new ones to the same place, then run the same command again: it goes on.",
  },
  ["RTL-CRED-013"] = {
    title = "The new keys are of another account",
    cause = "Keys ended in the middle of a run, and their place holds those of another account.",
    next = "Log in to the account where the run began, then run the same command again.",
  },
  ["RTL-CRED-009"] = {
    title = "The credentials service of the container or instance can't be used",
    cause = "Its address is not local or https, its token is broken, or it refused.",
    next = "Check the AWS_CONTAINER_* variables; on an instance, its metadata options and role.",
  },
}
