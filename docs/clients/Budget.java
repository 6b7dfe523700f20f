import java.time.Duration;
import java.util.List;
import redis.clients.jedis.UnifiedJedis;
import redis.clients.jedis.commands.ProtocolCommand;

/** Books a slot, waits for it, and shares a provider's Retry-After, with Jedis. */
public final class Budget {
    private final UnifiedJedis jedis;
    private final String key;

    public Budget(UnifiedJedis jedis, String key) {
        this.jedis = jedis;
        this.key = key;
    }

    /** Waits for one of 80 permits a second; false if that would take more than 30 seconds. */
    public boolean slot(String id) throws InterruptedException {
        List<?> reply = (List<?>) call("RL.RESERVE", key, "80", "80", "30000", "TICKET", "ID", id);
        long waitMs = (Long) reply.get(0);
        String ticket = reply.get(1).toString();
        if (waitMs < 0) {
            return false;
        }
        while (waitMs > 0) {
            Thread.sleep(waitMs);
            // Somebody may have paused the key meanwhile: then there is a new slot to wait for.
            waitMs = (Long) call("RL.CONFIRM", key, ticket);
        }
        return true;
    }

    /** After a 429: nobody sends for as long as the provider says. */
    public void pause(Duration retryAfter) {
        call("RL.PAUSE", key, Long.toString(retryAfter.toMillis()));
    }

    private Object call(String command, String... arguments) {
        ProtocolCommand name = command::getBytes;
        return jedis.sendCommand(name, arguments);
    }
}
