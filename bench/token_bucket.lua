-- A token bucket as it is usually kept in Redis: one hash a key, the server's own clock, floating point.
-- KEYS[1] the bucket; ARGV: capacity, permits a second, longest wait in ms. Replies the milliseconds to wait, or -1.
local capacity, rate, max_wait = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local state = redis.call('HMGET', KEYS[1], 'permits', 'at')
local permits, at = tonumber(state[1]) or capacity, tonumber(state[2]) or now
permits = math.min(capacity, permits + math.max(0, now - at) * rate / 1000) - 1
local wait = permits < 0 and math.ceil(-permits * 1000 / rate) or 0
if wait > max_wait then
    return -1
end
redis.call('HSET', KEYS[1], 'permits', permits, 'at', now)
redis.call('PEXPIRE', KEYS[1], math.ceil((capacity - permits) * 1000 / rate))
return wait
