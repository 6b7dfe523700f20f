// rate-limit-redis as the store of express-rate-limit, in an Express application. Arguments: its major version; ioredis or node-redis.
import express from 'express';
import { rateLimit } from 'express-rate-limit';
import { once } from 'node:events';
import { WINDOW_MS, admin, check, end, equal, ioredis, keys, nodeRedis, run, time, until } from './suite.mjs';

const [version, client] = process.argv.slice(2);
const { RedisStore } = await import(`rate-limit-redis-${version}`).then((module) => (module.RedisStore ? module : { RedisStore: module.default }));
const redis = client === 'node-redis' ? await nodeRedis() : ioredis();
const sendCommand = client === 'node-redis' ? (...words) => redis.sendCommand(words) : (...words) => redis.call(...words);
const hasReset = Number(version) < 6;

const seen = (info) => info && (Number.isNaN(info.totalHits) ? 'none' : { hits: info.totalHits, ms: until(info.resetTime) });

async function store(prefix, options) {
  const made = new RedisStore({ sendCommand, prefix, ...options });
  await made.init({ windowMs: WINDOW_MS });
  return made;
}

check('the store counts, gives back, forgets', async () => {
  const one = await store('direct:');
  const told = [seen(await one.increment('u')), seen(await one.increment('u'))];
  if (one.get) told.push(seen(await one.get('u')));
  await one.decrement('u');
  told.push(seen(await one.increment('u')), await keys('direct:'));
  await one.resetKey('u');
  if (one.get) told.push(seen(await one.get('u')));
  told.push(seen(await one.increment('u')));
  return told;
});

check('a window that ended starts again at 1', async () => {
  const one = await store('again:');
  await one.increment('u');
  await one.increment('u');
  await end('again:u');
  const info = await one.increment('u');
  equal(info.totalHits, 1, 'hits');
  return seen(info);
});

check('a counter without an end gets one', async () => {
  const one = await store('endless:');
  await admin.set('endless:u', 5);
  return [seen(await one.increment('u')), await keys('endless:')];
});

if (hasReset) {
  check('resetExpiryOnChange', async () => {
    const one = await store('sliding:', { resetExpiryOnChange: true });
    const told = [seen(await one.increment('u'))];
    await admin.pexpire('sliding:u', WINDOW_MS / 2);
    told.push(seen(await one.increment('u')), await keys('sliding:'));
    return told;
  });
}

check('an application: limit, headers, 429, reset, skipped failures', async () => {
  const app = express();
  const limit = (more) => rateLimit({ windowMs: WINDOW_MS, limit: 3, keyGenerator: () => 'client', legacyHeaders: true, ...more });
  const limiter = limit({ standardHeaders: 'draft-6', store: new RedisStore({ sendCommand, prefix: 'app:' }) });
  app.get('/', limiter, (request, response) => response.json(request.rateLimit.used));
  app.get('/8', limit({ standardHeaders: 'draft-8', store: new RedisStore({ sendCommand, prefix: 'app8:' }) }), (_, response) => response.send('yes'));
  app.get('/skip', limit({ skipFailedRequests: true, store: new RedisStore({ sendCommand, prefix: 'skip:' }) }), (_, response) => response.status(500).send('no'));
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const get = async (path) => {
    const response = await fetch(`http://127.0.0.1:${server.address().port}${path}`);
    const text = await response.text();
    const header = (name) => response.headers.get(name);
    const seconds = (name) => header(name) && time(1000 * header(name));
    return {
      status: response.status, text, limit: header('ratelimit-limit') ?? header('x-ratelimit-limit'), left: header('ratelimit-remaining') ?? header('x-ratelimit-remaining'),
      reset: seconds('ratelimit-reset'), retry: seconds('retry-after'), draft8: header('ratelimit')?.replace(/t=\d+/, 't'),
    };
  };
  const told = [];
  for (let i = 0; i < 5; i++) told.push(await get('/'));
  equal(told.map((each) => each.status), [200, 200, 200, 429, 429], 'status');
  await limiter.resetKey('client');
  told.push(await get('/'), await get('/8'), await get('/8'));
  for (let i = 0; i < 5; i++) told.push((await get('/skip')).status);
  server.close();
  return [told, await keys('app'), await keys('skip')];
});

await run();
