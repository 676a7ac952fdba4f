-- The price list (served in few regions only; the priced region is a filter).
-- The format is described in rtl/aws/model.lua.
return {
  name = "pricing", id = "Pricing", protocol = "json", version = "2017-10-15",
  endpoint = "api.pricing", signing = "pricing", actions = "pricing",
  json = "1.1", target = "AWSPriceListService",
  hosts = {
    aws = { region = "us-east-1" }, ["aws-cn"] = { region = "cn-northwest-1" },
    ["aws-us-gov"] = { fips = "{service}-fips.{region}.{suffix}" },
  },
  page = { send = "NextToken", receive = "NextToken", size = "MaxResults" },
  operations = {
    get_products = {
      items = "PriceList",
      input = [[
        ServiceCode! FormatVersion:string(1..32) Filters:[Filter](0..50) MaxResults:int(1..100)
        NextToken]],
      output = "FormatVersion PriceList:[json] NextToken",
    },
  },
  shapes = {
    Filter = [[
      Type!:(TERM_MATCH|EQUALS|CONTAINS|ANY_OF|NONE_OF) Field!:string(1..1024)
      Value!:string(1..1024)]],
  },
}
