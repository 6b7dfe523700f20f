// @fastify/rate-limit with Redis, in a Fastify application that is asked without a socket. Argument: its major version.
import { Redis } from 'ioredis';
import { PORT, WINDOW_MS, admin, check, end, equal, keys, run, time } from './suite.mjs';

const version = Number(process.argv[2]);
const { default: fastify } = await import(version >= 10 ? 'fastify-5' : 'fastify-4');
const { default: rateLimit } = await import(`@fastify/rate-limit-${version}`);
const redis = new Redis(PORT, '127.0.0.1', { connectTimeout: 5000, maxRetriesPerRequest: 1 });

async function application(nameSpace, options, routes = {}) {
  const app = fastify();
  await app.register(rateLimit, { max: 3, timeWindow: WINDOW_MS, redis, nameSpace, ...options });
  app.get('/', async () => 'yes');
  for (const [url, config] of Object.entries(routes)) app.get(url, { config: { rateLimit: config } }, async () => 'yes');
  return async (url = '/') => {
    const { statusCode, headers } = await app.inject({ url });
    const seconds = (name) => headers[name] === undefined ? null : time(1000 * headers[name]);
    return { status: statusCode, limit: headers['x-ratelimit-limit'], left: headers['x-ratelimit-remaining'], reset: seconds('x-ratelimit-reset'), retry: seconds('retry-after') };
  };
}

const times = async (count, get) => {
  const told = [];
  for (let i = 0; i < count; i++) told.push(await get());
  return told;
};

check('allows its maximum and then answers 429', async () => {
  const told = await times(5, await application('limit-', {}));
  equal(told.map((each) => each.status), [200, 200, 200, 429, 429], 'status');
  return [told, await keys('limit-')];
});

check('a window that ended starts again', async () => {
  const get = await application('again-', {});
  await times(4, get);
  const [[key]] = await keys('again-');
  await end(key);
  return get();
});

check('continueExceeding: every refused request begins the window anew', async () => {
  const get = await application('exceeding-', { continueExceeding: true });
  const told = await times(3, get);
  const [[key]] = await keys('exceeding-');
  await admin.pexpire(key, WINDOW_MS / 2);
  return [told, await times(2, get), await keys('exceeding-')];
});

check('ban answers 403 after so many refusals', async () => {
  const told = await times(7, await application('ban-', { ban: 2 }));
  equal(told.at(-1).status, 403, 'status');
  return told;
});

if (version >= 10) {
  check('exponentialBackoff: each refused request doubles the window', async () => {
    const told = await times(7, await application('backoff-', { exponentialBackoff: true }));
    return [told, await keys('backoff-')];
  });
}

check('a route has its own counter', async () => {
  const get = await application('route-', {}, { '/few': { max: 1, timeWindow: 2 * WINDOW_MS } });
  return [await get('/few'), await get('/few'), await get('/'), await keys('route-')];
});

await run();
