-- Codes of rtl.aws. Errors of the services keep their own names (InvalidVpcID.NotFound, …).
return {
  ["RTL-AWS-001"] = {
    title = "No AWS region",
    cause = "No region was given, and neither the environment nor the profile names one.",
    next = "Give --region, or set AWS_REGION, or write `region = …` into the profile.",
  },
  ["RTL-AWS-002"] = {
    title = "Not the name of a region",
    cause = "A region looks like us-east-2; what was given can't be one.",
    next = "The error says where it came from: correct it there.",
  },
  ["RTL-AWS-003"] = {
    title = "The answer is not what an AWS service sends",
    cause = "A proxy, a login page or a broken connection answered in the service's place.",
    next = "Look at the excerpt in the error; check proxies and AWS_ENDPOINT_URL.",
  },
  ["RTL-AWS-004"] = {
    title = "A resource reached a state that can't become good",
    cause = "A waiter saw a state such as failed, or CREATE_FAILED.",
    next = "The error names the state; the resource's own reason stands in the event before it.",
  },
  ["RTL-AWS-005"] = {
    title = "A resource did not become ready in time",
    cause = "A waiter polled for its whole time.",
    next = "Run the same command again: it goes on where this one stopped.",
  },
  ["RTL-AWS-006"] = {
    title = "A listing does not end",
    cause = "The service answered with a page token that it was asked with before, or with ever "
      .. "more pages.",
    next = "Try again; if it stays so, report the operation to AWS.",
  },
  ["RTL-AWS-007"] = {
    title = "A setting of the AWS client is not understood",
    cause = "AWS_MAX_ATTEMPTS, AWS_RETRY_MODE, AWS_USE_FIPS_ENDPOINT, AWS_USE_DUALSTACK_ENDPOINT "
      .. "or the profile's like of it holds something else than it may.",
    next = "The error says where it stands and what it may be: correct or unset it.",
  },
  ["RTL-AWS-008"] = {
    title = "AWS has no such endpoint",
    cause = "A FIPS or dual-stack endpoint is wanted where the service has none, or an endpoint of "
      .. "one's own is set together with a FIPS endpoint.",
    next = "Unset AWS_USE_FIPS_ENDPOINT or AWS_USE_DUALSTACK_ENDPOINT (or the profile's settings), "
      .. "or name the endpoint with AWS_ENDPOINT_URL_<SERVICE>.",
  },
  ["RTL-AWS-010"] = {
    title = "The endpoint that is set is no endpoint",
    cause = "AWS_ENDPOINT_URL, AWS_ENDPOINT_URL_<SERVICE> or an endpoint_url of the profile is not "
      .. "the URL of a host.",
    next = "Write it like https://host:port/path, or unset it.",
  },
  ["RTL-AWS-009"] = {
    title = "The token for an EKS cluster is too long",
    cause = "It holds the session token of the keys, and EKS takes 4096 bytes in all.",
    next = "Use keys with a shorter session token: fewer session tags and policies.",
  },
}
