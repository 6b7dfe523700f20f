// fetch at the pace of a budget that all processes share, with ioredis.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

const REPEATABLE = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE']);

export class TooBusy extends Error {}

// A fetch that books a slot in `key` (a bucket of `capacity` permits, refilled at `rate` a second), waits for it, and
// then sends. A 429 or 503 pauses the key for everybody, for as long as Retry-After says. The request is then sent
// again only if that is safe: a POST never, unless `repeatPost`.
export function limitedFetch(redis, key, options = {}) {
  const { capacity = 80, rate = 80, maxWaitMs = 30_000, attempts = 3, repeatPost = false, send = fetch } = options;
  return async (url, init = {}) => {
    const method = (init.method ?? 'GET').toUpperCase();
    const repeatable = REPEATABLE.has(method) || (method === 'POST' && repeatPost);
    for (let attempt = 1; ; attempt += 1) {
      await slot(redis, key, [capacity, rate, maxWaitMs]);
      const response = await send(url, init);
      if (response.status !== 429 && response.status !== 503) return response;
      await redis.call('RL.PAUSE', key, retryAfterMs(response.headers.get('retry-after')));
      if (!repeatable || attempt >= attempts) return response;
      await response.body?.cancel();
    }
  };
}

// Books a slot and sleeps until it has come. The ID makes it safe that ioredis sends a command again by itself when a
// connection breaks; CONFIRM moves the slot if somebody has paused the key meanwhile.
async function slot(redis, key, limit) {
  let [waitMs, ticket] = await redis.call('RL.RESERVE', key, ...limit, 'TICKET', 'ID', randomUUID());
  if (waitMs < 0) throw new TooBusy(`${key}: no slot within ${limit[2]} ms`);
  while (waitMs > 0) {
    await sleep(waitMs);
    waitMs = await redis.call('RL.CONFIRM', key, ticket);
  }
}

// Retry-After is a number of seconds or a date; a second if there is none.
export function retryAfterMs(text, now = Date.now()) {
  if (text === null) return 1000;
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now;
  return Math.max(Number.isFinite(ms) ? Math.ceil(ms) : 1000, 1);
}
