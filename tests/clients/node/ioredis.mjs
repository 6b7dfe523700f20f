// ioredis and its descendant iovalkey, as `new Redis({ host, port })` leaves them.
// Argument: 6 (RESP3, its default), 6-resp2, 5 or iovalkey (both RESP2 only).
import { Suite, host, port, password, passwordPort, restartPort, proxyPort, equal, between, refused, identity, mailbox } from './suite.mjs';

const which = process.argv[2];
const { Redis } = await import({ 5: 'ioredis5', iovalkey: 'iovalkey' }[which] ?? 'ioredis6');
const suite = new Suite({ 6: 'ioredis 6 RESP3', '6-resp2': 'ioredis 6 RESP2', 5: 'ioredis 5', iovalkey: 'iovalkey' }[which]);
const protocol = which === '6-resp2' ? { protocol: 2 } : {};

function connect(options = {}) {
  const redis = new Redis({ host, port, ...protocol, ...options });
  redis.lastError = null;
  redis.on('error', (error) => (redis.lastError = error));
  return redis;
}

const redis = connect();
const call = (...words) => redis.call(...words);
const callMany = async (commands) => {
  const pipeline = redis.pipeline();
  for (const words of commands) pipeline.call(...words);
  return (await pipeline.exec()).map(([error, reply]) => error ?? reply);
};

await suite.mustConnect(async () => {
  equal(await redis.ping(), 'PONG', 'ping');
  // The server's own word on what was negotiated.
  const info = await call('CLIENT', 'INFO');
  const wanted = which === '6' ? 'resp=3' : 'resp=2';
  if (!info.includes(wanted)) throw new Error(`CLIENT INFO has no ${wanted}: ${info}`);
});

await suite.check('CLIENT SETNAME and GETNAME, connectionName', async () => {
  equal(await redis.client('SETNAME', 'worker-1'), 'OK', 'setname');
  equal(await redis.client('GETNAME'), 'worker-1', 'getname');
  const named = connect({ connectionName: 'from-options' });
  equal(await named.client('GETNAME'), 'from-options', 'connectionName');
  await named.quit();
});

await suite.check('SELECT 3, and db in the options', async () => {
  const chosen = connect({ db: 3 });
  const switched = connect();
  equal(await switched.select(3), 'OK', 'select');
  await switched.call('DEL', 'shared');
  equal((await switched.call('RL.TAKE', 'shared', '5', '1/h'))[2], 4, 'db 3 by select');
  equal((await chosen.call('RL.TAKE', 'shared', '5', '1/h'))[2], 3, 'db 3 by options');
  await redis.del('shared');
  equal(await chosen.exists('shared'), 1, 'the key stays in db 3');
  await Promise.all([chosen.quit(), switched.quit()]);
});

await suite.checkBatch(callMany);
await suite.checkReservation(callMany);

await suite.check('MULTI and EXEC', async () => {
  await redis.del('ioredis:multi');
  const replies = await redis
    .multi()
    .call('RL.TAKE', 'ioredis:multi', '10', '1/h')
    .call('RL.RESERVE', 'ioredis:multi', '10', '1/h', '0', 'COST', '9')
    .exec();
  equal(replies, [[null, [0, 10, 9, -1, 3_600_000]], [null, 0]], 'exec');
  await refused(redis.multi().call('RL.TAKE', 'ioredis:multi').exec(), 'EXECABORT', 'a call that cannot be queued');
});

await suite.check('the methods people use', async () => {
  await redis.del('ioredis:method');
  await redis.call('RL.TAKE', 'ioredis:method', '10', '10/h');
  between(await redis.ttl('ioredis:method'), 300, 360, 'ttl');
  between(await redis.pttl('ioredis:method'), 300_000, 360_000, 'pttl');
  equal(await redis.type('ioredis:method'), 'ratelimit', 'type');
  const found = [];
  for await (const keys of redis.scanStream({ match: 'ioredis:meth*' })) found.push(...keys);
  equal(found, ['ioredis:method'], 'scanStream');
  equal(await redis.keys('ioredis:meth*'), ['ioredis:method'], 'keys');
  equal(await redis.config('GET', 'databases'), ['databases', '16'], 'config get');
  between(await redis.command('COUNT'), 40, 1000, 'command count');
  equal(await redis.del('ioredis:method'), 1, 'del');
});

await suite.checkTable(call, 'flat'); // ioredis shows a RESP3 map as a flat array

await suite.check('password: right, wrong, none', async () => {
  const right = connect({ port: passwordPort, password });
  equal(await right.ping(), 'PONG', 'right password');
  await right.quit();
  for (const [options, beginning] of [[{ password: 'wrong' }, 'WRONGPASS'], [{}, 'NOAUTH']]) {
    const redis = connect({ port: passwordPort, retryStrategy: null, ...options });
    await redis.call('RL.PEEK', 'k', '1', '1').then(
      (reply) => { throw new Error(`${beginning} expected, RL.PEEK was answered ${reply}`); },
      (error) => {
        // Told on the command itself, or on the connection that was given up.
        const told = [error.message, redis.lastError?.message ?? ''];
        if (!told.some((text) => text.startsWith(beginning))) throw new Error(`${beginning} expected, got ${told.join(' | ')}`);
      },
    );
    redis.disconnect();
  }
});

const everything = { username: 'default', password, db: 3, connectionName: 'from-options' };
await suite.check('user, password, database and name at once', async () => {
  const whole = connect({ port: passwordPort, ...everything });
  identity(await whole.call('CLIENT', 'INFO'));
  await whole.quit();
});

await suite.check('a user that is kept to a prefix', async () => {
  const name = `tenant-${process.pid}`;
  await call('ACL', 'SETUSER', name, 'on', '>pw', '~t7:*', '&t7:*', '+@ratelimit', '+@connection', '+@transaction', '+subscribe', '-@dangerous');
  // Its ready check is an INFO, which a tenant may not.
  const tenant = connect({ username: name, password: 'pw', enableReadyCheck: false });
  equal(await tenant.call('RL.RESERVE', `t7:${name}`, '5', '1', '0'), 0, 'its own key');
  await refused(tenant.call('RL.TAKE', `t7:${name}`, '5', '1', 'AND', 't8:a', '5', '1'), 'NOPERM No permissions to access a key', 'a second key');
  await refused(tenant.get(`t7:${name}`), `NOPERM User ${name} has no permissions to run the 'get' command`, 'a command');
  await refused(tenant.subscribe('t8:a'), 'NOPERM No permissions to access a channel', 'a channel');
  await refused(tenant.multi().call('RL.PEEK', 't8:a', '5', '1').exec(), 'EXECABORT', 'a transaction');
  tenant.disconnect();
  equal(await call('ACL', 'DELUSER', name), 1, 'ACL DELUSER');
});

await suite.checkSubscribe(async (channel) => {
  const subscriber = connect();
  const letters = mailbox();
  subscriber.on('message', (from, payload) => from === channel && letters.put(payload));
  equal(await subscriber.subscribe(channel), 1, 'subscribe');
  return { heard: letters.heard, unsubscribe: () => subscriber.unsubscribe(channel), close: () => subscriber.quit() };
}, call);

const lasting = (options) => {
  const redis = connect(options);
  return { call: (...words) => redis.call(...words), close: () => redis.disconnect() };
};
await suite.checkCut(() => lasting({ port: proxyPort }), call, true); // autoResendUnfulfilledCommands
await suite.checkRestart(() => lasting({ port: restartPort, ...everything }));

await suite.check('QUIT', async () => equal(await redis.quit(), 'OK', 'quit'));
suite.end();
