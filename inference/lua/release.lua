-- KEYS: job   ARGV: (lease), failed (0/1), reason, max_failures, ttl_s
local why = refused()
if why then return {why, 0, 0} end
give_back(ARGV[1], ARGV[2], ARGV[8] == '1', ARGV[9], num(ARGV[10]), ARGV[11])
-- What the caller still has under way comes too late.
if redis.call('HGET', KEYS[1], 'state') == 'ready' then
  redis.call('HSET', KEYS[1], 'fence', num(ARGV[3]) + 1)
end
return {'ok', 0, 0}
