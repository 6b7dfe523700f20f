// Smaller limiters: ratelimiter, rolling-rate-limiter (both without Lua), async-ratelimiter, redis-gcra, @hono-rate-limiter/redis.
import AsyncRatelimiter from 'async-ratelimiter';
import { RedisStore as HonoStore } from '@hono-rate-limiter/redis';
import Ratelimiter from 'ratelimiter';
import { createClient as createClient3 } from 'redis-3';
import gcra from 'redis-gcra';
import rolling from 'rolling-rate-limiter';
import { PORT, WINDOW_MS, check, end, equal, ioredis, keys, nodeRedis, run, time, until } from './suite.mjs';

const io = ioredis();
const node = await nodeRedis();
const node3 = createClient3({ port: PORT, host: '127.0.0.1' });

async function times(count, body) {
  const told = [];
  for (let i = 0; i < count; i++) told.push(await body());
  return told;
}

for (const [name, db] of [['ioredis', io], ['redis 3', node3]]) {
  check(`ratelimiter, ${name}`, async () => {
    const limiter = (id, max) => new Ratelimiter({ id: `${name} ${id}`, db, max, duration: WINDOW_MS });
    const get = (one) => new Promise((resolve, reject) => one.get((error, { remaining, resetMs, total } = {}) => (error ? reject(error) : resolve({ remaining, total, reset: until(resetMs) }))));
    const told = await times(5, () => get(limiter('u', 3)));
    equal(told.map((each) => each.remaining), [3, 2, 1, 0, 0], 'remaining');
    await end(`limit:${name} u`);
    return [told, await get(limiter('u', 3)), await get(limiter('u', 1)), await get(limiter('u', 1)), await keys(`limit:${name}`)];
  });
}

for (const [name, client] of [['ioredis', io], ['node-redis', node]]) {
  check(`rolling-rate-limiter, ${name}`, async () => {
    const limiter = new rolling.RedisRateLimiter({ client, namespace: `rolling ${name} `, interval: WINDOW_MS, maxInInterval: 3 });
    const info = async () => {
      const { blocked, actionsRemaining, millisecondsUntilAllowed } = await limiter.limitWithInfo('info');
      return { blocked, actionsRemaining, ms: time(millisecondsUntilAllowed) };
    };
    const told = [await limiter.wouldLimit('u'), ...(await times(5, () => limiter.limit('u'))), await limiter.wouldLimit('u')];
    equal(told, [false, false, false, false, true, true, true], 'blocked');
    await limiter.clear('u');
    return [told, await limiter.limit('u'), await times(5, info), await keys(`rolling ${name}`)];
  });
}

check('async-ratelimiter', async () => {
  const limiter = new AsyncRatelimiter({ db: io, namespace: 'async', max: 3, duration: WINDOW_MS });
  const get = async (options) => {
    const { remaining, total, reset } = await limiter.get(options);
    return { remaining, total, reset: until(reset > 1e11 ? reset : reset * 1000) };
  };
  const told = [await get({ id: 'u', peek: true }), ...(await times(5, () => get({ id: 'u' }))), await get({ id: 'u', peek: true }), await get({ id: 'u', max: 10 })];
  equal(told.map((each) => each.remaining), [3, 3, 2, 1, 0, 0, 0, 7], 'remaining');
  await end('async:u');
  return [told, await get({ id: 'u' })];
});

check('redis-gcra', async () => {
  const limiter = gcra({ redis: io, keyPrefix: 'gcra', burst: 3, rate: 1, period: WINDOW_MS });
  const told = async (promise) => {
    const { limited, remaining, retryIn, resetIn } = await promise;
    return { limited, remaining, retryIn: time(retryIn), resetIn: time(resetIn) };
  };
  const first = await times(5, () => told(limiter.limit({ key: 'u' })));
  equal(first.map((each) => each.limited), [false, false, false, true, true], 'limited');
  return [first, await told(limiter.peek({ key: 'u' })), await told(limiter.limit({ key: 'u', cost: 9 })), await keys('gcra'), await limiter.reset({ key: 'u' }), await limiter.reset({ key: 'u' }),
    await told(limiter.limit({ key: 'u', cost: 2 })), await told(limiter.peek({ key: 'new' }))];
});

check('@hono-rate-limiter/redis', async () => {
  const client = {
    scriptLoad: (text) => io.script('LOAD', text), evalsha: (sha, names, args) => io.evalsha(sha, names.length, ...names, ...args),
    decr: (key) => io.decr(key), del: (key) => io.del(key),
  };
  const seen = (info) => (Number.isNaN(info.totalHits) ? 'none' : { hits: info.totalHits, ms: until(info.resetTime) });
  const store = new HonoStore({ client, prefix: 'hono:' });
  store.init({ windowMs: WINDOW_MS });
  const told = [seen(await store.get('u')), seen(await store.increment('u')), seen(await store.increment('u')), seen(await store.get('u'))];
  await store.decrement('u');
  told.push(seen(await store.increment('u')));
  await store.resetKey('u');
  return [told, seen(await store.increment('u')), await keys('hono:')];
});

await run();
