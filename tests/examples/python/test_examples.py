"""Runs the Python examples of docs/clients against a server, with a provider that is made up."""

import asyncio
import os
import time
import unittest

import redis
import redis.asyncio
from fastapi import FastAPI
from fastapi.testclient import TestClient

import asyncio_worker
import llm_tokens
from fastapi_middleware import RateLimit

PORT = int(os.environ["TOLLGATE_PORT"])


class Workers(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        self.client = redis.asyncio.Redis(port=PORT)

    async def asyncTearDown(self):
        await self.client.aclose()

    async def test_a_refused_send_stops_everybody_and_is_sent_again(self):
        sent, refusals = [], []

        async def send(recipient, text):
            if not refusals:
                refusals.append(time.monotonic())
                raise asyncio_worker.TooManyRequests(300)
            sent.append((recipient, text, time.monotonic()))

        messages = asyncio.Queue()
        for number in range(3):
            messages.put_nowait((f"recipient-{number}", "hello"))
        worker = asyncio.create_task(asyncio_worker.worker(self.client, "123", messages, send))
        # The message that was refused waits for its recipient's next turn, so do not wait for it.
        while len(sent) < 2:
            await asyncio.sleep(0)
        worker.cancel()
        self.assertTrue(all(at - refusals[0] >= 0.29 for _, _, at in sent))
        self.assertEqual({recipient for recipient, _, _ in sent}, {"recipient-1", "recipient-2"})

    async def test_a_backlog_that_is_too_long_is_told(self):
        await asyncio_worker.slot(self.client, "124", "bob")
        with self.assertRaises(asyncio_worker.TooBusy):
            await asyncio_worker.slot(self.client, "124", "bob", max_wait_ms=1000)


class Middleware(unittest.TestCase):
    def test_it_tells_its_limit_and_refuses_beyond_it(self):
        app = FastAPI()
        client = redis.asyncio.Redis(port=PORT)
        app.add_middleware(RateLimit, client=client, name="api", capacity=2, rate="2/m")

        @app.get("/")
        async def serve():
            return "served"

        with TestClient(app) as http:
            responses = [http.get("/") for _ in range(3)]
        self.assertEqual([response.status_code for response in responses], [200, 200, 429])
        self.assertEqual(responses[0].headers["ratelimit-policy"], '"api";q=2')
        self.assertEqual(responses[0].headers["ratelimit"], '"api";r=1;t=30')
        self.assertIn(responses[2].headers["retry-after"], ("29", "30"))


class Tokens(unittest.TestCase):
    def setUp(self):
        self.client = redis.Redis(port=PORT)
        llm_tokens.setup(self.client, 500, 1000)

    def used(self, account):
        usage = self.client.execute_command("RL.USAGE", f"llm:{account}")
        fields = lambda each: {name.decode(): value for name, value in each.items()}
        return [fields(rule)["used"] for rule in fields(usage)["rules"]]

    def test_the_bill_settles_the_estimate(self):
        answer = llm_tokens.complete(self.client, "a", 800, lambda: ("hello", 300))
        self.assertEqual(answer, "hello")
        calls, tokens = self.used("a")
        self.assertEqual(calls, 1)
        # 60,000 ms refill 1000 tokens: a few have come back since.
        self.assertTrue(290 <= tokens <= 300, tokens)

    def test_a_failed_call_gives_everything_back(self):
        def fail():
            raise OSError("no answer")

        with self.assertRaises(OSError):
            llm_tokens.complete(self.client, "b", 800, fail)
        self.assertIsNone(self.client.execute_command("RL.USAGE", "llm:b"))

    def test_what_does_not_fit_waits_or_is_told(self):
        llm_tokens.complete(self.client, "c", 1000, lambda: ("first", 1000))
        slept = []
        with self.assertRaises(llm_tokens.TooBusy):
            llm_tokens.complete(self.client, "c", 500, lambda: ("", 0), max_wait_ms=1000, sleep=slept.append)
        self.assertEqual(slept, [])


if __name__ == "__main__":
    unittest.main()
