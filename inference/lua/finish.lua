-- The single decider of how an answer ends: the first caller wins.
-- KEYS: job   ARGV: (lease; fence -1: anyone), expected (-1: any), outcome, reason, detail, ttl_s
if redis.call('HGET', KEYS[1], 'state') == 'finished' then return {'finished', 0, 0} end
if num(ARGV[3]) >= 0 then
  local why = refused_or_retaken()
  if why then return {why, 0, 0} end
  local length, chars = held()
  if num(ARGV[8]) >= 0 and length ~= num(ARGV[8]) then return {'gap', length, chars} end
end
write_end(ARGV[1], ARGV[2], ARGV[9], ARGV[10], ARGV[11], ARGV[12])
return {'ok', 0, 0}
