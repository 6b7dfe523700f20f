//! Connecting, comparing and reporting, for all clients alike.

use std::cell::Cell;
use std::env;
use std::time::Duration;

use serde_json::{Value as Json, json};

use crate::{fred_client, redis_rs};

/// What a check comes to: nothing, or what was wrong.
pub type Checked = Result<(), String>;

/// The clients, and the kinds of connection that they have.
#[derive(Clone, Copy, PartialEq)]
pub enum Client {
    RedisRsSync,
    RedisRsMultiplexed,
    RedisRsManager,
    Fred,
}

pub struct Suite {
    pub client: Client,
    pub name: String,
    pub resp3: bool,
    pub failed: Cell<bool>,
}

/// What a connection begins with; what is None is left as the client has it.
#[derive(Clone, Copy, Default)]
pub struct Options<'a> {
    pub user: Option<&'a str>,
    pub password: Option<&'a str>,
    pub database: Option<u8>,
    pub name: Option<&'a str>,
}

impl Suite {
    /// Runs one check, bounded in time, and prints its line.
    pub async fn check(&self, title: &str, body: impl Future<Output = Checked>) {
        let bounded = tokio::time::timeout(Duration::from_secs(20), body).await;
        match bounded.unwrap_or_else(|_| Err("no answer within 20 s".to_owned())) {
            Ok(()) => println!("ok   {}: {title}", self.name),
            Err(why) => {
                self.failed.set(true);
                println!("FAIL {}: {title}: {why}", self.name);
            }
        }
    }

    pub fn key(&self, name: &str) -> String {
        format!("{}:{name}", self.name.replace(' ', "-"))
    }

    /// A connection to the server at the port of the setting `SUITE_.._PORT`, or the client's error.
    pub async fn connect(&self, port: &str, options: Options<'_>) -> Result<Connection, String> {
        let port = setting(port).parse().map_err(|_| format!("{port} is not a port"))?;
        let mut connection = match self.client {
            Client::Fred => Connection::Fred(fred_client::open(port, self.resp3, options).await?),
            other => Connection::RedisRs(redis_rs::Connection::open(other, port, self.resp3, options).await?),
        };
        // Neither has a name among its options.
        if let Some(name) = options.name {
            equal(&connection.call(&["CLIENT", "SETNAME", name]).await, json!("OK"), "CLIENT SETNAME")?;
        }
        Ok(connection)
    }

    /// Subscribes on a connection of its own, lets `publisher` send the command, and gives the payload that came.
    pub async fn hear(&self, channel: &str, publisher: &mut Connection, command: &[&str]) -> Result<String, String> {
        let port = setting("SUITE_PORT").parse().map_err(|_| "SUITE_PORT is not a port")?;
        match self.client {
            Client::Fred => fred_client::hear(port, self.resp3, channel, publisher, command).await,
            other => redis_rs::hear(other, port, self.resp3, channel, publisher, command).await,
        }
    }
}

/// A connection of any of the clients.
pub enum Connection {
    RedisRs(redis_rs::Connection),
    Fred(fred::clients::Client),
}

impl Connection {
    /// One command as it stands; its reply, or its error, as JSON.
    pub async fn call(&mut self, words: &[&str]) -> Json {
        match self {
            Self::RedisRs(connection) => connection.call(words).await,
            Self::Fred(client) => fred_client::call(client, words).await,
        }
    }

    /// Many commands in one write; atomic: between MULTI and EXEC.
    pub async fn batch(&mut self, commands: &[&[&str]], atomic: bool) -> Result<Vec<Json>, String> {
        match self {
            Self::RedisRs(connection) => connection.batch(commands, atomic).await,
            Self::Fred(client) => fred_client::batch(client, commands, atomic).await,
        }
    }

    /// Another handle on the same connection, if the client has such a thing.
    pub fn shared(&self) -> Option<Self> {
        match self {
            Self::RedisRs(connection) => connection.shared().map(Self::RedisRs),
            Self::Fred(client) => Some(Self::Fred(client.clone())),
        }
    }
}

pub fn setting(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("{name} is not set; start this through tests/clients/run"))
}

pub fn equal(got: &Json, want: Json, what: &str) -> Checked {
    if *got == want {
        Ok(())
    } else {
        Err(format!("{what}: expected {want}, got {got}"))
    }
}

pub fn between(got: &Json, low: i64, high: i64, what: &str) -> Checked {
    match got.as_i64() {
        Some(number) if (low..=high).contains(&number) => Ok(()),
        _ => Err(format!("{what}: expected {low}..{high}, got {got}")),
    }
}

pub fn begins(got: &Json, beginning: &str, what: &str) -> Checked {
    match got["error"].as_str() {
        Some(text) if text.starts_with(beginning) => Ok(()),
        _ => Err(format!("{what}: expected an error that begins with {beginning}, got {got}")),
    }
}

/// CLIENT INFO, the server's own word, of who logged in as `default` and chose database 3.
pub fn identity(info: &Json) -> Checked {
    let fields: Vec<&str> = info.as_str().unwrap_or_default().split_whitespace().collect();
    match ["user=default", "db=3"].iter().find(|field| !fields.contains(field)) {
        None => Ok(()),
        Some(field) => Err(format!("CLIENT INFO has no {field}: {info}")),
    }
}
