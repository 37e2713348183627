-- KEYS: job   ARGV: prefix, id, fence, failed (0/1), reason, max_failures, ttl_s
local why = refused(KEYS[1], num(ARGV[3]))
if why then return why end
give_back(ARGV[1], ARGV[2], ARGV[4] == '1', ARGV[5], num(ARGV[6]), ARGV[7])
return 'ok'
