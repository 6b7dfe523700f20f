package redis.clients.jedis.commands;

/** The shape of what the example uses, so that the compiler can check the rest. */
public interface ProtocolCommand {
    byte[] getRaw();
}
