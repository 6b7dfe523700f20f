"""A TCP proxy that breaks connections at the worst moment: after a request has been done, before its reply has arrived.

proxy.py PORT    stands before 127.0.0.1:PORT and prints its own port

A request that names a key with `:cut` in it is passed on, its reply is awaited and thrown away, and the connection is
closed. That happens once a key: sent again, on the new connection, the same request gets its reply.
"""
import asyncio
import re
import sys

CHUNK_BYTES = 65536
MARKED = re.compile(rb"[^\s]*:cut[^\s]*")
seen = set()


async def pass_back(server, client):
    while chunk := await server.read(CHUNK_BYTES):
        client.write(chunk)
        await client.drain()


async def serve(upstream, from_client, to_client):
    from_server, to_server = await asyncio.open_connection("127.0.0.1", upstream)
    back = asyncio.create_task(pass_back(from_server, to_client))
    try:
        while chunk := await from_client.read(CHUNK_BYTES):
            fresh = set(MARKED.findall(chunk)) - seen
            if fresh:
                back.cancel()
                await asyncio.wait([back])
            to_server.write(chunk)
            await to_server.drain()
            if fresh:
                seen.update(fresh)
                await from_server.read(CHUNK_BYTES)
                break
    except ConnectionError:
        pass                                                # the client or the server went first
    finally:
        back.cancel()
        to_server.close()
        to_client.close()


async def main():
    upstream = int(sys.argv[1])
    server = await asyncio.start_server(lambda *streams: serve(upstream, *streams), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(main())
