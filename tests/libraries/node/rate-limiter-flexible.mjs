// rate-limiter-flexible's RateLimiterRedis and RateLimiterRedisNonAtomic. Argument: ioredis or node-redis.
import flexible from 'rate-limiter-flexible';
import { WINDOW_MS, check, end, equal, ioredis, keys, nodeRedis, run, time } from './suite.mjs';

const { RateLimiterRedis, RateLimiterRedisNonAtomic, RateLimiterUnion, BurstyRateLimiter } = flexible;
const useRedisPackage = process.argv[2] === 'node-redis';
const storeClient = useRedisPackage ? await nodeRedis() : ioredis();
const SECONDS = WINDOW_MS / 1000;

const seen = (res) => res && { consumed: res.consumedPoints, left: res.remainingPoints, first: res.isFirstInDuration, ms: time(res.msBeforeNext) };

/** What a call came to: its answer, or its refusal (which is an answer rather than an Error). */
async function outcome(promise) {
  try {
    return { allowed: seen(await promise) };
  } catch (refusal) {
    if (refusal instanceof Error) throw refusal;
    return { refused: seen(refusal) };
  }
}

for (const [kind, Limiter] of [['', RateLimiterRedis], ['non-atomic ', RateLimiterRedisNonAtomic]]) {
  const make = (keyPrefix, more) => new Limiter({ storeClient, useRedisPackage, keyPrefix: `${kind.trim()}${keyPrefix}`, points: 3, duration: SECONDS, ...more });

  check(`${kind}allows its points and then refuses`, async () => {
    const limiter = make('limit');
    const outcomes = [];
    for (let i = 0; i < 5; i++) outcomes.push(await outcome(limiter.consume('u')));
    equal(outcomes.map((each) => Object.keys(each)[0]), ['allowed', 'allowed', 'allowed', 'refused', 'refused'], 'outcomes');
    return [outcomes, await keys(limiter.getKey('u'))];
  });

  check(`${kind}consumes several points, and none`, async () => {
    const limiter = make('several', { points: 10 });
    return [await outcome(limiter.consume('u', 7)), await outcome(limiter.consume('u', 0)), await outcome(limiter.consume('u', 4)), await outcome(limiter.consume('u', 1))];
  });

  check(`${kind}a window that ended starts again`, async () => {
    const limiter = make('again');
    for (let i = 0; i < 4; i++) await outcome(limiter.consume('u'));
    await end(limiter.getKey('u'));
    return outcome(limiter.consume('u'));
  });

  check(`${kind}penalty and reward`, async () => {
    const limiter = make('penalty');
    await limiter.consume('u');
    return [seen(await limiter.penalty('u', 2)), await outcome(limiter.consume('u')), seen(await limiter.reward('u', 3)), await outcome(limiter.consume('u')), seen(await limiter.penalty('new'))];
  });

  check(`${kind}get, set, delete`, async () => {
    const limiter = make('get');
    return [await limiter.get('u'), seen(await limiter.consume('u')), seen(await limiter.get('u')), seen(await limiter.set('u', 2, SECONDS)), await outcome(limiter.consume('u')),
      await outcome(limiter.consume('u')), await limiter.delete('u'), await limiter.delete('u'), seen(await limiter.get('u')), seen(await limiter.set('forever', 1, 0)), seen(await limiter.get('forever'))];
  });

  check(`${kind}block, and consuming while blocked`, async () => {
    const limiter = make('block');
    const blocked = [seen(await limiter.block('u', SECONDS)), await outcome(limiter.consume('u')), seen(await limiter.get('u'))];
    await end(limiter.getKey('u'));
    return [...blocked, await outcome(limiter.consume('u'))];
  });

  check(`${kind}blockDuration blocks for longer than the window`, async () => {
    const limiter = make('longer', { blockDuration: 5 * SECONDS });
    const outcomes = [];
    for (let i = 0; i < 5; i++) outcomes.push(await outcome(limiter.consume('u')));
    return [outcomes, await keys(limiter.getKey('u'))];
  });

  check(`${kind}duration 0 never ends`, async () => {
    const limiter = make('never', { duration: 0 });
    const outcomes = [];
    for (let i = 0; i < 4; i++) outcomes.push(await outcome(limiter.consume('u')));
    return [outcomes, await keys(limiter.getKey('u'))];
  });

  check(`${kind}customDuration of one call`, async () => {
    const limiter = make('custom');
    return [await outcome(limiter.consume('u', 1, { customDuration: 3 * SECONDS })), await outcome(limiter.consume('u')), await keys(limiter.getKey('u'))];
  });
}

check('a burst limiter on top', async () => {
  const limiter = new BurstyRateLimiter(
    new RateLimiterRedis({ storeClient, useRedisPackage, keyPrefix: 'slow', points: 1, duration: SECONDS }),
    new RateLimiterRedis({ storeClient, useRedisPackage, keyPrefix: 'burst', points: 2, duration: 2 * SECONDS }),
  );
  return [await outcome(limiter.consume('u')), await outcome(limiter.consume('u')), await outcome(limiter.consume('u')), await outcome(limiter.consume('u'))];
});

check('a union of two limiters', async () => {
  const union = new RateLimiterUnion(
    new RateLimiterRedis({ storeClient, useRedisPackage, keyPrefix: 'one', points: 1, duration: SECONDS }),
    new RateLimiterRedis({ storeClient, useRedisPackage, keyPrefix: 'two', points: 2, duration: SECONDS }),
  );
  const both = async () => {
    try {
      return Object.entries(await union.consume('u')).map(([name, res]) => [name, seen(res)]);
    } catch (refusals) {
      if (refusals instanceof Error) throw refusals;
      return Object.entries(refusals).map(([name, res]) => [name, 'refused', seen(res)]);
    }
  };
  return [await both(), await both()];
});

check('100 at the same time', async () => {
  const limiter = new RateLimiterRedis({ storeClient, useRedisPackage, keyPrefix: 'many', points: 40, duration: SECONDS });
  const outcomes = await Promise.all(Array.from({ length: 100 }, () => outcome(limiter.consume('u'))));
  const allowed = outcomes.filter((each) => each.allowed).length;
  equal(allowed, 40, 'allowed');
  return [allowed, seen(await limiter.get('u'))];
});

await run();
