<?php
// Predis. A bridge: see ../python/bridge.py.
require 'Predis/autoload.php';
require __DIR__ . '/bridge.php';

use Predis\Client;
use Predis\Command\RawCommand;
use Predis\Response\ErrorInterface;
use Predis\Response\Status;

$options = json_decode(end($argv), true);

function plain($reply)
{
    return match (true) {
        $reply instanceof ErrorInterface => failure($reply->getMessage()),
        $reply instanceof Status => (string) $reply,
        is_array($reply) => array_map('plain', $reply),
        default => $reply,
    };
}

function queue($batch, array $commands): void
{
    foreach ($commands as $words) {
        $batch->executeCommand(new RawCommand($words));
    }
}

$login = ['username' => $options['user'] ?? null, 'password' => $options['password'] ?? null, 'database' => $options['database'] ?? null];
$redis = new Client(array_filter(['host' => $options['host'], 'port' => $options['port'], ...$login]), ['exceptions' => false]);
$named = function () use ($redis, $options) {
    if (isset($options['name'])) {
        $redis->client('setname', $options['name']);
    }
};
try {
    $redis->connect();
    $named();
} catch (Predis\PredisException $error) {
    tell(failure(preg_replace('/^`AUTH` failed: /', '', $error->getMessage())));
    exit(0);
}
serve(['client' => 'Predis ' . Client::VERSION, 'resends' => false, 'renames' => false, 'more' => ['method']], [
    'call' => fn (array $words) => plain($redis->executeCommand(new RawCommand($words))),
    'pipeline' => fn (array $commands) => plain($redis->pipeline(fn ($batch) => queue($batch, $commands))),
    'transaction' => fn (array $commands) => plain($redis->transaction(fn ($batch) => queue($batch, $commands))),
    'scan' => fn (string $pattern) => iterator_to_array(new Predis\Collection\Iterator\Keyspace($redis, $pattern), false),
    'listen' => function (string $channel) use ($redis) {
        $loop = $redis->pubSubLoop(['subscribe' => $channel]);
        $message = null;
        foreach ($loop as $event) {
            if ($event->kind === 'message' && $message === null) {
                $message = [$event->channel, $event->payload];
                $loop->unsubscribe($channel);
            }
        }
        return $message;
    },
    'method' => fn (string $name, ...$arguments) => plain($redis->$name(...$arguments)),
]);
$redis->disconnect();
