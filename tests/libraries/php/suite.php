<?php
// What the suites share: one line of JSON a check, as in ../node/suite.mjs.

error_reporting(E_ALL & ~E_DEPRECATED);
const WINDOW_S = 600;                // the windows of all suites: long enough that no test outlives one

$port = (int) getenv('SUITE_PORT');
$admin = new Redis();
$admin->connect('127.0.0.1', $port);

function about(float $seconds): array { return ['about_ms' => (int) round($seconds * 1000)]; }

function until(float $instant): array { return ['until_ms' => (int) round(($instant - microtime(true)) * 1000)]; }

function equal($seen, $wanted, string $what): void
{
    if ($seen !== $wanted) {
        throw new Exception("$what: " . json_encode($seen) . ', not ' . json_encode($wanted));
    }
}

/** Runs the keys' time out at once: no test waits for a window to end. */
function end_keys(string ...$keys): void
{
    global $admin;
    foreach ($keys as $key) {
        equal($admin->pExpire($key, 1), true, "PEXPIRE $key");
        while ($admin->exists($key)) {
        }
    }
}

/** Each key that matches, with its time to live, in order. */
function keys(string $pattern): array
{
    global $admin;
    $found = $admin->keys($pattern);
    sort($found);
    return array_map(fn ($key) => [$key, about($admin->pttl($key) / 1000)], $found);
}

function check(string $name, callable $body): void
{
    try {
        $line = ['check' => $name, 'value' => $body()];
    } catch (Throwable $error) {
        $line = ['check' => $name, 'error' => get_class($error) . ': ' . $error->getMessage()];
    }
    echo json_encode($line, JSON_THROW_ON_ERROR | JSON_PARTIAL_OUTPUT_ON_ERROR), "\n";
}
