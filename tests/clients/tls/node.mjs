// ioredis and node-redis over TLS and through the Unix socket. Prints what is wrong.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const require = createRequire(new URL('../node/package.json', import.meta.url));
const { TLS_DIRECTORY: directory, TLS_PORT: port, TLS_SOCKET: path } = process.env;
const file = (name) => readFileSync(`${directory}/${name}`);
const ca = file('ca.crt');
const identity = { cert: file('client.crt'), key: file('client.key') };
const long = 'x'.repeat(60_000);

async function check(call) {
  assert.equal(await call('PING'), 'PONG');
  const replies = await Promise.all(Array.from({ length: 100 }, () => call('ECHO', long)));
  assert.ok(replies.every((reply) => reply === long));
}

const Redis = require('ioredis6').Redis;
for (const options of [{ tls: { ca } }, { tls: { ca, ...identity } }]) {
  const client = new Redis(`rediss://localhost:${port}`, options);
  await check((...words) => client.call(...words));
  await client.quit();
}
const local = new Redis(path);
await check((...words) => local.call(...words));
await local.quit();

const { createClient } = require('redis6');
const url = `rediss://localhost:${port}`;
for (const options of [{ url, socket: { ca } }, { url, socket: { ca, ...identity } }, { socket: { path } }]) {
  const client = createClient(options);
  await client.connect();
  await check((...words) => client.sendCommand(words));
  await client.close();
}
