//! The checks that all clients run.

use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use crate::suite::{Checked, Client, Connection, Options, Suite, begins, between, equal, identity, setting};
use crate::table;

pub async fn run(suite: &Suite, connection: &mut Connection) {
    suite.check("connects, PING", connects(suite, connection)).await;
    if suite.failed.get() {
        return;
    }
    suite.check("CLIENT SETNAME and GETNAME", names(connection)).await;
    suite.check("SELECT 3, and the database in the options", databases(suite, connection)).await;
    suite.check("100 RL.TAKE in one batch", batch_of_takes(suite, connection)).await;
    suite
        .check("an error inside a batch does not shift the others", error_inside(suite, connection))
        .await;
    suite.check("RL.RESERVE 80 80 30000, 83 times", reservations(suite, connection)).await;
    if let Some(shared) = connection.shared() {
        suite.check("64 tasks over one multiplexed connection", multiplexed(suite, shared)).await;
    }
    suite.check("MULTI and EXEC", transaction(suite, connection)).await;
    suite.check("SCAN", scan(suite, connection)).await;
    for group in table::groups() {
        let name = group["name"].as_str().unwrap_or_default();
        suite.check(name, table::run(suite, connection, &group)).await;
    }
    suite.check("password: right, wrong, none", passwords(suite)).await;
    suite.check("user, password, database and name at once", everything_at_once(suite)).await;
    if !setting("SUITE_NOT_YET").split(' ').any(|name| name == "SUBSCRIBE") {
        suite
            .check("SUBSCRIBE: a message, and the event of a pause", subscribes(suite, connection))
            .await;
    }
    suite
        .check("cut off between request and reply: with an ID the key is charged once", cut(suite, connection))
        .await;
    suite.check("reconnects after a restart, debt and pause are still there", restart(suite)).await;
}

async fn connects(suite: &Suite, connection: &mut Connection) -> Checked {
    equal(&connection.call(&["PING"]).await, json!("PONG"), "PING")?;
    let info = connection.call(&["CLIENT", "INFO"]).await;
    let wanted = if suite.resp3 { "resp=3" } else { "resp=2" };
    if info.as_str().is_some_and(|info| info.contains(wanted)) {
        Ok(())
    } else {
        Err(format!("CLIENT INFO has no {wanted}: {info}"))
    }
}

async fn names(connection: &mut Connection) -> Checked {
    equal(&connection.call(&["CLIENT", "SETNAME", "worker-1"]).await, json!("OK"), "SETNAME")?;
    equal(&connection.call(&["CLIENT", "GETNAME"]).await, json!("worker-1"), "GETNAME")
}

async fn databases(suite: &Suite, first: &mut Connection) -> Checked {
    let in_database_3 = Options {
        database: Some(3),
        ..Options::default()
    };
    let mut switched = suite.connect("SUITE_PORT", Options::default()).await?;
    let mut chosen = suite.connect("SUITE_PORT", in_database_3).await?;
    equal(&switched.call(&["SELECT", "3"]).await, json!("OK"), "SELECT")?;
    switched.call(&["DEL", "shared"]).await;
    let take = ["RL.TAKE", "shared", "5", "1/h"];
    equal(&switched.call(&take).await[2], json!(4), "db 3 by SELECT")?;
    equal(&chosen.call(&take).await[2], json!(3), "db 3 by options")?;
    first.call(&["DEL", "shared"]).await;
    equal(&chosen.call(&["EXISTS", "shared"]).await, json!(1), "the key stays in db 3")
}

async fn batch_of_takes(suite: &Suite, connection: &mut Connection) -> Checked {
    let key = suite.key("batch");
    connection.call(&["DEL", &key]).await;
    let take: &[&str] = &["RL.TAKE", &key, "60", "1/h"];
    for (i, reply) in connection.batch(&[take; 100], false).await?.iter().enumerate() {
        equal(&reply[0], json!(i32::from(i >= 60)), &format!("limited, reply {i}"))?;
        equal(&reply[2], json!(59_usize.saturating_sub(i)), &format!("remaining, reply {i}"))?;
    }
    Ok(())
}

async fn error_inside(suite: &Suite, connection: &mut Connection) -> Checked {
    let key = suite.key("shift");
    connection.call(&["DEL", &key]).await;
    let take: &[&str] = &["RL.TAKE", &key, "10", "1/h"];
    let commands: [&[&str]; 5] = [take, &["RL.TAKE", &key, "ten", "1/h"], &["NOSUCH"], take, &["ECHO", "last"]];
    let replies = connection.batch(&commands, false).await?;
    equal(&replies[0][2], json!(9), "first")?;
    begins(&replies[1], "ERR", "second")?;
    begins(&replies[2], "ERR unknown command 'NOSUCH'", "third")?;
    equal(&replies[3][2], json!(8), "fourth")?;
    equal(&replies[4], json!("last"), "fifth")
}

/// The burst goes at once, then a slot every 12.5 ms, less the time that has passed.
async fn reservations(suite: &Suite, connection: &mut Connection) -> Checked {
    let key = suite.key("burst");
    connection.call(&["DEL", &key]).await;
    let begin = Instant::now();
    let reserve: &[&str] = &["RL.RESERVE", &key, "80", "80", "30000"];
    let waits = connection.batch(&[reserve; 83], false).await?;
    let passed_us = i64::try_from(begin.elapsed().as_micros()).unwrap_or(i64::MAX);
    for (wait, beyond) in waits.iter().zip(-79_i64..) {
        let slot_us = beyond * 12_500;
        let (least, most) = ((slot_us - passed_us).max(0) / 1000, (slot_us.max(0) + 999) / 1000);
        between(wait, least, most, &format!("reservation {} ({passed_us} us passed)", beyond + 80))?;
    }
    Ok(())
}

/// Each task gets the answers to its own questions, and together they are granted exactly the capacity.
async fn multiplexed(suite: &Suite, mut connection: Connection) -> Checked {
    let key = suite.key("multiplexed");
    connection.call(&["DEL", &key]).await;
    let mut tasks = Vec::new();
    for task in 0..64 {
        let (key, shared) = (key.clone(), connection.shared());
        let mut connection = shared.ok_or("it is shared no more")?;
        tasks.push(tokio::spawn(async move {
            let mut granted = 0;
            for round in 0..20 {
                let name = format!("{task}/{round}");
                let take = connection.call(&["RL.TAKE", &key, "1000", "1/h"]).await;
                equal(&connection.call(&["ECHO", &name]).await, json!(name), "ECHO")?;
                granted += i32::from(take[0] == 0);
            }
            Ok::<i32, String>(granted)
        }));
    }
    let mut granted = 0;
    for task in tasks {
        granted += task.await.map_err(|error| error.to_string())??;
    }
    equal(&json!(granted), json!(1000), "granted of 1280")
}

async fn transaction(suite: &Suite, connection: &mut Connection) -> Checked {
    let key = suite.key("multi");
    connection.call(&["DEL", &key]).await;
    let commands: [&[&str]; 2] = [&["RL.TAKE", &key, "10", "1/h"], &["RL.RESERVE", &key, "10", "1/h", "0", "COST", "9"]];
    let replies = connection.batch(&commands, true).await?;
    equal(&Json::from(replies), json!([[0, 10, 9, -1, 3_600_000], 0]), "EXEC")?;
    let broken: [&[&str]; 1] = [&["RL.TAKE", &key]];
    match connection.batch(&broken, true).await {
        Err(_) => equal(&connection.call(&["EXISTS", &key]).await, json!(1), "the connection is in step after it"),
        Ok(replies) => Err(format!("a call that cannot be queued: expected an error, got {replies:?}")),
    }
}

async fn scan(suite: &Suite, connection: &mut Connection) -> Checked {
    let (key, pattern) = (suite.key("scan"), suite.key("sca*"));
    connection.call(&["DEL", &key]).await;
    connection.call(&["RL.TAKE", &key, "10", "10/h"]).await;
    let (mut cursor, mut found) = ("0".to_owned(), Vec::new());
    loop {
        let page = connection.call(&["SCAN", &cursor, "MATCH", &pattern]).await;
        found.extend(page[1].as_array().ok_or_else(|| format!("SCAN replied {page}"))?.clone());
        cursor = page[0].as_str().ok_or_else(|| format!("SCAN replied {page}"))?.to_owned();
        if cursor == "0" {
            return equal(&found.into(), json!([key]), "SCAN");
        }
    }
}

async fn passwords(suite: &Suite) -> Checked {
    let right = setting("SUITE_PASSWORD");
    let with = |password| Options {
        password,
        ..Options::default()
    };
    let mut connection = suite.connect("SUITE_PASSWORD_PORT", with(Some(&right))).await?;
    equal(&connection.call(&["PING"]).await, json!("PONG"), "right password")?;
    for (password, code) in [(Some("wrong"), "WRONGPASS"), (None, "NOAUTH")] {
        // Told when it connects, or by its first command.
        let told = match suite.connect("SUITE_PASSWORD_PORT", with(password)).await {
            Ok(mut stranger) => stranger.call(&["RL.PEEK", "k", "1", "1"]).await,
            Err(error) => json!({ "error": error }),
        };
        begins(&told, code, password.unwrap_or("no password"))?;
    }
    Ok(())
}

fn everything(password: &str) -> Options<'_> {
    Options {
        user: Some("default"),
        password: Some(password),
        database: Some(3),
        name: Some("from-options"),
    }
}

async fn everything_at_once(suite: &Suite) -> Checked {
    let password = setting("SUITE_PASSWORD");
    let mut connection = suite.connect("SUITE_PASSWORD_PORT", everything(&password)).await?;
    identity(&connection.call(&["CLIENT", "INFO"]).await)?;
    equal(&connection.call(&["CLIENT", "GETNAME"]).await, json!("from-options"), "GETNAME")
}

async fn subscribes(suite: &Suite, connection: &mut Connection) -> Checked {
    let (channel, key) = (suite.key("channel"), suite.key("event"));
    let payload = suite.hear(&channel, connection, &["PUBLISH", &channel, "hello"]).await?;
    equal(&json!(payload), json!("hello"), "the message")?;
    let event = suite.hear("__rl@0__:pause", connection, &["RL.PAUSE", &key, "10m"]).await?;
    if event.contains(&key) {
        Ok(())
    } else {
        Err(format!("the event does not name the key: {event}"))
    }
}

/// The proxy breaks the connection when the request is done and its reply under way: see ../../proxy.py.
async fn cut(suite: &Suite, connection: &mut Connection) -> Checked {
    let sends_again = suite.client == Client::Fred;
    let id: &[&str] = &["ID", "order-17"];
    for (name, more) in [("cut", &[][..]), ("cut-id", id)] {
        let mut proxied = suite.connect("SUITE_PROXY_PORT", Options::default()).await?;
        let key = suite.key(name);
        let take = [&["RL.TAKE", &key, "10", "10/h"][..], more].concat();
        let reply = proxied.call(&take).await;
        let charged = if sends_again && more.is_empty() { 2 } else { 1 };
        if sends_again {
            equal(&json!([reply[0], reply[2]]), json!([0, 10 - charged]), "the reply that came in the end")?;
        } else if reply.get("error").is_none() {
            return Err(format!("expected that it tells the break, got {reply}"));
        } else if !more.is_empty() {
            equal(&connection.call(&take).await[2], json!(9), "sent again by hand")?;
        }
        let left = connection.call(&["RL.PEEK", &key, "10", "10/h"]).await;
        equal(&left[2], json!(10 - charged), &format!("what remains, {more:?}"))?;
    }
    Ok(())
}

/// The ConnectionManager and fred find their way back; the others say that they are broken, and stay so.
async fn restart(suite: &Suite) -> Checked {
    let password = setting("SUITE_PASSWORD");
    let recovers = matches!(suite.client, Client::RedisRsManager | Client::Fred);
    let mut lasting = suite.connect("SUITE_RESTART_PORT", everything(&password)).await?;
    let (key, paused) = (suite.key("restart"), suite.key("restart:paused"));
    lasting.call(&["DEL", &key, &paused]).await;
    equal(&lasting.call(&["RL.CHARGE", &key, "10", "10/h", "15"]).await, json!(2_160_000), "RL.CHARGE")?;
    equal(&lasting.call(&["RL.PAUSE", &paused, "10m"]).await, json!(600_000), "RL.PAUSE")?;

    let done = tokio::process::Command::new("bash")
        .args(["-c", &setting("SUITE_RESTART")])
        .stdout(std::process::Stdio::null())
        .status()
        .await;
    if !done.is_ok_and(|status| status.success()) {
        return Err("the server did not restart".to_owned());
    }
    let peek_words = ["RL.PEEK", &key, "10", "10/h"];
    let mut peek = lasting.call(&peek_words).await;
    if !recovers {
        if peek.get("error").is_none() {
            return Err("a connection of before the restart still answers".to_owned());
        }
        lasting = suite.connect("SUITE_RESTART_PORT", everything(&password)).await?;
    }
    // The command that finds the connection broken is told so, and starts the new one.
    let deadline = Instant::now() + Duration::from_secs(10);
    while peek.get("error").is_some() && Instant::now() < deadline {
        peek = lasting.call(&peek_words).await;
    }
    equal(&json!([peek[0], peek[2]]), json!([1, 0]), "RL.PEEK after the restart")?;
    between(&peek[3], 2_100_000, 2_160_000, "wait after the restart")?;
    between(&lasting.call(&["RL.PAUSE", &paused, "1000"]).await, 540_000, 600_000, "pause after the restart")?;
    identity(&lasting.call(&["CLIENT", "INFO"]).await)
}
