// The throttler storages of Nest: their `increment`, which is all that Nest's guard calls. Argument: the package.
import 'reflect-metadata';
import { createRequire } from 'node:module';
import { PORT, WINDOW_MS, check, end, equal, keys, run, time } from './suite.mjs';

const { ThrottlerStorageRedisService } = createRequire(import.meta.url)(process.argv[2]);
const storage = new ThrottlerStorageRedisService({ host: '127.0.0.1', port: PORT });

const hit = async (key, limit, name = 'default') => {
  const { totalHits, timeToExpire, isBlocked, timeToBlockExpire } = await storage.increment(key, WINDOW_MS, limit, 2 * WINDOW_MS, name);
  return { totalHits, isBlocked, expire: time(1000 * timeToExpire), blocked: time(1000 * timeToBlockExpire) };
};

check('counts, and blocks past the limit', async () => {
  const told = [];
  for (let i = 0; i < 5; i++) told.push(await hit('u', 2));
  equal(told.map((each) => Boolean(each.isBlocked)), [false, false, true, true, true], 'blocked');
  return [told, await keys('{u')];
});

check('the end of the block', async () => {
  const told = [];
  for (let i = 0; i < 3; i++) told.push(await hit('blocked', 2));
  await end('{blocked:default}:blocked');
  return [told, await hit('blocked', 2), await hit('blocked', 10)];
});

check('the end of the window', async () => {
  await hit('window', 2);
  await hit('window', 2);
  await end('{window:default}:hits');
  const told = await hit('window', 2);
  equal(told.totalHits, 1, 'hits');
  return told;
});

check('throttlers by name', async () => [await hit('named', 5, 'short'), await hit('named', 5, 'long'), await keys('{named')]);

await run();
