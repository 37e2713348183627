-- A later attempt starts from the first `keep` journaled ids.
-- KEYS: job, journal   ARGV: fence, attempt, keep
local why = refused(KEYS[1], num(ARGV[1]))
if why then return {why, 0} end
redis.call('HSET', KEYS[1], 'length', ARGV[3])
redis.call('XADD', KEYS[2], '*', 'type', 'begin', 'attempt', ARGV[2], 'keep', ARGV[3])
return {'ok', num(ARGV[3])}
