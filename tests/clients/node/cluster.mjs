// Clients in cluster mode against a server with --cluster-announce, a cluster of one. Argument: ioredis-6, ioredis-5, iovalkey,
// node-redis-6, node-redis-5 or node-redis-4.
import { Suite, host, clusterPort, equal, refused } from './suite.mjs';

const which = process.argv[2];
const suite = new Suite(`${which} in cluster mode`);
const prefix = `cluster:${which}:`;

// What the checks need of a client: `call(key, ...words)`, where the key says which node, and `close()`.
async function openIoredis() {
  const { Cluster } = await import({ 'ioredis-6': 'ioredis6', 'ioredis-5': 'ioredis5', iovalkey: 'iovalkey' }[which]);
  const cluster = new Cluster([{ host, port: clusterPort }]);
  cluster.on('error', () => {});
  return {
    call: (key, ...words) => cluster.call(...words),
    nodes: () => cluster.nodes('master').map((node) => `${node.options.host}:${node.options.port}`),
    close: () => cluster.quit(),
  };
}

async function openNodeRedis() {
  const { createCluster } = await import(which.replace('node-redis-', 'redis'));
  const cluster = createCluster({ rootNodes: [{ url: `redis://${host}:${clusterPort}` }] });
  cluster.on('error', () => {});
  await cluster.connect();
  return {
    call: (key, ...words) => cluster.sendCommand(key, false, words),
    nodes: () => cluster.masters.map((node) => node.address),
    close: () => cluster.quit(),
  };
}

let cluster;
await suite.mustConnect(async () => {
  cluster = await (which.startsWith('node-redis') ? openNodeRedis() : openIoredis());
  equal(await cluster.call('k', 'PING'), 'PONG', 'ping');
});

await suite.check('it knows the one node by what is announced', async () => {
  equal(cluster.nodes(), [`${host}:${clusterPort}`], 'nodes');
});

await suite.check('calls on 100 keys in many slots', async () => {
  const keys = Array.from({ length: 100 }, (_, at) => `${prefix}${at}`);
  const replies = await Promise.all(keys.map((key) => cluster.call(key, 'RL.RESERVE', key, '1', '1/h', '0')));
  equal(replies, keys.map(() => 0), 'first');
  const again = await Promise.all(keys.map((key) => cluster.call(key, 'RL.RESERVE', key, '1', '1/h', '0')));
  equal(again, keys.map(() => -1), 'second');
});

await suite.check('several rules, in one slot and in two', async () => {
  const [a, b] = [`{${prefix}}a`, `{${prefix}}b`];
  equal((await cluster.call(a, 'RL.TAKE', a, '5', '1/h', 'AND', b, '3', '1/h'))[2], 2, 'remaining');
  await refused(cluster.call(a, 'RL.TAKE', `${prefix}a`, '5', '1/h', 'AND', `${prefix}b`, '3', '1/h'), 'CROSSSLOT', 'two slots');
});

await suite.check('QUIT', async () => cluster.close());
suite.end();
