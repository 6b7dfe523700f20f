<?php
// Laravel's rate limiters over phpredis or Predis: RateLimiter (the cache), and throttle() and funnel() of the Redis connection.
// Argument: phpredis or predis.

require __DIR__ . '/suite.php';
require '/usr/share/php/Illuminate/Cache/autoload.php';
require '/usr/share/php/Illuminate/Redis/autoload.php';
require '/usr/share/php/Illuminate/Container/autoload.php';
if ($argv[1] === 'predis') {
    require '/usr/share/php/Predis/Autoloader.php';
    Predis\Autoloader::register();
}

use Illuminate\Cache\RateLimiter;
use Illuminate\Cache\RedisStore;
use Illuminate\Cache\Repository;
use Illuminate\Container\Container;
use Illuminate\Contracts\Redis\LimiterTimeoutException;
use Illuminate\Redis\RedisManager;

$manager = new RedisManager(new Container(), $argv[1], ['default' => ['host' => '127.0.0.1', 'port' => $port, 'database' => 0]]);
$store = new RedisStore($manager, 'laravel', 'default');
$limiter = new RateLimiter(new Repository($store));
$redis = $manager->connection();

check('RateLimiter: attempts, the limit, clear', function () use ($limiter) {
    $told = [];
    for ($i = 0; $i < 5; $i++) {
        $told[] = $limiter->attempt('u', 3, fn () => 'done', WINDOW_S);
    }
    equal($told, ['done', 'done', 'done', false, false], 'attempts');
    $told[] = [$limiter->tooManyAttempts('u', 3), $limiter->remaining('u', 3), (int) $limiter->attempts('u'), about($limiter->availableIn('u')), keys('laravel:*')];
    $limiter->clear('u');
    return [...$told, $limiter->tooManyAttempts('u', 3), $limiter->remaining('u', 3)];
});

check('RateLimiter: hits, and the end of the window', function () use ($limiter) {
    $told = [$limiter->hit('w', WINDOW_S), $limiter->hit('w', WINDOW_S), $limiter->tooManyAttempts('w', 2)];
    end_keys('laravel:w', 'laravel:w:timer');
    return [...$told, $limiter->tooManyAttempts('w', 2), $limiter->hit('w', WINDOW_S), keys('laravel:w*')];
});

check('the cache: add, put, increment, forget, many', function () use ($store) {
    return [$store->add('n', 1, WINDOW_S), $store->add('n', 2, WINDOW_S), $store->increment('n'), $store->decrement('n', 5), $store->get('n'), $store->put('text', "b\x00\xff", WINDOW_S),
        bin2hex($store->get('text')), array_map('strval', array_filter($store->many(['n', 'none']))), $store->forever('always', 1), $store->forget('n'), $store->forget('n'), keys('laravel:*')];
});

check('throttle: so many in a duration', function () use ($redis) {
    $told = [];
    for ($i = 0; $i < 4; $i++) {
        try {
            $told[] = $redis->throttle('throttle')->allow(2)->every(WINDOW_S)->block(0)->then(fn () => 'done');
        } catch (LimiterTimeoutException) {
            $told[] = 'refused';
        }
    }
    equal($told, ['done', 'done', 'refused', 'refused'], 'calls');
    return [$told, keys('throttle*')];
});

check('DurationLimiter: remaining, tooManyAttempts, clear', function () use ($redis) {
    $limiter = new Illuminate\Redis\Limiters\DurationLimiter($redis, 'duration', 2, WINDOW_S);
    $told = [];
    for ($i = 0; $i < 3; $i++) {
        $told[] = [$limiter->tooManyAttempts(), $limiter->acquire(), $limiter->remaining, until($limiter->decaysAt)];
    }
    $told[] = $limiter->tooManyAttempts();
    $limiter->clear();
    return [...$told, $limiter->acquire()];
});

check('funnel: so many at once', function () use ($redis) {
    $told = [];
    $told[] = $redis->funnel('funnel')->limit(2)->releaseAfter(WINDOW_S)->block(0)->then(fn () => $redis->funnel('funnel')->limit(2)->releaseAfter(WINDOW_S)->block(0)->then(function () use ($redis) {
        try {
            return ['third', $redis->funnel('funnel')->limit(2)->releaseAfter(WINDOW_S)->block(0)->then(fn () => 'done')];
        } catch (LimiterTimeoutException) {
            return ['third refused', keys('funnel*')];
        }
    }));
    equal($told[0][0], 'third refused', 'the third');
    return [...$told, keys('funnel*')];
});

check('a lock of the cache: get, owner, release', function () use ($store) {
    $one = $store->lock('lock', WINDOW_S, 'one');
    $two = $store->lock('lock', WINDOW_S, 'two');
    return [$one->get(), $two->get(), $two->release(), $one->release(), $two->get(), keys('laravel:lock')];
});
