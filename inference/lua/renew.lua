-- KEYS: job, leases   ARGV: id, fence, lease_us
local why = refused(KEYS[1], num(ARGV[2]))
if why then return why end
redis.call('ZADD', KEYS[2], now_us() + num(ARGV[3]), ARGV[1])
return 'ok'
