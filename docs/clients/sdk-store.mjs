// A store for an SDK that asks for `reserve`, `pause` and `usage` of a credential with two windows: here 7 calls in 2
// seconds and 150 a minute. One policy holds both, so one call decides on both, and one key shows both.
export class TollgateStore {
  constructor(redis, { policy = 'sdk', limits = ['LOG 7 2s', 'LOG 150 60s'], prefix = 'sdk:' } = {}) {
    Object.assign(this, { redis, policy, limits, prefix });
  }

  // Once at start, and again to change the limits for everybody: each key follows with its next call.
  async setup() {
    const words = this.limits.flatMap((limit, index) => [...(index ? ['AND'] : []), ...limit.split(' ')]);
    await this.redis.call('RL.POLICY', 'SET', this.policy, ...words);
  }

  // Milliseconds to wait before sending, or null if that would be longer than `maxWaitMs`. Give the request's id, and
  // asking twice for the same request charges once.
  async reserve(credential, { cost = 1, maxWaitMs = 30_000, id } = {}) {
    const options = id === undefined ? [] : ['ID', id];
    const key = this.prefix + credential;
    const waitMs = await this.redis.call('RL.RESERVE', key, 'POLICY', this.policy, maxWaitMs, 'COST', cost, ...options);
    return waitMs < 0 ? null : waitMs;
  }

  // After a 429: nobody sends with this credential for `ms`.
  async pause(credential, ms) {
    return this.redis.call('RL.PAUSE', this.prefix + credential, ms);
  }

  // One entry a window: how many are used and left, and when it is empty again.
  async usage(credential) {
    const usage = fields(await this.redis.call('RL.USAGE', this.prefix + credential));
    const windows = (usage.rules ?? []).map(fields);
    return {
      pausedMs: usage.paused_ms ?? 0,
      windows: windows.map(({ capacity, used, remaining, period_ms }) => ({ capacity, used, remaining, periodMs: period_ms })),
    };
  }
}

// A map of RESP3, or the flat list of names and values that a client makes of it.
function fields(map) {
  if (map === null || map === undefined) return {};
  if (!Array.isArray(map)) return map;
  return Object.fromEntries(map.flatMap((name, index) => (index % 2 ? [] : [[name, map[index + 1]]])));
}
