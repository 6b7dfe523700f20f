// Express middleware that limits by RL.TAKE and says so in the RateLimit fields of the IETF draft
// (draft-ietf-httpapi-ratelimit-headers).
export function rateLimit(redis, { name = 'default', capacity = 100, rate = '100/m', keyOf = (request) => request.ip } = {}) {
  return async (request, response, next) => {
    let reply;
    try {
      reply = await redis.call('RL.TAKE', `http:${name}:${keyOf(request)}`, capacity, rate);
    } catch (error) {
      return next(error); // Or next(), to let everybody through while the limiter is away.
    }
    const [limited, quota, remaining, retryAfterMs, resetAfterMs] = reply;
    // r: permits left; t: seconds until all are there again.
    response.set('RateLimit-Policy', `"${name}";q=${quota}`);
    response.set('RateLimit', `"${name}";r=${remaining};t=${Math.ceil(resetAfterMs / 1000)}`);
    if (!limited) return next();
    if (retryAfterMs > 0) response.set('Retry-After', String(Math.ceil(retryAfterMs / 1000)));
    response.status(429).json({ error: 'too many requests' });
  };
}
