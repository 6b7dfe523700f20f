//! redis-rs: the blocking connection, the multiplexed one over tokio, and the ConnectionManager around that.

use std::time::Duration;

use futures_util::StreamExt;
use redis::aio::{ConnectionLike, ConnectionManager, ConnectionManagerConfig, MultiplexedConnection};
use redis::{AsyncConnectionConfig, ErrorKind, IntoConnectionInfo, Pipeline, ProtocolVersion, PushInfo, PushKind, RedisError, RedisResult, Value, cmd, pipe};
use serde_json::{Value as Json, json};
use tokio::sync::mpsc::unbounded_channel;

use crate::suite::{self, Client, Options, setting};

/// By default an answer must come within half a second, which a busy machine may not keep.
const PATIENCE: Option<Duration> = Some(Duration::from_secs(10));

pub enum Connection {
    Sync(redis::Connection),
    Multiplexed(MultiplexedConnection),
    Manager(ConnectionManager),
}

impl Connection {
    pub async fn open(kind: Client, port: u16, resp3: bool, options: Options<'_>) -> Result<Self, String> {
        let client = client(port, resp3, options);
        let opened = match kind {
            Client::RedisRsSync => client.get_connection().map(Self::Sync),
            Client::RedisRsManager => {
                // By default a refused login is tried again six times, ever slower.
                let config = ConnectionManagerConfig::new().set_number_of_retries(1);
                let config = config.set_connection_timeout(PATIENCE).set_response_timeout(PATIENCE);
                client.get_connection_manager_with_config(config).await.map(Self::Manager)
            }
            _ => {
                let config = AsyncConnectionConfig::new();
                let config = config.set_connection_timeout(PATIENCE).set_response_timeout(PATIENCE);
                client.get_multiplexed_async_connection_with_config(&config).await.map(Self::Multiplexed)
            }
        };
        opened.map_err(|error| wire_text(&error))
    }

    pub async fn call(&mut self, words: &[&str]) -> Json {
        let mut command = cmd(words[0]);
        command.arg(&words[1..]);
        reply(match self {
            Self::Sync(connection) => command.query(connection),
            Self::Multiplexed(connection) => command.query_async(connection).await,
            Self::Manager(connection) => command.query_async(connection).await,
        })
    }

    pub async fn batch(&mut self, commands: &[&[&str]], atomic: bool) -> Result<Vec<Json>, String> {
        let mut pipeline = pipe();
        if atomic {
            pipeline.atomic();
        }
        for words in commands {
            pipeline.cmd(words[0]).arg(&words[1..]);
        }
        pipeline.ignore_errors();
        let replies: RedisResult<Vec<RedisResult<Value>>> = match self {
            Self::Sync(connection) => pipeline.query(connection),
            Self::Multiplexed(connection) => query(&pipeline, connection).await,
            Self::Manager(connection) => query(&pipeline, connection).await,
        };
        Ok(replies.map_err(|error| wire_text(&error))?.into_iter().map(reply).collect())
    }

    pub fn shared(&self) -> Option<Self> {
        match self {
            Self::Sync(_) => None,
            Self::Multiplexed(connection) => Some(Self::Multiplexed(connection.clone())),
            Self::Manager(connection) => Some(Self::Manager(connection.clone())),
        }
    }
}

async fn query(pipeline: &Pipeline, connection: &mut impl ConnectionLike) -> RedisResult<Vec<RedisResult<Value>>> {
    pipeline.query_async(connection).await
}

/// A client that connects as the options say.
fn client(port: u16, resp3: bool, options: Options<'_>) -> redis::Client {
    let address = (setting("SUITE_HOST"), port).into_connection_info().expect("an address");
    let mut login = address.redis_settings().clone();
    if resp3 {
        login = login.set_protocol(ProtocolVersion::RESP3);
    }
    if let Some(user) = options.user {
        login = login.set_username(user);
    }
    if let Some(password) = options.password {
        login = login.set_password(password);
    }
    if let Some(database) = options.database {
        login = login.set_db(database.into());
    }
    redis::Client::open(address.set_redis_settings(login)).expect("a client connects when it is asked to")
}

/// With RESP3 what is pushed comes on the connection itself; with RESP2 a connection for it alone is needed.
pub async fn hear(kind: Client, port: u16, resp3: bool, channel: &str, publisher: &mut suite::Connection, command: &[&str]) -> Result<String, String> {
    let client = client(port, resp3, Options::default());
    let heard: RedisResult<String> = async {
        if kind == Client::RedisRsSync {
            let mut connection = client.get_connection()?;
            let mut subscription = connection.as_pubsub();
            subscription.subscribe(channel)?;
            publisher.call(command).await;
            let payload = subscription.get_message()?.get_payload()?;
            subscription.unsubscribe(channel)?;
            return Ok(payload);
        }
        if !resp3 {
            let mut subscription = client.get_async_pubsub().await?;
            subscription.subscribe(channel).await?;
            publisher.call(command).await;
            let message = subscription.on_message().next().await;
            subscription.unsubscribe(channel).await?;
            return message.map_or(Ok(String::new()), |message| message.get_payload());
        }
        let (sender, mut pushes) = unbounded_channel::<PushInfo>();
        let config = AsyncConnectionConfig::new().set_push_sender(sender);
        let mut connection = client.get_multiplexed_async_connection_with_config(&config).await?;
        connection.subscribe(channel).await?;
        publisher.call(command).await;
        let mut payload = String::new();
        while let Some(push) = pushes.recv().await {
            if push.kind == PushKind::Message {
                payload = redis::from_redis_value(push.data[1].clone())?;
                break;
            }
        }
        connection.unsubscribe(channel).await?;
        Ok(payload)
    }
    .await;
    heard.map_err(|error| wire_text(&error))
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

/// The error as the server sent it: redis-rs keeps the code and the rest apart, and has its own words for a refused AUTH.
fn wire_text(error: &RedisError) -> String {
    match (error.code(), error.detail()) {
        (Some(code), Some(rest)) => format!("{code} {rest}"),
        _ if error.kind() == ErrorKind::AuthenticationFailed => format!("WRONGPASS, told as: {error}"),
        _ => error.to_string(),
    }
}
