//! Connecting, sending, comparing and reporting.

use std::cell::Cell;
use std::env;
use std::time::Duration;

use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::{Client, RedisError, RedisResult, Value, cmd, pipe};
use serde_json::{Value as Json, json};

/// What a check comes to: nothing, or what was wrong.
pub type Checked = Result<(), String>;

pub struct Suite {
    pub name: String,
    pub resp3: bool,
    pub failed: Cell<bool>,
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

    /// A client with everything left as it is but what the check is about.
    pub fn client(&self, port: &str, login: &str, database: &str) -> RedisResult<Client> {
        let protocol = if self.resp3 { "?protocol=resp3" } else { "" };
        Client::open(format!("redis://{login}{}:{port}/{database}{protocol}", setting("SUITE_HOST")))
    }

    pub async fn connect(&self, port: &str, login: &str, database: &str) -> RedisResult<MultiplexedConnection> {
        self.client(port, login, database)?.get_multiplexed_async_connection().await
    }
}

pub fn setting(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("{name} is not set; start this through tests/clients/run"))
}

/// One command as it stands; its reply, or its error, as JSON.
pub async fn call(connection: &mut impl ConnectionLike, words: &[&str]) -> Json {
    let mut command = cmd(words[0]);
    for word in &words[1..] {
        command.arg(word);
    }
    reply(command.query_async(connection).await)
}

/// Many commands in one write; atomic: between MULTI and EXEC.
pub async fn batch(connection: &mut impl ConnectionLike, commands: &[&[&str]], atomic: bool) -> Result<Vec<Json>, String> {
    let mut pipeline = pipe();
    if atomic {
        pipeline.atomic();
    }
    for words in commands {
        pipeline.cmd(words[0]);
        for word in &words[1..] {
            pipeline.arg(word);
        }
    }
    pipeline.ignore_errors();
    let replies: Vec<RedisResult<Value>> = pipeline.query_async(connection).await.map_err(|error| wire_text(&error))?;
    Ok(replies.into_iter().map(reply).collect())
}

/// `{"map": ..}` for a RESP3 map and `{"error": ..}` for an error, so that neither can be taken for something else.
fn reply(result: RedisResult<Value>) -> Json {
    match result {
        Err(error) => json!({ "error": wire_text(&error) }),
        Ok(Value::Nil) => Json::Null,
        Ok(Value::Int(number)) => number.into(),
        Ok(Value::BulkString(bytes)) => String::from_utf8_lossy(&bytes).into(),
        Ok(Value::SimpleString(text) | Value::VerbatimString { text, .. }) => text.into(),
        Ok(Value::Okay) => "OK".into(),
        Ok(Value::Array(items)) => items.into_iter().map(|item| reply(Ok(item))).collect(),
        Ok(Value::Map(pairs)) => {
            let name = |name| reply(Ok(name)).as_str().unwrap_or("not a text").to_owned();
            let fields: serde_json::Map<_, _> = pairs.into_iter().map(|(field, value)| (name(field), reply(Ok(value)))).collect();
            json!({ "map": fields })
        }
        Ok(Value::ServerError(error)) => json!({ "error": wire_text(&error.into()) }),
        Ok(other) => json!({ "unexpected": format!("{other:?}") }),
    }
}

/// The error as the server sent it: redis-rs keeps the code and the rest apart.
pub fn wire_text(error: &RedisError) -> String {
    match (error.code(), error.detail()) {
        (Some(code), Some(rest)) => format!("{code} {rest}"),
        _ => error.to_string(),
    }
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
