// node-redis. Argument: 6 (RESP3, its default), 6-resp2, 5 (RESP2, its default), 5-resp3 or 4 (RESP2 only).
import { Suite, host, port, password, passwordPort, restartPort, proxyPort, equal, between, refused, identity, mailbox } from './suite.mjs';

const which = process.argv[2];
const resp3 = which === '6' || which === '5-resp3';
const { createClient } = await import(`redis${which[0]}`);
const suite = new Suite(`node-redis ${which[0]} RESP${resp3 ? 3 : 2}`);
const chosenProtocol = { '6-resp2': { RESP: 2 }, '5-resp3': { RESP: 3 } }[which] ?? {};

async function connect(options = {}) {
  const client = createClient({ socket: { host, port }, ...chosenProtocol, ...options });
  client.on('error', () => {}); // told again by the command that fails
  await client.connect();
  return client;
}

// Ends a connection without a word to the server.
const drop = (client) => (which === '4' ? client.disconnect() : client.destroy());

const client = await connect().catch((error) => {
  console.log(`FAIL ${suite.name}: connects: ${error.message}`);
  process.exit(1);
});
const call = (...words) => client.sendCommand(words);
// Commands of one tick leave in one write.
const callMany = (commands) => Promise.all(commands.map((words) => client.sendCommand(words).catch((error) => error)));

await suite.mustConnect(async () => {
  equal(await client.ping(), 'PONG', 'ping');
  const info = await call('CLIENT', 'INFO');
  const wanted = resp3 ? 'resp=3' : 'resp=2';
  if (!info.includes(wanted)) throw new Error(`CLIENT INFO has no ${wanted}: ${info}`);
});

await suite.check('CLIENT SETNAME and GETNAME, name in the options', async () => {
  equal(await client.clientSetName('worker-1'), 'OK', 'setname');
  equal(await client.clientGetName(), 'worker-1', 'getname');
  const named = await connect({ name: 'from-options' });
  equal(await named.clientGetName(), 'from-options', 'name');
  await drop(named);
});

await suite.check('SELECT 3, and database in the options', async () => {
  const chosen = await connect({ database: 3 });
  const switched = await connect();
  await switched.select(3);
  await switched.del('shared');
  equal((await switched.sendCommand(['RL.TAKE', 'shared', '5', '1/h']))[2], 4, 'db 3 by select');
  equal((await chosen.sendCommand(['RL.TAKE', 'shared', '5', '1/h']))[2], 3, 'db 3 by options');
  await client.del('shared');
  equal(await chosen.exists('shared'), 1, 'the key stays in db 3');
  await drop(chosen);
  await drop(switched);
});

await suite.checkBatch(callMany);
await suite.checkReservation(callMany);

await suite.check('MULTI and EXEC', async () => {
  await client.del('node-redis:multi');
  const replies = await client
    .multi()
    .addCommand(['RL.TAKE', 'node-redis:multi', '10', '1/h'])
    .addCommand(['RL.RESERVE', 'node-redis:multi', '10', '1/h', '0', 'COST', '9'])
    .exec();
  equal(replies, [[0, 10, 9, -1, 3_600_000], 0], 'exec');
  equal(await client.multi().ping().execAsPipeline(), ['PONG'], 'execAsPipeline');
  // node-redis tells the error of the queued command or the EXECABORT that follows, as its version has it.
  await refused(client.multi().addCommand(['RL.TAKE', 'node-redis:multi']).exec(), 'E', 'a call that cannot be queued');
  equal(await client.exists('node-redis:multi'), 1, 'the connection is in step after it');
});

await suite.check('the methods people use', async () => {
  await client.del('node-redis:method');
  await call('RL.TAKE', 'node-redis:method', '10', '10/h');
  between(await client.ttl('node-redis:method'), 300, 360, 'ttl');
  between(await client.pTTL('node-redis:method'), 300_000, 360_000, 'pTTL');
  equal(await client.type('node-redis:method'), 'ratelimit', 'type');
  const found = [];
  for await (const keys of client.scanIterator({ MATCH: 'node-redis:meth*' })) found.push(...[keys].flat()); // 4: key by key
  equal(found, ['node-redis:method'], 'scanIterator');
  equal(await client.keys('node-redis:meth*'), ['node-redis:method'], 'keys');
  equal({ ...(await client.configGet('databases')) }, { databases: '16' }, 'configGet');
  if (!(await client.info()).includes('redis_version:')) throw new Error('info has no redis_version');
  between(await client.commandCount(), 40, 1000, 'commandCount');
  equal(await client.commandGetKeys(['RL.TAKE', 'a', '1', '1', 'AND', 'b', '1', '1']), ['a', 'b'], 'commandGetKeys');
  equal(await client.del('node-redis:method'), 1, 'del');
});

await suite.checkTable(call, resp3 ? 'object' : 'flat');

await suite.check('password: right, wrong, none', async () => {
  const socket = { host, port: passwordPort, reconnectStrategy: false };
  const right = await connect({ socket, password });
  equal(await right.ping(), 'PONG', 'right password');
  await drop(right);
  await refused(connect({ socket, password: 'wrong' }), 'WRONGPASS', 'wrong password');
  const none = connect({ socket }).then((client) => client.sendCommand(['RL.PEEK', 'k', '1', '1']));
  await refused(none, 'NOAUTH', 'no password');
});

const everything = { username: 'default', password, database: 3, name: 'from-options' };
await suite.check('user, password, database and name at once', async () => {
  const whole = await connect({ socket: { host, port: passwordPort }, ...everything });
  identity(await whole.sendCommand(['CLIENT', 'INFO']));
  await drop(whole);
});

await suite.checkSubscribe(async (channel) => {
  const subscriber = await connect();
  const letters = mailbox();
  await subscriber.subscribe(channel, letters.put);
  return { heard: letters.heard, unsubscribe: () => subscriber.unsubscribe(channel), close: () => drop(subscriber) };
}, call);

const lasting = async (options) => {
  const client = await connect(options);
  return { call: (...words) => client.sendCommand(words), close: () => drop(client) };
};
await suite.checkCut(() => lasting({ socket: { host, port: proxyPort } }), call, false);
await suite.checkRestart(() => lasting({ socket: { host, port: restartPort }, ...everything }));

await suite.check('close', () => (which === '4' ? client.quit() : client.close()));
suite.end();
