-- Takes from the buckets of an entity and of its parent, or from none of them.
-- A bucket is a hash with the level of each limit and the time of the last refill. Levels count in parts of a token, as many
-- as a minute has microseconds: what comes in a microsecond is then a whole number, and all sums are exact below 2^53.
-- KEYS: the entity's bucket, its parent's
-- ARGV: rpm, tpm to take; then for each bucket and each limit what comes in a minute, and the burst
-- Returns whether it was granted, milliseconds until it could be, and what is left of each limit.
local MINUTE = 60000000
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local need = {ARGV[1] * MINUTE, ARGV[2] * MINUTE}
local levels, wait = {}, 0
for k = 1, 2 do
  local stored = redis.call('HMGET', KEYS[k], 'rpm', 'tpm', 'at')
  local passed = math.max(0, now - (tonumber(stored[3]) or now))
  for l = 1, 2 do
    local i = 2 * k + l - 2
    local rate, full = tonumber(ARGV[2 * i + 1]), ARGV[2 * i + 2] * MINUTE
    local level = math.min(full, (tonumber(stored[l]) or full) + passed * rate)
    if level < need[l] then
      wait = math.max(wait, (need[l] - level) / rate)
    end
    levels[i] = level
  end
end
local granted = 1
if wait > 0 then
  granted = 0
else
  for k = 1, 2 do
    local rpm, tpm = levels[2 * k - 1] - need[1], levels[2 * k] - need[2]
    redis.call('HSET', KEYS[k], 'rpm', rpm, 'tpm', tpm, 'at', now)
    -- A bucket that is full again is as good as none.
    local until_full = math.max((ARGV[4 * k] * MINUTE - rpm) / ARGV[4 * k - 1], (ARGV[4 * k + 2] * MINUTE - tpm) / ARGV[4 * k + 1])
    redis.call('PEXPIRE', KEYS[k], math.ceil(until_full / 1000))
    levels[2 * k - 1], levels[2 * k] = rpm, tpm
  end
end
local left = {granted, math.ceil(wait / 1000)}
for i = 1, 4 do
  left[i + 2] = math.floor(levels[i] / MINUTE)
end
return left
