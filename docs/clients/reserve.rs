//! Books a slot, waits for it, and shares a provider's Retry-After, with redis-rs over tokio.

use redis::{RedisResult, aio::ConnectionManager, cmd};
use std::time::Duration;

/// A provider's budget, shared by everybody who uses the same key.
pub struct Budget {
    redis: ConnectionManager,
    key: String,
}

impl Budget {
    pub async fn new(url: &str, key: &str) -> RedisResult<Self> {
        let redis = redis::Client::open(url)?.get_connection_manager().await?;
        let key = key.to_owned();
        Ok(Self { redis, key })
    }

    /// Waits for one of 80 permits a second; false if that would take more than 30 seconds.
    pub async fn slot(&self) -> RedisResult<bool> {
        let mut redis = self.redis.clone();
        let mut reserve = cmd("RL.RESERVE");
        reserve.arg(&self.key).arg(&[80, 80, 30_000]).arg("TICKET");
        let (mut wait_ms, ticket): (i64, u64) = reserve.query_async(&mut redis).await?;
        if wait_ms < 0 {
            return Ok(false);
        }
        while wait_ms > 0 {
            tokio::time::sleep(Duration::from_millis(wait_ms.unsigned_abs())).await;
            // Somebody may have paused the key meanwhile: then there is a new slot to wait for.
            let mut confirm = cmd("RL.CONFIRM");
            confirm.arg(&self.key).arg(ticket);
            wait_ms = confirm.query_async(&mut redis).await?;
        }
        Ok(true)
    }

    /// After a 429: nobody sends for as long as the provider says.
    pub async fn pause(&self, retry_after: Duration) -> RedisResult<()> {
        let ms = u64::try_from(retry_after.as_millis()).unwrap_or(u64::MAX);
        let mut redis = self.redis.clone();
        cmd("RL.PAUSE").arg(&self.key).arg(ms).exec_async(&mut redis).await
    }
}

#[tokio::main]
async fn main() -> RedisResult<()> {
    let url = std::env::args().nth(1).unwrap_or("redis://127.0.0.1:6379/".to_owned());
    let budget = Budget::new(&url, "rl:meta:123").await?;
    for message in 1..=3 {
        if budget.slot().await? {
            println!("send message {message}");
        }
    }
    budget.pause(Duration::from_millis(100)).await?;
    println!("{}", if budget.slot().await? { "send after the pause" } else { "too busy" });
    Ok(())
}
