--- Built-in prices, used where the account's price list was not asked: USD, us-east-1 (us-east-2
-- and us-west-2 are the same for these), On-Demand. Data only.
return {
  date = "2026-07-20",
  source = "built-in table of 2026-07-20 for us-east-1; other regions differ",
  eks_cluster = 0.10,              -- an hour, standard support
  eks_extended = 0.50,             -- an hour, added where a version is in extended support
  nat_gateway = 0.045,             -- an hour, started hours count in full
  nat_gateway_gb = 0.045,          -- per GB through it
  public_ipv4 = 0.005,             -- an hour
  gp3_gb_month = 0.08,
  hours_a_month = 730,
  cross_zone_gb = 0.01,            -- per GB, each way
  s3_gb_month = 0.023,
  logs_gb_month = 0.03,
  image_gb = 12.0,                 -- what one node pulls of the Ray image, compressed
}
