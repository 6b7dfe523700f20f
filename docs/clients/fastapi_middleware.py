"""FastAPI (or any ASGI) middleware that limits by RL.TAKE and says so in the RateLimit fields of the IETF draft
(draft-ietf-httpapi-ratelimit-headers)."""

import math

import redis.asyncio
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.requests import Request
from starlette.responses import JSONResponse, Response


class RateLimit(BaseHTTPMiddleware):
    def __init__(self, app, client: redis.asyncio.Redis, name: str = "default", capacity: int = 100, rate: str = "100/m"):
        super().__init__(app)
        self.client, self.name, self.capacity, self.rate = client, name, capacity, rate

    async def dispatch(self, request: Request, call_next: RequestResponseEndpoint) -> Response:
        who = request.client.host if request.client else "unknown"
        limited, quota, remaining, retry_after_ms, reset_after_ms = await self.client.execute_command(
            "RL.TAKE", f"http:{self.name}:{who}", self.capacity, self.rate
        )
        if limited:
            response: Response = JSONResponse({"error": "too many requests"}, status_code=429)
            if retry_after_ms > 0:
                response.headers["Retry-After"] = str(math.ceil(retry_after_ms / 1000))
        else:
            response = await call_next(request)
        # r: permits left; t: seconds until all are there again.
        response.headers["RateLimit-Policy"] = f'"{self.name}";q={quota}'
        response.headers["RateLimit"] = f'"{self.name}";r={remaining};t={math.ceil(reset_after_ms / 1000)}'
        return response
