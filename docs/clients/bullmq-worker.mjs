// A BullMQ worker with Tollgate around the send. BullMQ keeps its queue in Redis; `limits` is a second ioredis client,
// connected to Tollgate. BullMQ's own limiter counts jobs of one queue; this counts calls to the provider, whoever
// makes them, and a 429 stops everybody who shares the key.
import { DelayedError, Worker } from 'bullmq';
import { setTimeout as sleep } from 'node:timers/promises';

const WAIT_MS = 5_000;

export function limitedWorker(queue, send, { limits, key, capacity = 80, rate = 80, ...options }) {
  const process = async (job, token) => {
    const id = `${queue}:${job.id}:${job.attemptsStarted}`;
    const waitMs = await limits.call('RL.RESERVE', key, capacity, rate, WAIT_MS, 'ID', id);
    if (waitMs < 0) {
      // The backlog is longer than a worker should sit on: back into the queue with the job.
      await job.moveToDelayed(Date.now() + WAIT_MS, token);
      throw new DelayedError();
    }
    await sleep(waitMs);
    try {
      return await send(job.data);
    } catch (error) {
      if (error.status === 429) await limits.call('RL.PAUSE', key, error.retryAfterMs ?? 1000);
      throw error;
    }
  };
  return new Worker(queue, process, { concurrency: 50, ...options });
}
