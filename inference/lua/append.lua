-- Idempotent by the expected numbers of tokens and of code points.
-- KEYS: job, journal, leases
-- ARGV: id, fence, attempt, expected, count, ids, chars_expected, chars, text, lease_us
local why = refused(KEYS[1], num(ARGV[2]))
if why then return {why, 0} end
local f = redis.call('HMGET', KEYS[1], 'length', 'chars')
local length, chars = num(f[1]), num(f[2])
local next_length, next_chars = num(ARGV[4]) + num(ARGV[5]), num(ARGV[7]) + num(ARGV[8])
if length ~= num(ARGV[4]) or chars ~= num(ARGV[7]) then
  -- The same call again, after a reply that got lost: done already.
  if length == next_length and chars == next_chars then return {'ok', length} end
  return {'gap', length}
end
redis.call('XADD', KEYS[2], '*', 'type', 'chunk', 'attempt', ARGV[3], 'expected', ARGV[4],
  'ids', ARGV[6], 'at', ARGV[7], 'text', ARGV[9])
redis.call('HSET', KEYS[1], 'length', next_length, 'chars', next_chars)
local now = now_us()
if next_chars > 0 then redis.call('HSETNX', KEYS[1], 'first_token_us', now) end
redis.call('ZADD', KEYS[3], now + num(ARGV[10]), ARGV[1])
return {'ok', next_length}
