// What the node suites share: reporting, the table of calls (../cases.json), and the checks that only need
// `call(...words)`, a promise of the reply to one command.
import { readFileSync } from 'node:fs';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { isDeepStrictEqual } from 'node:util';

const env = process.env;
export const host = env.SUITE_HOST ?? '127.0.0.1';
export const port = Number(env.SUITE_PORT);
export const passwordPort = Number(env.SUITE_PASSWORD_PORT);
export const password = env.SUITE_PASSWORD;
export const restartPort = Number(env.SUITE_RESTART_PORT);
const table = JSON.parse(readFileSync(new URL('../cases.json', import.meta.url)));

// A value on one line; long ones are cut, since a failure is read by a person.
function show(value) {
  const text = JSON.stringify(value, (_, each) => (each instanceof Error ? `error: ${each.message}` : each)) ?? String(value);
  return text.length > 500 ? `${text.slice(0, 500)}…` : text;
}

async function restartServer() {
  const [code] = await once(spawn('bash', ['-c', env.SUITE_RESTART], { stdio: ['ignore', 'ignore', 'inherit'] }), 'exit');
  if (code !== 0) throw new Error('the server did not restart');
}

export function equal(got, want, what) {
  if (!isDeepStrictEqual(got, want)) throw new Error(`${what}: expected ${show(want)}, got ${show(got)}`);
}

export function between(got, low, high, what) {
  if (!(Number.isInteger(got) && got >= low && got <= high)) throw new Error(`${what}: expected ${low}..${high}, got ${show(got)}`);
}

export async function refused(promise, beginning, what) {
  const reply = await promise.then(
    (value) => value,
    (error) => error,
  );
  if (!(reply instanceof Error && reply.message.startsWith(beginning))) {
    throw new Error(`${what}: expected an error that begins with ${beginning}, got ${show(reply)}`);
  }
}

// Runs one named check after another, each bounded in time, and prints a line for each.
export class Suite {
  constructor(name) {
    this.name = name;
    this.failed = 0;
  }

  async check(title, body) {
    let timer;
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error('no answer within 20 s')), 20_000);
    });
    try {
      await Promise.race([body(), late]);
      console.log(`ok   ${this.name}: ${title}`);
    } catch (error) {
      this.failed += 1;
      console.log(`FAIL ${this.name}: ${title}: ${error.message}`);
    } finally {
      clearTimeout(timer);
    }
  }

  // The check without which no other can pass: if it fails, the suite ends.
  async mustConnect(body) {
    await this.check('connects, PING', body);
    if (this.failed) this.end();
  }

  // maps: 'object' where the client shows a RESP3 map as an object, 'flat' where it is an array of fields and values.
  async checkTable(call, maps) {
    const own = (text) => (typeof text === 'string' && text.startsWith('$') ? `${this.name.replaceAll(' ', '-')}:${text.slice(1)}` : text);
    for (const { name, steps } of table.groups) {
      await this.check(name, async () => {
        const keys = new Set(steps.flatMap(([words]) => words.filter((word) => word.startsWith('$'))).map(own));
        for (const key of keys) await call('DEL', key);
        for (const [words, want] of steps) {
          const command = words.map(own);
          const got = await call(...command).catch((error) => error);
          const wrong = mismatch(want, got, own, maps);
          if (wrong) throw new Error(`${command.join(' ')}: ${wrong}; the whole reply: ${show(got)}`);
        }
      });
    }
  }

  // The reservation of the README: the burst goes at once, then a slot every 12.5 ms, less the time that has passed.
  async checkReservation(callMany) {
    await this.check('RL.RESERVE 80 80 30000, 83 times', async () => {
      const key = `${this.name.replaceAll(' ', '-')}:burst`;
      await callMany([['DEL', key]]);
      const begin = performance.now();
      const waits = await callMany(Array(83).fill(['RL.RESERVE', key, '80', '80', '30000']));
      const passed = performance.now() - begin;
      for (const [i, wait] of waits.entries()) {
        const most = Math.max(0, Math.ceil((i - 79) * 12.5));
        const least = Math.max(0, Math.floor((i - 79) * 12.5 - passed));
        between(wait, least, most, `reservation ${i + 1} (${passed.toFixed(1)} ms passed)`);
      }
    });
  }

  async checkBatch(callMany) {
    await this.check('100 RL.TAKE in one batch', async () => {
      const key = `${this.name.replaceAll(' ', '-')}:batch`;
      await callMany([['DEL', key]]);
      const replies = await callMany(Array(100).fill(['RL.TAKE', key, '60', '1/h']));
      equal(replies.map((reply) => reply[0]), Array.from({ length: 100 }, (_, i) => (i < 60 ? 0 : 1)), 'limited');
      equal(replies.map((reply) => reply[2]), Array.from({ length: 100 }, (_, i) => Math.max(0, 59 - i)), 'remaining');
    });
    await this.check('an error inside a batch does not shift the others', async () => {
      const key = `${this.name.replaceAll(' ', '-')}:shift`;
      await callMany([['DEL', key]]);
      const take = ['RL.TAKE', key, '10', '1/h'];
      const replies = await callMany([take, ['RL.TAKE', key, 'ten', '1/h'], ['NOSUCH'], take, ['ECHO', 'last']]);
      equal(replies[0].slice(0, 3), [0, 10, 9], 'first');
      if (!(replies[1] instanceof Error && replies[1].message.startsWith('ERR'))) throw new Error(`second: ${show(replies[1])}`);
      if (!(replies[2] instanceof Error && replies[2].message.startsWith("ERR unknown command 'NOSUCH'"))) throw new Error(`third: ${show(replies[2])}`);
      equal(replies[3].slice(0, 3), [0, 10, 8], 'fourth');
      equal(replies[4], 'last', 'fifth');
    });
  }

  // The client stays as it is while the server goes away and comes back. `connect` gives { call, close }.
  async checkRestart(connect) {
    await this.check('reconnects after a restart, debt and pause are still there', async () => {
      const { call, close } = await connect();
      const key = `${this.name.replaceAll(' ', '-')}:restart`;
      for (const each of [key, `${key}:paused`]) await call('DEL', each);
      equal(await call('RL.CHARGE', key, '10', '10/h', '15'), 2_160_000, 'RL.CHARGE');
      equal(await call('RL.PAUSE', `${key}:paused`, '10m'), 600_000, 'RL.PAUSE');
      await restartServer();
      const [limited, , remaining, retry] = await call('RL.PEEK', key, '10', '10/h');
      equal([limited, remaining], [1, 0], 'RL.PEEK after the restart');
      between(retry, 2_100_000, 2_160_000, 'wait after the restart');
      between(await call('RL.PAUSE', `${key}:paused`, '1000'), 540_000, 600_000, 'pause after the restart');
      close();
    });
  }

  end() {
    process.exit(this.failed ? 1 : 0);
  }
}

function mismatch(want, got, own, maps) {
  if (want !== null && typeof want === 'object' && !Array.isArray(want)) {
    if ('error' in want) return got instanceof Error && got.message.startsWith(want.error) ? '' : `expected an error ${want.error}`;
    if (got instanceof Error) return `got an error: ${got.message}`;
    if ('any' in want) return '';
    if ('between' in want) {
      const [low, high] = want.between;
      return Number.isInteger(got) && got >= low && got <= high ? '' : `expected ${low}..${high}, got ${show(got)}`;
    }
    if ('text' in want) return typeof got === 'string' && got.includes(want.text) ? '' : `expected a text with ${want.text}`;
    let fields = got;
    if (maps === 'flat') {
      if (!Array.isArray(got) || got.length % 2) return `expected fields and values, got ${show(got)}`;
      fields = Object.fromEntries(got.map((_, i) => [got[i], got[i + 1]]).filter((_, i) => i % 2 === 0));
    } else if (got === null || typeof got !== 'object' || Array.isArray(got)) {
      return `expected a map, got ${show(got)}`;
    }
    for (const [field, value] of Object.entries(want.map)) {
      if (!(field in fields)) return `no field ${field}`;
      const wrong = mismatch(value, fields[field], own, maps);
      if (wrong) return `${field}: ${wrong}`;
    }
    return '';
  }
  if (Array.isArray(want)) {
    if (!Array.isArray(got) || got.length !== want.length) return `expected ${want.length} elements, got ${show(got)}`;
    for (const [i, value] of want.entries()) {
      const wrong = mismatch(value, got[i], own, maps);
      if (wrong) return `element ${i}: ${wrong}`;
    }
    return '';
  }
  return got === own(want) ? '' : `expected ${show(own(want))}, got ${show(got)}`;
}
