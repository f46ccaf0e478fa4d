-- The token bucket that people write in Redis: a hash with the tokens and the time of the last call.
-- KEYS[1] the bucket; ARGV[1] burst, ARGV[2] tokens per period, ARGV[3] period in seconds
local burst, count, period = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local time = redis.call('TIME')
local now = tonumber(time[1]) + tonumber(time[2]) / 1000000
local stored = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local tokens, at = tonumber(stored[1]) or burst, tonumber(stored[2]) or now
tokens = math.min(burst, tokens + (now - at) * count / period)
local allowed = 0
if tokens >= 1 then
  allowed = 1
  tokens = tokens - 1
end
redis.call('HSET', KEYS[1], 'tokens', tostring(tokens), 'at', tostring(now))
redis.call('EXPIRE', KEYS[1], math.ceil(burst * period / count))
return {allowed, burst, math.floor(tokens)}
