-- KEYS: leases   ARGV: prefix, max_failures, ttl_s
return reap(ARGV[1], num(ARGV[2]), ARGV[3])
