// Reserves on the keys of a cluster through ioredis, and logs what was granted.
//
//   node load.mjs IOREDIS PORT KEYS CAPACITY RATE OPEN     IOREDIS is the folder of the package
//
// Every second call is on one of so many keys that stay open. One line a call that was answered,
// `key-number sent-ms received-ms wait`, until its input ends; open keys are numbered behind the others.
import { createRequire } from 'node:module';

const [folder, port, keys, capacity, rate, open] = process.argv.slice(2);
const { Cluster } = createRequire(import.meta.url)(folder);
const cluster = new Cluster([{ host: '127.0.0.1', port: Number(port) }], {
  clusterRetryStrategy: () => 100,
  redisOptions: { maxRetriesPerRequest: 0, connectTimeout: 1000 },
});
cluster.on('error', () => {});

let going = true;
process.stdin.on('end', () => { going = false; }).resume();

const calling = async (first) => {
  for (let turn = first; going; turn += 7) {
    const isOpen = turn % 2 === 1;
    const at = isOpen ? Number(keys) + ((turn >> 1) % Number(open)) : (turn >> 1) % Number(keys);
    const limit = isOpen ? ['1000000', '1/h'] : [capacity, rate];
    const sent = Date.now();
    try {
      const wait = await cluster.call('RL.RESERVE', `key:${at}`, ...limit, '0');
      process.stdout.write(`${at} ${sent} ${Date.now()} ${wait}\n`);
    } catch {
      // A node has gone: what it granted without telling lowers what can be granted, and nothing else.
      await new Promise((resolve) => { setTimeout(resolve, 50); });
    }
  }
};
await Promise.all([0, 1, 2, 3, 4, 5, 6].map((first) => calling(first)));
cluster.disconnect();
