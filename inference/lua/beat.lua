-- A host says that it lives. KEYS: beats, states   ARGV: host, state, forget_us
local now = now_us()
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
for _, host in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now - num(ARGV[3]))) do
  redis.call('ZREM', KEYS[1], host)
  redis.call('HDEL', KEYS[2], host)
end
return now
