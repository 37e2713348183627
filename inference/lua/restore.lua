-- Redis came back without this job at all: its owner, who has it in memory, puts it up again as its
-- own. Whoever was faster (a new dispatch, a stop) stands.
-- KEYS: job, journal   ARGV: (lease), payload, queue, elapsed_us, remaining_us, ttl_s
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
local p, id, now = ARGV[1], ARGV[2], now_us()
redis.call('HSET', KEYS[1], 'payload', ARGV[8], 'queue', ARGV[9], 'state', 'leased',
  'fence', num(ARGV[3]), 'owner', ARGV[5], 'incarnation', ARGV[6], 'length', 0, 'chars', 0,
  'failures', 0, 'attempts', ARGV[4], 'created_us', now - num(ARGV[10]),
  'claimed_us', now - num(ARGV[10]), 'ends_us', now + num(ARGV[11]), 'score', now)
redis.call('EXPIRE', KEYS[1], ARGV[12])
redis.call('ZADD', p .. 'leases', now + num(ARGV[7]), id)
redis.call('ZADD', p .. 'deadlines', now + num(ARGV[11]), id)
redis.call('XADD', KEYS[2], '*', 'type', 'begin', 'attempt', ARGV[4], 'keep', 0)
redis.call('EXPIRE', KEYS[2], ARGV[12])
return 1
