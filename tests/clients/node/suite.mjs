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
export const clusterPort = Number(env.SUITE_CLUSTER_PORT);
export const proxyPort = Number(env.SUITE_PROXY_PORT);
const notYet = env.SUITE_NOT_YET.split(' ');
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

// CLIENT INFO, the server's own word, of who logged in as `default`, chose database 3 and is called from-options.
export function identity(info) {
  const fields = Object.fromEntries(info.trim().split(' ').map((field) => field.split('=')));
  equal([fields.user, fields.db, fields.name], ['default', '3', 'from-options'], 'CLIENT INFO');
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

  // The connection breaks after the request and before its reply: ../proxy.py. `connect` gives { call, close } through it.
  async checkCut(connect, call, sendsAgain) {
    const title = sendsAgain ? 'sends again by itself' : 'tells the break';
    await this.check(`cut off between request and reply: ${title}; with an ID the key is charged once`, async () => {
      const proxied = await connect();
      for (const [name, id] of [['cut', []], ['cut-id', ['ID', 'order-17']]]) {
        const take = ['RL.TAKE', `${this.name.replaceAll(' ', '-')}:${name}`, '10', '10/h'];
        const reply = await proxied.call(...take, ...id).catch((error) => error);
        const charged = sendsAgain && !id.length ? 2 : 1;
        if (sendsAgain) equal(reply.slice?.(0, 3), [0, 10, 10 - charged], `${id} the reply that came in the end`);
        else if (!(reply instanceof Error)) throw new Error(`expected that it tells the break, got ${show(reply)}`);
        else if (id.length) equal((await call(...take, ...id)).slice(0, 3), [0, 10, 9], 'sent again by hand');
        equal((await call('RL.PEEK', ...take.slice(1)))[2], 10 - charged, `${id} what remains`);
      }
      await proxied.close();
    });
  }

  // `subscribe(channel)` gives { heard, unsubscribe, close }: heard() waits for the next payload on the channel.
  async checkSubscribe(subscribe, call) {
    if (notYet.includes('SUBSCRIBE')) return;
    await this.check('SUBSCRIBE: a message, and the event of a pause', async () => {
      const key = `${this.name.replaceAll(' ', '-')}:event`;
      const subscription = await subscribe(`${key}:channel`);
      equal(await call('PUBLISH', `${key}:channel`, 'hello'), 1, 'PUBLISH');
      equal(await subscription.heard(), 'hello', 'the message');
      await subscription.unsubscribe();
      equal(await call('PUBLISH', `${key}:channel`, 'nobody'), 0, 'PUBLISH after UNSUBSCRIBE');
      await subscription.close();
      const events = await subscribe('__rl@0__:pause');
      equal(await call('RL.PAUSE', key, '10m'), 600_000, 'RL.PAUSE');
      const event = await events.heard();
      if (!event.includes(key)) throw new Error(`the event does not name the key: ${event}`);
      await events.close();
    });
  }

  // The client, which has a user, a password, database 3 and a name, stays as it is while the server goes away and comes
  // back. `connect` gives { call, close }.
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
      identity(await call('CLIENT', 'INFO'));
      await close();
    });
  }

  end() {
    process.exit(this.failed ? 1 : 0);
  }
}

// What `heard` waits for, from a client's callback to a promise.
export function mailbox() {
  const letters = [];
  let waiting = null;
  return {
    put(payload) {
      letters.push(payload);
      waiting?.();
    },
    async heard() {
      while (!letters.length) await new Promise((resolve) => (waiting = resolve));
      return letters.shift();
    },
  };
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
