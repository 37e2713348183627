-- KEYS: job   ARGV: prefix, id, payload, queue, priority_us, first_token_us, total_us, ttl_s
local p, id, job = ARGV[1], ARGV[2], KEYS[1]
if redis.call('EXISTS', job) == 1 then return 0 end
local now = now_us()
-- One score for priority, deadline and ageing: a job's head start is fixed, everyone's clock runs.
local score = now + num(ARGV[6]) + num(ARGV[5])
redis.call('HSET', job, 'payload', ARGV[3], 'queue', ARGV[4], 'state', 'ready', 'fence', 0,
  'length', 0, 'failures', 0, 'attempts', 0, 'created_us', now, 'ends_us', now + num(ARGV[7]),
  'score', score)
redis.call('EXPIRE', job, ARGV[8])
redis.call('ZADD', p .. 'ready:' .. ARGV[4], score, id)
redis.call('ZADD', p .. 'deadlines', now + math.min(num(ARGV[6]), num(ARGV[7])), id)
redis.call('PUBLISH', p .. 'jobs', id)
return 1
