-- Gives back what was taken in excess, or takes what was missing, into debt if need be. Buckets as in acquire.lua.
-- KEYS: the entity's bucket, its parent's
-- ARGV: rpm, tpm to give back, negative to take; then for each bucket and each limit what comes in a minute, and the burst
local MINUTE = 60000000
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
for k = 1, 2 do
  local stored = redis.call('HMGET', KEYS[k], 'rpm', 'tpm', 'at')
  local passed = math.max(0, now - (tonumber(stored[3]) or now))
  local levels, until_full = {}, 1
  for l = 1, 2 do
    local i = 2 * k + l - 2
    local rate, full = tonumber(ARGV[2 * i + 1]), ARGV[2 * i + 2] * MINUTE
    local level = math.min(full, (tonumber(stored[l]) or full) + passed * rate)
    levels[l] = math.min(full, level + ARGV[l] * MINUTE)
    until_full = math.max(until_full, (full - levels[l]) / rate)
  end
  redis.call('HSET', KEYS[k], 'rpm', levels[1], 'tpm', levels[2], 'at', now)
  redis.call('PEXPIRE', KEYS[k], math.ceil(until_full / 1000))
end
return 1
