-- A later attempt starts from the first `keep` journaled ids.
-- KEYS: job, journal   ARGV: (lease), keep
local why = refused_or_retaken()
if why then return {why, 0, 0} end
local length, chars = held()
if num(ARGV[8]) > length then return {'gap', length, chars} end
redis.call('HSET', KEYS[1], 'length', ARGV[8])
redis.call('XADD', KEYS[2], '*', 'type', 'begin', 'attempt', ARGV[4], 'keep', ARGV[8])
return {'ok', num(ARGV[8]), chars}
