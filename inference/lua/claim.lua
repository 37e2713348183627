-- KEYS: ready   ARGV: prefix, host, incarnation, lease_us, count, max_failures, ttl_s, nonce
-- Returns {id, fence, attempt, length, payload, remaining_us} for each job claimed.
local p, incarnation, wanted, nonce = ARGV[1], ARGV[3], num(ARGV[5]), ARGV[8]
local now, claimed = now_us(), {}

local function lease(id, fence, attempt, length, payload, ends_us)
  redis.call('ZREM', KEYS[1], id)
  redis.call('ZADD', p .. 'leases', now + num(ARGV[4]), id)
  claimed[#claimed + 1] = {id, string.format('%.0f', fence), attempt, length, payload, ends_us - now}
end

-- The same request again: its first answer was lost on the way. Whoever made it never heard of these
-- jobs, so a lease that ran out meanwhile was no failure of its own; what another host has, stays.
local taken = p .. 'claim:' .. nonce
for _, id in ipairs(redis.call('LRANGE', taken, 0, -1)) do
  local job = p .. 'job:' .. id
  local f = redis.call('HMGET', job, 'state', 'fence', 'claim', 'attempts', 'length', 'payload',
    'ends_us', 'failures', 'excluded')
  if f[3] == nonce and (f[1] == 'leased' or f[1] == 'ready') then
    if f[1] == 'ready' then
      local mine = '|' .. incarnation .. '|'
      local from, to = string.find(f[9] or '', mine, 1, true)
      if from then
        redis.call('HSET', job, 'failures', math.max(num(f[8]) - 1, 0),
          'excluded', string.sub(f[9], 1, from - 1) .. string.sub(f[9], to + 1))
      end
      redis.call('HSET', job, 'state', 'leased')
    end
    lease(id, num(f[2]), num(f[4]), num(f[5]), f[6], num(f[7]))
  end
end
if #claimed > 0 then return claimed end

reap(p, num(ARGV[6]), ARGV[7])
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
      'incarnation', incarnation, 'attempts', attempt, 'claim', nonce)
    redis.call('HSETNX', job, 'claimed_us', now)
    redis.call('RPUSH', taken, id)
    if num(f[5]) == 0 then
      redis.call('XADD', p .. 'journal:' .. id, '*', 'type', 'begin', 'attempt', attempt, 'keep', 0)
      redis.call('EXPIRE', p .. 'journal:' .. id, ARGV[7])
    end
    lease(id, fence, attempt, num(f[5]), f[6], num(f[7]))
  end
end
if #claimed > 0 then redis.call('EXPIRE', taken, 60) end
return claimed
