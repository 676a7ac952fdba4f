-- Service Quotas.
-- The format is described in rtl/aws/model.lua.
return {
  name = "service_quotas", id = "Service Quotas", protocol = "json", version = "2019-06-24",
  endpoint = "servicequotas", signing = "servicequotas", actions = "servicequotas",
  json = "1.1", target = "ServiceQuotasV20190624",
  page = { send = "NextToken", receive = "NextToken", size = "MaxResults" },
  operations = {
    get_service_quota = {
      input = "ServiceCode!:string(1..63) QuotaCode!:string(1..128)",
      output = "Quota:ServiceQuota",
    },
    get_aws_default_service_quota = {
      name = "GetAWSDefaultServiceQuota",
      input = "ServiceCode!:string(1..63) QuotaCode!:string(1..128)",
      output = "Quota:ServiceQuota",
    },
    list_service_quotas = {
      items = "Quotas",
      input = [[
        ServiceCode!:string(1..63) QuotaCode:string(1..128) MaxResults:int(1..100)
        NextToken:string(0..2048)]],
      output = "Quotas:[ServiceQuota] NextToken",
    },
    list_requested_service_quota_change_history_by_quota = {
      items = "RequestedQuotas",
      input = [[
        ServiceCode!:string(1..63) QuotaCode!:string(1..128)
        Status:(PENDING|CASE_OPENED|APPROVED|DENIED|CASE_CLOSED|NOT_APPROVED|INVALID_REQUEST)
        MaxResults:int(1..100) NextToken:string(0..2048)]],
      output = "RequestedQuotas:[RequestedServiceQuotaChange] NextToken",
    },
    request_service_quota_increase = {
      once = true,
      input = [[
        ServiceCode!:string(1..63) QuotaCode!:string(1..128) DesiredValue!:float(0..10000000000)]],
      output = "RequestedQuota:RequestedServiceQuotaChange",
    },
  },
  shapes = {
    MetricInfo = [[
      MetricNamespace MetricName MetricDimensions:{string} MetricStatisticRecommendation]],
    QuotaPeriod = "PeriodValue:int PeriodUnit",
    RequestedServiceQuotaChange = [[
      Id RequestType CaseId ServiceCode ServiceName QuotaCode QuotaName DesiredValue:float Status
      Created:time LastUpdated:time QuotaArn GlobalQuota:bool Unit]],
    ServiceQuota = [[
      ServiceCode ServiceName QuotaArn QuotaCode QuotaName Value:float Unit Adjustable:bool
      GlobalQuota:bool UsageMetric:MetricInfo Period:QuotaPeriod Description]],
  },
}
