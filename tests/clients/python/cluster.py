"""redis-py and valkey-py in cluster mode against a server with --cluster-announce, a cluster of one. Argument: redis or valkey."""
import importlib
import sys

from suite import CLUSTER_PORT, HOST, Suite, begins, equal

library = importlib.import_module(sys.argv[1])
cluster_class = getattr(importlib.import_module(f"{sys.argv[1]}.cluster"), "RedisCluster" if sys.argv[1] == "redis" else "ValkeyCluster")
suite = Suite(f"{sys.argv[1]}-py {library.__version__.split('.')[0]} in cluster mode", False)
keys = [f"cluster:{suite.prefix}{at}" for at in range(100)]
cluster = None


def connects():
    """connects, PING, READONLY"""
    global cluster
    cluster = cluster_class(host=HOST, port=CLUSTER_PORT)
    equal(cluster.ping(), True, "ping")
    equal(cluster.readonly(), True, "readonly")


def knows_the_node():
    """it knows the one node by what is announced"""
    equal([(node.host, node.port) for node in cluster.get_primaries()], [(HOST, CLUSTER_PORT)], "nodes")


def calls():
    """calls on 100 keys in many slots"""
    equal([cluster.execute_command("RL.RESERVE", key, 1, "1/h", 0) for key in keys], [0] * 100, "first")
    equal([cluster.execute_command("RL.RESERVE", key, 1, "1/h", 0) for key in keys], [-1] * 100, "second")


def pipelines():
    """a pipeline over slots"""
    pipeline = cluster.pipeline()
    for key in keys:
        pipeline.execute_command("RL.PEEK", key, 1, "1/h")
    equal([reply[:3] for reply in pipeline.execute()], [[1, 1, 0]] * 100, "peeks")


def rules():
    """several rules, in one slot and in two"""
    a, b = (f"{{{suite.prefix}}}{name}" for name in "ab")
    equal(cluster.execute_command("RL.TAKE", a, 5, "1/h", "AND", b, 3, "1/h")[2], 2, "remaining")
    try:
        refused = cluster.execute_command("RL.TAKE", keys[0], 5, "1/h", "AND", keys[1], 3, "1/h", target_nodes=cluster.get_primaries()[0])
    except Exception as error:
        refused = error
    begins(refused, "Keys in request don't hash to the same slot", "two slots")


for body in (connects, knows_the_node, calls, pipelines, rules):
    try:
        body()
        suite.report(body.__doc__, None)
    except Exception as error:
        suite.report(body.__doc__, error)
        if body is connects:
            break                                           # no other can pass
sys.exit(1 if suite.failed else 0)
