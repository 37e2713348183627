-- Idempotent by the expected numbers of tokens and of code points.
-- KEYS: job, journal   ARGV: (lease), expected, count, ids, chars_expected, chars, text
local why = refused_or_retaken()
if why then return {why, 0, 0} end
local length, chars = held()
local next_length, next_chars = num(ARGV[8]) + num(ARGV[9]), num(ARGV[11]) + num(ARGV[12])
if length ~= num(ARGV[8]) or chars ~= num(ARGV[11]) then
  -- The same call again, after a reply that got lost: done already.
  if length == next_length and chars == next_chars then return {'ok', length, chars} end
  return {'gap', length, chars}
end
redis.call('XADD', KEYS[2], '*', 'type', 'chunk', 'attempt', ARGV[4], 'expected', ARGV[8],
  'ids', ARGV[10], 'at', ARGV[11], 'text', ARGV[13])
redis.call('HSET', KEYS[1], 'length', next_length, 'chars', next_chars)
local now = now_us()
if next_chars > 0 and redis.call('HSETNX', KEYS[1], 'first_token_us', now) == 1 then
  -- There is something to read: from here on only the whole answer's deadline counts.
  redis.call('ZADD', ARGV[1] .. 'deadlines', num(redis.call('HGET', KEYS[1], 'ends_us')), ARGV[2])
end
redis.call('ZADD', ARGV[1] .. 'leases', now + num(ARGV[7]), ARGV[2])
return {'ok', next_length, next_chars}
