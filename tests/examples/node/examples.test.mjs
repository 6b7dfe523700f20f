// Runs the node examples of docs/clients against a server, with a provider that is made up. The examples lie beside
// this file while it runs (see ../run).
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import { Queue, QueueEvents } from 'bullmq';
import express from 'express';
import Redis from 'ioredis';
import { limitedWorker } from './bullmq-worker.mjs';
import { rateLimit } from './express-middleware.mjs';
import { TooBusy, limitedFetch, retryAfterMs } from './ioredis-fetch.mjs';
import { TollgateStore } from './sdk-store.mjs';

const tollgate = { host: '127.0.0.1', port: Number(process.env.TOLLGATE_PORT) };
const queues = { host: '127.0.0.1', port: Number(process.env.REDIS_PORT), maxRetriesPerRequest: null };
let redis;

before(() => {
  redis = new Redis(tollgate);
});
after(() => redis.quit());

// A server on a free port of loopback.
async function listening(handler) {
  const server = createServer(handler).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { url: `http://127.0.0.1:${server.address().port}/`, close: () => server.close() };
}

test('a fetch waits for its slot', async () => {
  let calls = 0;
  const provider = await listening((request, response) => {
    calls += 1;
    response.end('sent');
  });
  const send = limitedFetch(redis, 'fetch:a', { capacity: 1, rate: 20 });
  const begin = performance.now();
  for (let call = 0; call < 3; call += 1) assert.equal(await (await send(provider.url)).text(), 'sent');
  assert.equal(calls, 3);
  // The first goes at once, and then one every 50 ms.
  assert.ok(performance.now() - begin >= 99);
  provider.close();
});

test('a 429 pauses the key for everybody, and only what is safe is sent again', async () => {
  let calls = 0;
  const provider = await listening((request, response) => {
    calls += 1;
    if (calls % 2) response.writeHead(429, { 'Retry-After': '1' });
    response.end(String(calls));
  });
  const other = new Redis(tollgate);
  const get = limitedFetch(redis, 'fetch:b');
  const answer = get(provider.url);
  while (calls === 0) await new Promise(setImmediate);
  while ((await other.call('RL.PEEK', 'fetch:b', 80, 80))[0] === 0);
  assert.equal((await answer).status, 200);
  assert.equal(calls, 2);

  assert.equal((await limitedFetch(redis, 'fetch:c')(provider.url, { method: 'POST' })).status, 429);
  assert.equal(calls, 3);
  await assert.rejects(limitedFetch(other, 'fetch:c', { maxWaitMs: 1 })(provider.url), TooBusy);
  assert.equal(calls, 3);
  await other.quit();
  provider.close();
});

test('Retry-After is seconds or a date', () => {
  const now = Date.parse('Mon, 30 Nov 2026 12:00:00 GMT');
  assert.equal(retryAfterMs('3', now), 3000);
  assert.equal(retryAfterMs('Mon, 30 Nov 2026 12:00:05 GMT', now), 5000);
  assert.equal(retryAfterMs('Mon, 30 Nov 2026 11:00:00 GMT', now), 1);
  assert.equal(retryAfterMs('soon', now), 1000);
  assert.equal(retryAfterMs(null, now), 1000);
});

test('express tells its limit and refuses beyond it', async () => {
  const app = express();
  app.use(rateLimit(redis, { name: 'web', capacity: 2, rate: '2/m', keyOf: () => 'one' }));
  app.get('/', (request, response) => response.send('served'));
  const service = await listening(app);
  const responses = [];
  for (let call = 0; call < 3; call += 1) responses.push(await fetch(service.url));
  assert.deepEqual(responses.map(({ status }) => status), [200, 200, 429]);
  assert.equal(responses[0].headers.get('ratelimit-policy'), '"web";q=2');
  assert.match(responses[0].headers.get('ratelimit'), /^"web";r=1;t=30$/);
  assert.match(responses[2].headers.get('ratelimit'), /^"web";r=0;t=(59|60)$/);
  assert.match(responses[2].headers.get('retry-after'), /^(29|30)$/);
  service.close();
});

test('a store for an SDK knows both windows', async () => {
  const store = new TollgateStore(redis);
  await store.setup();
  const waits = [];
  for (let call = 0; call < 8; call += 1) waits.push(await store.reserve('credential'));
  assert.deepEqual(waits.slice(0, 7), [0, 0, 0, 0, 0, 0, 0]);
  assert.ok(waits[7] > 1000 && waits[7] <= 2000, `${waits[7]}`);
  assert.equal(await store.reserve('credential', { maxWaitMs: 0 }), null);
  const usage = await store.usage('credential');
  assert.deepEqual(usage.windows.map(({ capacity, periodMs }) => [capacity, periodMs]), [[7, 2000], [150, 60000]]);
  assert.equal(await store.pause('credential', 5000), 5000);
  assert.ok((await store.usage('credential')).pausedMs > 4000);
  const again = { id: 'request-1' };
  const wait = await store.reserve('other', again);
  await store.reserve('other', again);
  assert.equal(wait, 0);
  assert.equal((await store.usage('other')).windows[0].used, 1);
});

test('a BullMQ worker sends at the pace of the budget', async () => {
  const queue = new Queue('messages', { connection: queues });
  const events = new QueueEvents('messages', { connection: queues });
  await events.waitUntilReady();
  const sent = [];
  const send = async (data) => sent.push([data, performance.now()]);
  const limits = { limits: redis, key: 'bull', capacity: 1, rate: 20, connection: queues };
  const worker = limitedWorker('messages', send, limits);
  const jobs = await queue.addBulk([1, 2, 3].map((data) => ({ name: 'send', data })));
  await Promise.all(jobs.map((job) => job.waitUntilFinished(events)));
  assert.deepEqual(sent.map(([data]) => data).sort(), [1, 2, 3]);
  assert.ok(sent[2][1] - sent[0][1] >= 90);
  await Promise.all([worker.close(), events.close(), queue.close()]);
});
