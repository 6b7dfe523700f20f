"""limits and Flask-Limiter. Argument: fixed-window, moving-window or sliding-window-counter."""
import sys

import flask
import limits
from flask_limiter import Limiter
from limits import strategies
from limits.storage import storage_from_string

from suite import URL, about, admin, check, end, equal, keys, run, until

STRATEGY = sys.argv[1]
storage = storage_from_string(URL)
limiter = strategies.STRATEGIES[STRATEGY](storage)
sliding = STRATEGY.startswith("sliding")


def stats(item, *names):
    if sliding:                                  # the time to the next free hit is not to be at its edge
        for key, ttl in keys("LIMITS"):
            if f"/{names[0]}/" in key and ttl["about_ms"] > 0:
                admin.pexpire(key, ttl["about_ms"] - 50_000)
    told = limiter.get_window_stats(item, *names)
    return {"remaining": told.remaining, "reset": until(told.reset_time)}


@check("hits until the limit")
def _():
    item = limits.parse("3 per 10 minutes")
    told = [limiter.hit(item, "hit", "u") for _ in range(5)]
    equal(told, [True, True, True, False, False], "hits")
    return [told, stats(item, "hit", "u"), keys("LIMITS")]


@check("test asks without hitting")
def _():
    item = limits.parse("2 per 10 minutes")
    return [limiter.test(item, "test"), limiter.hit(item, "test"), limiter.test(item, "test"), limiter.hit(item, "test"), limiter.test(item, "test"), stats(item, "test")]


@check("costs more than 1, and more than the limit")
def _():
    item = limits.parse("5 per hour")
    told = [limiter.hit(item, "cost", cost=3), limiter.hit(item, "cost", cost=3), limiter.hit(item, "cost", cost=2), limiter.hit(item, "cost", cost=6)]
    return [told, limiter.test(item, "cost", cost=1), stats(item, "cost")]


@check("clear")
def _():
    item = limits.parse("1 per hour")
    told = [limiter.hit(item, "clear"), limiter.hit(item, "clear")]
    limiter.clear(item, "clear")
    told.append(limiter.hit(item, "clear"))
    equal(told, [True, False, True], "hits")
    return [told, stats(item, "clear")]


@check("two limits on one caller")
def _():
    items = limits.parse_many("2/minute; 3/hour")
    return [[limiter.hit(item, "two") for item in items] for _ in range(3)]


@check("stats of what was never hit")
def _():
    return stats(limits.parse("3 per hour"), "never")


@check("the end of the window")
def _():
    item = limits.parse("2 per hour")
    told = [limiter.hit(item, "end") for _ in range(3)]
    end(*(key for key, _ in keys("LIMITS") if "/end/" in key))
    return [told, limiter.hit(item, "end"), stats(item, "end")]


if sliding:
    @check("the window before weighs by what is left of it")
    def _():
        item = limits.parse("10 per hour")
        told = [limiter.hit(item, "slide", cost=8)]
        [[key, _]] = [each for each in keys("LIMITS") if "/slide/" in each[0]]
        admin.pexpire(key, 2_000_000)            # well into the second window: 8 weigh 4.4, taken as 4
        told += [limiter.hit(item, "slide", cost=7), limiter.hit(item, "slide", cost=6), limiter.hit(item, "slide")]
        equal(told, [True, False, True, False], "hits")
        return [told, stats(item, "slide"), [each for each in keys("LIMITS") if "/slide/" in each[0]]]


@check("reset of the whole storage")
def _():
    count = len(keys("LIMITS"))
    told = storage.reset()
    equal([told, keys("LIMITS")], [count, []], "after reset")
    return told


@check("an application with Flask-Limiter")
def _():
    app = flask.Flask("suite")
    app.config["RATELIMIT_HEADERS_ENABLED"] = True
    flask_limiter = Limiter(lambda: "client", app=app, storage_uri=URL, strategy=STRATEGY, default_limits=["5 per hour"])

    @app.route("/")
    def usual():
        return "yes"

    @app.route("/few")
    @flask_limiter.limit("2 per hour")
    def few():
        return "yes"

    @app.route("/exempt")
    @flask_limiter.exempt
    def exempt():
        return "yes"
    client = app.test_client()

    def get(path):
        response = client.get(path)
        left, reset = response.headers.get("X-RateLimit-Remaining"), response.headers.get("X-RateLimit-Reset")
        if sliding:                              # says the time to the next free hit, which is at its edge
            return [response.status_code, left]
        return [response.status_code, left, reset and until(int(reset)), about(int(response.headers.get("Retry-After", 0)))]
    told = [get("/few") for _ in range(3)] + [get("/") for _ in range(6)] + [get("/exempt")]
    equal([each[0] for each in told], [200, 200, 429] + [200] * 5 + [429, 200], "status")
    return told


run()
