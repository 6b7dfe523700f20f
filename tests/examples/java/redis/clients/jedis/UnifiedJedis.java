package redis.clients.jedis;

import redis.clients.jedis.commands.ProtocolCommand;

/** The shape of what the example uses, so that the compiler can check the rest. */
public class UnifiedJedis {
    public Object sendCommand(ProtocolCommand command, String... arguments) {
        throw new UnsupportedOperationException();
    }
}
