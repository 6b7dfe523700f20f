"""Django: django-ratelimit, the throttles of Django REST framework, and django-redis. Argument: django or django-redis, the cache."""
import sys
import types

import django
from django.conf import settings

from suite import URL, WINDOW_S, about, admin, check, end, equal, keys, run

BACKENDS = {"django": "django.core.cache.backends.redis.RedisCache", "django-redis": "django_redis.cache.RedisCache"}
settings.configure(
    CACHES={"default": {"BACKEND": BACKENDS[sys.argv[1]], "LOCATION": f"{URL}/0"}}, SECRET_KEY="suite", ALLOWED_HOSTS=["*"], USE_TZ=True,
    INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "rest_framework"], REST_FRAMEWORK={"DEFAULT_THROTTLE_RATES": {"anon": "3/hour", "scope": "2/hour"}})
django.setup()

from django.contrib.auth.models import AnonymousUser  # noqa: E402
from django.core.cache import cache  # noqa: E402
from django.http import HttpResponse  # noqa: E402
from django.test import RequestFactory  # noqa: E402
from django_ratelimit import core  # noqa: E402
from django_ratelimit.decorators import ratelimit  # noqa: E402
from django_ratelimit.exceptions import Ratelimited  # noqa: E402
from rest_framework.throttling import AnonRateThrottle, ScopedRateThrottle  # noqa: E402

NOW = 1_700_000_123.0
core.time = types.SimpleNamespace(time=lambda: NOW)        # windows are cut by the clock: none ends during the suite


def request(**headers):
    made = RequestFactory().get("/", **headers)
    made.user = AnonymousUser()
    return made


@check("django-ratelimit: blocks past the rate")
def _():
    @ratelimit(key="ip", rate="3/h", block=True)
    def view(request):
        return HttpResponse("yes")

    def status():
        try:
            return view(request()).status_code
        except Ratelimited:
            return 403
    told = [status() for _ in range(5)]
    equal(told, [200, 200, 200, 403, 403], "status")
    return [told, [[key.rpartition(":")[0], ttl] for key, ttl in keys(":1:rl")]]


@check("django-ratelimit: usage without counting, and of another group")
def _():
    def usage(increment, group="group"):
        told = core.get_usage(request(), group=group, key="ip", rate="2/h", increment=increment)
        return {name: told[name] for name in ("count", "limit", "should_limit")}
    return [usage(False), usage(True), usage(True), usage(True), usage(False), usage(True, "other")]


@check("DRF throttle: a request past the rate waits")
def _():
    clock = [NOW]

    def allowed():
        throttle = AnonRateThrottle()
        throttle.timer = lambda: clock[0]
        return [throttle.allow_request(request(), None), throttle.wait()]
    told = [allowed() for _ in range(4)]
    clock[0] += 1200
    told.append(allowed())
    clock[0] += 2500
    told.append(allowed())
    equal([each[0] for each in told], [True, True, True, False, False, True], "allowed")
    return [told, keys(":1:throttle")]


@check("DRF throttle: by scope")
def _():
    view = types.SimpleNamespace(throttle_scope="scope")

    def allowed():
        throttle = ScopedRateThrottle()
        throttle.timer = lambda: NOW
        return throttle.allow_request(request(REMOTE_ADDR="10.0.0.9"), view)
    return [allowed() for _ in range(3)]


@check("the cache: add, incr, decr, touch, get_many, delete, binary values")
def _():
    told = [cache.add("n", 1, WINDOW_S), cache.add("n", 5, WINDOW_S), cache.incr("n"), cache.incr("n", 10), cache.decr("n", 2), cache.get("n")]
    told += [cache.set("bytes", b"\x00\xff\r\n", WINDOW_S), cache.get("bytes").hex(), cache.get("none", "default"), cache.touch("n", 2 * WINDOW_S), cache.touch("none")]
    told += [cache.get_many(["n", "none"]), cache.has_key("n"), keys(":1:n"), cache.delete("n"), cache.delete("n")]
    cache.set("forever", [1, 2], None)
    told += [cache.get("forever"), keys(":1:forever")]
    try:
        cache.incr("missing")
    except ValueError as error:
        told.append(str(error))
    return told


if sys.argv[1] == "django-redis":
    @check("django-redis: ttl, persist, expire, keys, lock-free incr of what has ended")
    def _():
        cache.set("t", 7, WINDOW_S)
        told = [about(cache.ttl("t")), cache.persist("t"), cache.ttl("t"), cache.expire("t", WINDOW_S), about(cache.pttl("t") / 1000), sorted(cache.keys("t*")), cache.ttl("none")]
        end(":1:t")
        try:
            told.append(cache.incr("t"))
        except ValueError as error:
            told.append(str(error))
        return [*told, cache.incr("t", ignore_key_check=True), admin.exists(":1:t"), cache.delete_pattern("t*")]


run()
