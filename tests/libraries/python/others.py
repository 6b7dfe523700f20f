"""pyrate-limiter, throttled-py (fixed window) and fastapi-limiter 0.1."""
import asyncio
import datetime

import fastapi
import fastapi_limiter
import httpx
import redis
import redis.asyncio
from fastapi_limiter.depends import RateLimiter
from pyrate_limiter import Duration, Limiter, Rate, RedisBucket
from throttled import RateLimiterType, Throttled, rate_limiter, store, utils

from suite import PORT, URL, WINDOW_S, about, admin, check, end, equal, keys, run


@check("pyrate-limiter: two rates")
def _():
    bucket = RedisBucket.init([Rate(3, Duration.HOUR), Rate(4, Duration.DAY)], redis.Redis(port=PORT), "pyrate")
    with Limiter(bucket) as limiter:
        told = [limiter.try_acquire("u", blocking=False) for _ in range(5)]
        equal(told, [True, True, True, False, False], "acquired")
        told += [bucket.count(), str(bucket.failing_rate), limiter.try_acquire("u", weight=2, blocking=False)]
        item = bucket.peek(0)
        bucket.leak(bucket.now())
        told += [type(item.name).__name__, bucket.peek(9), bucket.count()]
        bucket.flush()
        told += [bucket.count(), limiter.try_acquire("u", weight=3, blocking=False), limiter.try_acquire("u", blocking=False)]
    return [told, keys("pyrate")]


@check("throttled-py: fixed window")
def _():
    utils.now_sec = lambda: 1_700_000_123                # windows are cut by the clock: none ends during the suite
    throttle = Throttled(key="throttled", using=RateLimiterType.FIXED_WINDOW.value, quota=rate_limiter.per_duration(
        datetime.timedelta(seconds=WINDOW_S), limit=3), store=store.RedisStore(server=f"{URL}/0"))

    def seen(result):
        return [result.limited, result.state.limit, result.state.remaining, result.state.reset_after, result.state.retry_after]
    told = [seen(throttle.limit()) for _ in range(2)] + [seen(throttle.limit(cost=1)), seen(throttle.limit()), seen(throttle.limit("other", cost=3))]
    equal([each[0] for each in told], [False, False, False, True, False], "limited")
    state = throttle.peek("throttled")
    return [told, state.remaining, keys("throttled")]


@check("fastapi-limiter: limit, 429 with Retry-After, the end of the window")
def _():
    async def play():
        async def client_name(request):
            return "client"
        await fastapi_limiter.FastAPILimiter.init(redis.asyncio.Redis(port=PORT), prefix="fastapi", identifier=client_name)
        app = fastapi.FastAPI()

        @app.get("/", dependencies=[fastapi.Depends(RateLimiter(times=2, seconds=WINDOW_S))])
        async def view():
            return "yes"

        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://suite") as client:
            async def get():
                response = await client.get("/")
                return [response.status_code, about(int(response.headers.get("retry-after", 0)))]
            told = [await get() for _ in range(4)]
            [[key, _]] = keys("fastapi")
            end(key)
            admin.set(key, "0")
            told += [await get(), await get(), keys("fastapi")]
        equal([each[0] for each in told[:4]], [200, 200, 429, 429], "status")
        await fastapi_limiter.FastAPILimiter.close()
        return told
    return asyncio.run(play())


run()
