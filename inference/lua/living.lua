-- States of the hosts heard of lately. KEYS: beats, states   ARGV: silence_us
local states = {}
for _, host in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], now_us() - num(ARGV[1]), '+inf')) do
  states[#states + 1] = redis.call('HGET', KEYS[2], host)
end
return states
