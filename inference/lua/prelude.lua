-- Put in front of every script. All keys of a partition share one hash tag, so a script touches one
-- slot of a Redis Cluster. Numbers go to redis.call as numbers: tostring() would write them in
-- exponent form and lose digits. Redis's own TIME is the only clock that decides anything.

local function now_us()
  local t = redis.call('TIME')
  return tonumber(t[1]) * 1000000 + tonumber(t[2])
end

local function num(value)
  return tonumber(value or '0') or 0
end

-- The one terminal entry of an answer. The caller has checked that the job is not finished yet.
local function write_end(p, id, outcome, reason, detail, ttl_s)
  local job, now = p .. 'job:' .. id, now_us()
  local f = redis.call('HMGET', job, 'fence', 'queue', 'owner', 'attempts', 'length', 'created_us',
    'claimed_us', 'first_token_us')
  redis.call('HSET', job, 'state', 'finished', 'outcome', outcome, 'fence',
    math.max(num(f[1]) + 1, now))
  redis.call('HDEL', job, 'payload')
  redis.call('XADD', p .. 'journal:' .. id, '*', 'type', 'end', 'outcome', outcome, 'reason', reason,
    'detail', detail, 'owner', f[3] or '', 'attempts', f[4] or '0', 'length', f[5] or '0',
    'created_us', f[6] or '0', 'claimed_us', f[7] or '0', 'first_token_us', f[8] or '0',
    'finished_us', now)
  redis.call('ZREM', p .. 'leases', id)
  redis.call('ZREM', p .. 'deadlines', id)
  if f[2] then redis.call('ZREM', p .. 'ready:' .. f[2], id) end
  redis.call('EXPIRE', job, ttl_s)
  redis.call('EXPIRE', p .. 'journal:' .. id, ttl_s)
end

-- Give a leased job back to the ready set. A failure counts and shuts this process incarnation out;
-- a drain does neither.
local function give_back(p, id, failed, reason, max_failures, ttl_s)
  local job = p .. 'job:' .. id
  local f = redis.call('HMGET', job, 'failures', 'excluded', 'incarnation', 'score', 'queue')
  if failed then
    local failures = num(f[1]) + 1
    redis.call('HSET', job, 'failures', failures, 'excluded', (f[2] or '') .. '|' .. (f[3] or '') .. '|')
    if failures > max_failures then
      return write_end(p, id, 'failed', 'out_of_attempts: ' .. reason, '', ttl_s)
    end
  end
  redis.call('HSET', job, 'state', 'ready')
  redis.call('ZREM', p .. 'leases', id)
  redis.call('ZADD', p .. 'ready:' .. f[5], num(f[4]), id)
  redis.call('PUBLISH', p .. 'jobs', id)
end

-- Leases that ran out and answers past their deadline; bounded, so that no call takes long.
local function reap(p, max_failures, ttl_s)
  local now, n = now_us(), 0
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', p .. 'deadlines', '-inf', now, 'LIMIT', 0, 64)) do
    local f = redis.call('HMGET', p .. 'job:' .. id, 'state', 'first_token_us')
    if f[1] then
      write_end(p, id, 'expired', f[2] and 'deadline' or 'first_token_deadline', '', ttl_s)
    else
      redis.call('ZREM', p .. 'deadlines', id)
    end
    n = n + 1
  end
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', p .. 'leases', '-inf', now, 'LIMIT', 0, 64)) do
    if redis.call('HGET', p .. 'job:' .. id, 'state') == 'leased' then
      give_back(p, id, true, 'lease_expired', max_failures, ttl_s)
    else
      redis.call('ZREM', p .. 'leases', id)
    end
    n = n + 1
  end
  return n
end

-- Scripts that act for a lease begin their ARGV with
--   prefix, id, fence, attempt, host, incarnation, lease_us
-- Does the caller own the job? nil when it does, else why not.
local function refused()
  local f = redis.call('HMGET', ARGV[1] .. 'job:' .. ARGV[2], 'state', 'fence')
  if not f[1] then return 'gone' end
  if f[1] ~= 'leased' or num(f[2]) ~= num(ARGV[3]) then return 'stale' end
  return nil
end

-- The same, but a job that nobody has claimed since is the caller's again: its lease ran out while
-- Redis was away or busy (ready under the caller's own fence), or Redis came back without the last
-- second and with it the claim (a lower fence).
local function refused_or_retaken()
  local why, p, id, fence = refused(), ARGV[1], ARGV[2], num(ARGV[3])
  if why ~= 'stale' then return why end
  local job = p .. 'job:' .. id
  local f = redis.call('HMGET', job, 'state', 'fence', 'queue', 'failures', 'attempts')
  if f[1] == 'finished' or num(f[2]) > fence then return why end
  if num(f[2]) == fence then
    redis.call('HSET', job, 'failures', math.max(num(f[4]) - 1, 0))
  end
  redis.call('HSET', job, 'state', 'leased', 'fence', fence, 'owner', ARGV[5], 'incarnation', ARGV[6],
    'attempts', math.max(num(f[5]), num(ARGV[4])))
  redis.call('ZREM', p .. 'ready:' .. f[3], id)
  redis.call('ZADD', p .. 'leases', now_us() + num(ARGV[7]), id)
  return nil
end

-- What the journal holds.
local function held()
  local f = redis.call('HMGET', ARGV[1] .. 'job:' .. ARGV[2], 'length', 'chars')
  return num(f[1]), num(f[2])
end
