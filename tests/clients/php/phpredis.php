<?php
// phpredis, the extension. A bridge: see ../python/bridge.py.
require __DIR__ . '/bridge.php';

$options = json_decode(end($argv), true);

function connect(array $options, string $way = 'connect'): Redis
{
    $redis = new Redis();
    $redis->$way($options['host'], $options['port'], 5);
    if (isset($options['password'])) {
        $redis->auth(isset($options['user']) ? [$options['user'], $options['password']] : $options['password']);
    }
    if (isset($options['database']) && !$redis->select($options['database'])) {
        throw new RedisException($redis->getLastError());
    }
    if (isset($options['name']) && !$redis->client('setname', $options['name'])) {
        throw new RedisException($redis->getLastError());
    }
    $redis->setOption(Redis::OPT_REPLY_LITERAL, true);      // +PONG as "PONG" and not as true
    $redis->setOption(Redis::OPT_SCAN, Redis::SCAN_RETRY);
    return $redis;
}

// false is what phpredis shows for an error, and for a null inside an array as well.
function nulls($reply)
{
    return is_array($reply) ? array_map('nulls', $reply) : ($reply === false ? null : $reply);
}

// An error of a batch is a false in its place. The text is kept of the last one only.
function batch(Redis $redis, array $commands, int $mode)
{
    $redis->clearLastError();
    $batch = $redis->multi($mode);
    foreach ($commands as $words) {
        $batch->rawCommand(...$words);
    }
    $replies = $batch->exec();
    if (count($replies) < count($commands)) {               // EXEC was refused
        return failure($redis->getLastError());
    }
    return array_map(fn ($reply) => $reply === false ? failure($redis->getLastError()) : nulls($reply), $replies);
}

try {
    $redis = connect($options);
} catch (RedisException $error) {
    tell(failure($error->getMessage()));
    exit(0);
}
serve(['client' => 'phpredis ' . phpversion('redis'), 'resends' => false, 'renames' => false, 'more' => ['method', 'pool']], [
    'call' => function (array $words) use ($redis) {
        $redis->clearLastError();
        $reply = $redis->rawCommand(...$words);
        return $redis->getLastError() === null ? nulls($reply) : failure($redis->getLastError());
    },
    'pipeline' => fn (array $commands) => batch($redis, $commands, Redis::PIPELINE),
    'transaction' => fn (array $commands) => batch($redis, $commands, Redis::MULTI),
    'scan' => function (string $pattern) use ($redis) {
        [$found, $cursor] = [[], null];
        while ($keys = $redis->scan($cursor, $pattern)) {
            array_push($found, ...$keys);
        }
        return $found;
    },
    'listen' => function (string $channel) use ($redis) {
        $message = null;
        try {
            $redis->subscribe([$channel], function (Redis $redis, string $channel, string $payload) use (&$message) {
                $message = [$channel, $payload];
                $redis->unsubscribe([$channel]);
                $redis->close();                            // the only way out; the next call connects again
            });
        } catch (RedisException $error) {
            return $message ?? throw $error;
        }
    },
    'method' => fn (string $name, ...$arguments) => $redis->$name(...$arguments),
    'pool' => function () use ($options) {
        $ids = [];
        foreach ([1, 2] as $_) {
            $pooled = connect($options, 'pconnect');
            $ids[] = $pooled->rawCommand('CLIENT', 'ID');
            unset($pooled);                                 // puts it back, where close() would end it
        }
        return $ids;
    },
]);
$redis->close();
