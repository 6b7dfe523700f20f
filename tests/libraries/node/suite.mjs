// What the suites share. A suite does what its library's users do and prints one line of JSON a check:
// {"check": name, "value": ...} or {"check": name, "error": text}. `run` starts it against Redis and against Tollgate and
// compares the lines. A check that sees its library behave otherwise than documented throws, so it fails on its own.
import { isDeepStrictEqual } from 'node:util';
import { Redis } from 'ioredis';
import { createClient } from 'redis';

export const PORT = Number(process.env.SUITE_PORT);
/** The windows of all suites: long enough that no test outlives one. */
export const WINDOW_MS = 600_000;

/** A time in milliseconds: compared with the tolerance that `run` states. */
export const time = (ms) => ({ about_ms: Number.isFinite(ms) ? Math.round(ms) : String(ms) });
/** An instant, as the time left until it. */
export const until = (instant) => ({ until_ms: Math.round(Number(instant) - Date.now()) });

export const admin = new Redis(PORT, '127.0.0.1', { lazyConnect: true });

export const ioredis = (options) => new Redis(PORT, '127.0.0.1', options);

export async function nodeRedis() {
  const client = createClient({ socket: { host: '127.0.0.1', port: PORT } });
  client.on('error', (error) => console.error(error));
  await client.connect();
  return client;
}

export function equal(seen, wanted, what) {
  if (!isDeepStrictEqual(seen, wanted)) throw new Error(`${what}: ${JSON.stringify(seen)}, not ${JSON.stringify(wanted)}`);
}

/** Runs the keys' time out at once: no test waits for a window to end. */
export async function end(...keys) {
  for (const key of keys) {
    equal(await admin.pexpire(key, 1), 1, `PEXPIRE ${key}`);
    while (await admin.exists(key)) ;
  }
}

/** Each key that begins with the text, with its time to live, in order. */
export async function keys(begin) {
  const found = [];
  let cursor = '0';
  do {
    const [next, some] = await admin.scan(cursor, 'MATCH', `${begin}*`, 'COUNT', 1000);
    cursor = next;
    found.push(...some);
  } while (cursor !== '0');
  return Promise.all(found.sort().map(async (key) => [key, time(await admin.pttl(key))]));
}

const checks = [];
export const check = (name, body) => checks.push([name, body]);

/** Runs all checks in order, and ends the process. */
export async function run() {
  await admin.connect();
  for (const [name, body] of checks) {
    try {
      console.log(JSON.stringify({ check: name, value: (await body()) ?? null }));
    } catch (error) {
      console.log(JSON.stringify({ check: name, error: String(error?.message ?? error) }));
    }
  }
  process.exit(0);
}
