-- KEYS: ready   ARGV: prefix, host, incarnation, lease_us, count, max_failures, ttl_s
-- Returns {id, fence, attempt, length, payload, remaining_us} for each job claimed.
local p, incarnation, wanted = ARGV[1], ARGV[3], num(ARGV[5])
reap(p, num(ARGV[6]), ARGV[7])
local now, claimed = now_us(), {}
-- Far enough down the queue that jobs which this host may not have do not hide those it may.
for _, id in ipairs(redis.call('ZRANGE', KEYS[1], 0, wanted + 255)) do
  if #claimed >= wanted then break end
  local job = p .. 'job:' .. id
  local f = redis.call('HMGET', job, 'state', 'fence', 'excluded', 'attempts', 'length', 'payload',
    'ends_us')
  if f[1] ~= 'ready' then
    redis.call('ZREM', KEYS[1], id)
  elseif not (f[3] and string.find(f[3], '|' .. incarnation .. '|', 1, true)) then
    -- Above every earlier fence, and above every fence that a lagging replica may have forgotten.
    local fence, attempt = math.max(num(f[2]) + 1, now), num(f[4]) + 1
    redis.call('HSET', job, 'state', 'leased', 'fence', fence, 'owner', ARGV[2],
      'incarnation', incarnation, 'attempts', attempt)
    redis.call('HSETNX', job, 'claimed_us', now)
    redis.call('ZREM', KEYS[1], id)
    redis.call('ZADD', p .. 'leases', now + num(ARGV[4]), id)
    if num(f[5]) == 0 then
      redis.call('XADD', p .. 'journal:' .. id, '*', 'type', 'begin', 'attempt', attempt, 'keep', 0)
      redis.call('EXPIRE', p .. 'journal:' .. id, ARGV[7])
    end
    claimed[#claimed + 1] = {id, string.format('%.0f', fence), attempt, num(f[5]), f[6],
      num(f[7]) - now}
  end
end
return claimed
