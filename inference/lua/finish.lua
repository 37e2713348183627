-- The single decider of how an answer ends: the first caller wins.
-- KEYS: job   ARGV: prefix, id, fence (-1: anyone's), expected (-1: any), outcome, reason, detail, ttl_s
local job, fence, expected = KEYS[1], num(ARGV[3]), num(ARGV[4])
if redis.call('HGET', job, 'state') == 'finished' then return {'finished', 0} end
if fence >= 0 then
  local why = refused(job, fence)
  if why then return {why, 0} end
  local length = num(redis.call('HGET', job, 'length'))
  if expected >= 0 and length ~= expected then return {'gap', length} end
end
write_end(ARGV[1], ARGV[2], ARGV[5], ARGV[6], ARGV[7], ARGV[8])
return {'ok', 0}
