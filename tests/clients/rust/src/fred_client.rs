//! fred.

use std::time::Duration;

use fred::clients::Client;
use fred::prelude::*;
use fred::types::{ClusterHash, CustomCommand, RespVersion};
use serde_json::{Value as Json, json};
use tokio::time::timeout;

use crate::suite::{self, Options, setting};

/// Reconnects a hundred times, each after 20 ms; whether fred does so at all is the caller's choice.
fn reconnects() -> ReconnectPolicy {
    ReconnectPolicy::new_constant(100, 20)
}

/// A client that has connected, with everything else left as it is.
pub async fn open(port: u16, resp3: bool, options: Options<'_>) -> Result<Client, String> {
    let config = Config {
        server: ServerConfig::new_centralized(setting("SUITE_HOST"), port),
        version: if resp3 { RespVersion::RESP3 } else { RespVersion::RESP2 },
        username: options.user.map(str::to_owned),
        password: options.password.map(str::to_owned),
        database: options.database,
        ..Config::default()
    };
    let client = Builder::from_config(config)
        .set_policy(reconnects())
        .build()
        .map_err(|error| error.to_string())?;
    client.init().await.map_err(|error| error.details().to_owned())?;
    Ok(client)
}

fn command(words: &[&str]) -> (CustomCommand, Vec<String>) {
    let rest = words[1..].iter().map(|&word| word.to_owned()).collect();
    (CustomCommand::new(words[0], ClusterHash::FirstKey, false), rest)
}

pub async fn call(client: &Client, words: &[&str]) -> Json {
    let (name, rest) = command(words);
    reply(client.custom(name, rest).await)
}

pub async fn batch(client: &Client, commands: &[&[&str]], atomic: bool) -> Result<Vec<Json>, String> {
    let text = |error: Error| error.details().to_owned();
    if atomic {
        let transaction = client.multi();
        for words in commands {
            let (name, rest) = command(words);
            let _queued: Value = transaction.custom(name, rest).await.map_err(text)?;
        }
        let replies: Vec<Value> = transaction.exec(true).await.map_err(text)?;
        return Ok(replies.into_iter().map(|value| reply(Ok(value))).collect());
    }
    let pipeline = client.pipeline();
    for words in commands {
        let (name, rest) = command(words);
        let _queued: Value = pipeline.custom(name, rest).await.map_err(text)?;
    }
    Ok(pipeline.try_all().await.into_iter().map(reply).collect())
}

pub async fn hear(port: u16, resp3: bool, channel: &str, publisher: &mut suite::Connection, command: &[&str]) -> Result<String, String> {
    let text = |error: Error| error.details().to_owned();
    let client = open(port, resp3, Options::default()).await?;
    let mut messages = client.message_rx();
    client.subscribe(channel).await.map_err(text)?;
    // fred does not wait for the server to confirm: what is sent once may come too early.
    let message = loop {
        publisher.call(command).await;
        if let Ok(message) = timeout(Duration::from_millis(50), messages.recv()).await {
            break message.map_err(|error| error.to_string())?;
        }
    };
    client.unsubscribe(channel).await.map_err(text)?;
    message.value.convert().map_err(text)
}

/// `{"map": ..}` for a RESP3 map and `{"error": ..}` for an error, so that neither can be taken for something else.
fn reply(result: Result<Value, Error>) -> Json {
    match result {
        Err(error) => json!({ "error": error.details() }),
        Ok(Value::Null) => Json::Null,
        Ok(Value::Integer(number)) => number.into(),
        Ok(Value::String(text)) => text.to_string().into(),
        Ok(Value::Bytes(bytes)) => String::from_utf8_lossy(&bytes).into(),
        Ok(Value::Array(items)) => items.into_iter().map(|item| reply(Ok(item))).collect(),
        Ok(Value::Map(pairs)) => {
            let fields: serde_json::Map<_, _> = pairs
                .inner()
                .into_iter()
                .map(|(field, value)| (field.into_string().unwrap_or("not a text".to_owned()), reply(Ok(value))))
                .collect();
            json!({ "map": fields })
        }
        Ok(other) => json!({ "unexpected": format!("{other:?}") }),
    }
}
