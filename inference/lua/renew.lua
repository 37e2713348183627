-- KEYS: job   ARGV: (lease)
local why = refused_or_retaken()
if why then return {why, 0, 0} end
redis.call('ZADD', ARGV[1] .. 'leases', now_us() + num(ARGV[7]), ARGV[2])
return {'ok', 0, 0}
