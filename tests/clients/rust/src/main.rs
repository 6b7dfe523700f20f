//! redis-rs over tokio: the multiplexed connection, in RESP2 (its default) or RESP3.
//! Argument: `resp2` or `resp3`. Prints a line a check; exits 1 if one failed.

mod suite;
mod table;

use std::cell::Cell;
use std::env;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use redis::ErrorKind;
use redis::aio::MultiplexedConnection;
use serde_json::{Value as Json, json};
use suite::{Checked, Suite, batch, begins, between, call, equal, setting, wire_text};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let resp3 = env::args().nth(1).is_some_and(|protocol| protocol == "resp3");
    let name = format!("redis-rs 1 RESP{}", if resp3 { 3 } else { 2 });
    let suite = Suite {
        name,
        resp3,
        failed: Cell::new(false),
    };
    let connection = match suite.connect(&setting("SUITE_PORT"), "", "").await {
        Ok(connection) => connection,
        Err(error) => {
            println!("FAIL {}: connects: {error}", suite.name);
            return ExitCode::FAILURE;
        }
    };
    let shared = || connection.clone();

    suite.check("connects, PING", connects(&suite, shared())).await;
    if suite.failed.get() {
        return ExitCode::FAILURE;
    }
    suite.check("CLIENT SETNAME and GETNAME", names(shared())).await;
    suite.check("SELECT 3, and the database in the URL", databases(&suite, shared())).await;
    suite.check("100 RL.TAKE in one batch", batch_of_takes(&suite, shared())).await;
    suite
        .check("an error inside a batch does not shift the others", error_inside(&suite, shared()))
        .await;
    suite.check("RL.RESERVE 80 80 30000, 83 times", reservations(&suite, shared())).await;
    suite.check("64 tasks over one multiplexed connection", multiplexed(&suite, shared())).await;
    suite.check("MULTI and EXEC", transaction(&suite, shared())).await;
    suite.check("SCAN", scan(&suite, shared())).await;
    for group in table::groups() {
        suite
            .check(group["name"].as_str().unwrap_or_default(), table::run(&suite, shared(), &group))
            .await;
    }
    suite.check("password: right, wrong, none", passwords(&suite)).await;
    suite.check("reconnects after a restart, debt and pause are still there", restart(&suite)).await;
    if suite.failed.get() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

async fn connects(suite: &Suite, mut connection: MultiplexedConnection) -> Checked {
    equal(&call(&mut connection, &["PING"]).await, json!("PONG"), "PING")?;
    let info = call(&mut connection, &["CLIENT", "INFO"]).await;
    let wanted = if suite.resp3 { "resp=3" } else { "resp=2" };
    if info.as_str().is_some_and(|info| info.contains(wanted)) {
        Ok(())
    } else {
        Err(format!("CLIENT INFO has no {wanted}: {info}"))
    }
}

async fn names(mut connection: MultiplexedConnection) -> Checked {
    equal(&call(&mut connection, &["CLIENT", "SETNAME", "worker-1"]).await, json!("OK"), "SETNAME")?;
    equal(&call(&mut connection, &["CLIENT", "GETNAME"]).await, json!("worker-1"), "GETNAME")
}

async fn databases(suite: &Suite, mut first: MultiplexedConnection) -> Checked {
    let port = setting("SUITE_PORT");
    let mut switched = suite.connect(&port, "", "").await.map_err(|error| wire_text(&error))?;
    let mut chosen = suite.connect(&port, "", "3").await.map_err(|error| wire_text(&error))?;
    equal(&call(&mut switched, &["SELECT", "3"]).await, json!("OK"), "SELECT")?;
    call(&mut switched, &["DEL", "shared"]).await;
    let take = ["RL.TAKE", "shared", "5", "1/h"];
    equal(&call(&mut switched, &take).await[2], json!(4), "db 3 by SELECT")?;
    equal(&call(&mut chosen, &take).await[2], json!(3), "db 3 by URL")?;
    call(&mut first, &["DEL", "shared"]).await;
    equal(&call(&mut chosen, &["EXISTS", "shared"]).await, json!(1), "the key stays in db 3")
}

async fn batch_of_takes(suite: &Suite, mut connection: MultiplexedConnection) -> Checked {
    let key = suite.key("batch");
    call(&mut connection, &["DEL", &key]).await;
    let take: &[&str] = &["RL.TAKE", &key, "60", "1/h"];
    for (i, reply) in batch(&mut connection, &[take; 100], false).await?.iter().enumerate() {
        equal(&reply[0], json!(i32::from(i >= 60)), &format!("limited, reply {i}"))?;
        equal(&reply[2], json!(59_usize.saturating_sub(i)), &format!("remaining, reply {i}"))?;
    }
    Ok(())
}

async fn error_inside(suite: &Suite, mut connection: MultiplexedConnection) -> Checked {
    let key = suite.key("shift");
    call(&mut connection, &["DEL", &key]).await;
    let take: &[&str] = &["RL.TAKE", &key, "10", "1/h"];
    let commands: [&[&str]; 5] = [take, &["RL.TAKE", &key, "ten", "1/h"], &["NOSUCH"], take, &["ECHO", "last"]];
    let replies = batch(&mut connection, &commands, false).await?;
    equal(&replies[0][2], json!(9), "first")?;
    begins(&replies[1], "ERR", "second")?;
    begins(&replies[2], "ERR unknown command 'NOSUCH'", "third")?;
    equal(&replies[3][2], json!(8), "fourth")?;
    equal(&replies[4], json!("last"), "fifth")
}

/// The burst goes at once, then a slot every 12.5 ms, less the time that has passed.
async fn reservations(suite: &Suite, mut connection: MultiplexedConnection) -> Checked {
    let key = suite.key("burst");
    call(&mut connection, &["DEL", &key]).await;
    let begin = Instant::now();
    let reserve: &[&str] = &["RL.RESERVE", &key, "80", "80", "30000"];
    let waits = batch(&mut connection, &[reserve; 83], false).await?;
    let passed_us = i64::try_from(begin.elapsed().as_micros()).unwrap_or(i64::MAX);
    for (wait, beyond) in waits.iter().zip(-79_i64..) {
        let slot_us = beyond * 12_500;
        let (least, most) = ((slot_us - passed_us).max(0) / 1000, (slot_us.max(0) + 999) / 1000);
        between(wait, least, most, &format!("reservation {} ({passed_us} us passed)", beyond + 80))?;
    }
    Ok(())
}

/// Each task gets the answers to its own questions, and together they are granted exactly the capacity.
async fn multiplexed(suite: &Suite, mut connection: MultiplexedConnection) -> Checked {
    let key = suite.key("multiplexed");
    call(&mut connection, &["DEL", &key]).await;
    let tasks: Vec<_> = (0..64)
        .map(|task| {
            let (mut connection, key) = (connection.clone(), key.clone());
            tokio::spawn(async move {
                let mut granted = 0;
                for round in 0..20 {
                    let name = format!("{task}/{round}");
                    let take = call(&mut connection, &["RL.TAKE", &key, "1000", "1/h"]).await;
                    equal(&call(&mut connection, &["ECHO", &name]).await, json!(name), "ECHO")?;
                    granted += i32::from(take[0] == 0);
                }
                Ok::<i32, String>(granted)
            })
        })
        .collect();
    let mut granted = 0;
    for task in tasks {
        granted += task.await.map_err(|error| error.to_string())??;
    }
    equal(&json!(granted), json!(1000), "granted of 1280")
}

async fn transaction(suite: &Suite, mut connection: MultiplexedConnection) -> Checked {
    let key = suite.key("multi");
    call(&mut connection, &["DEL", &key]).await;
    let commands: [&[&str]; 2] = [&["RL.TAKE", &key, "10", "1/h"], &["RL.RESERVE", &key, "10", "1/h", "0", "COST", "9"]];
    let replies = batch(&mut connection, &commands, true).await?;
    equal(&Json::from(replies), json!([[0, 10, 9, -1, 3_600_000], 0]), "EXEC")?;
    let broken: [&[&str]; 1] = [&["RL.TAKE", &key]];
    match batch(&mut connection, &broken, true).await {
        Err(_) => equal(&call(&mut connection, &["EXISTS", &key]).await, json!(1), "the connection is in step after it"),
        Ok(replies) => Err(format!("a call that cannot be queued: expected an error, got {replies:?}")),
    }
}

async fn scan(suite: &Suite, mut connection: MultiplexedConnection) -> Checked {
    let (key, pattern) = (suite.key("scan"), suite.key("sca*"));
    call(&mut connection, &["DEL", &key]).await;
    call(&mut connection, &["RL.TAKE", &key, "10", "10/h"]).await;
    let (mut cursor, mut found) = ("0".to_owned(), Vec::new());
    loop {
        let page = call(&mut connection, &["SCAN", &cursor, "MATCH", &pattern]).await;
        found.extend(page[1].as_array().ok_or_else(|| format!("SCAN replied {page}"))?.clone());
        cursor = page[0].as_str().ok_or_else(|| format!("SCAN replied {page}"))?.to_owned();
        if cursor == "0" {
            return equal(&found.into(), json!([key]), "SCAN");
        }
    }
}

async fn passwords(suite: &Suite) -> Checked {
    let port = setting("SUITE_PASSWORD_PORT");
    let login = format!(":{}@", setting("SUITE_PASSWORD"));
    let mut right = suite
        .connect(&port, &login, "")
        .await
        .map_err(|error| format!("right password: {}", wire_text(&error)))?;
    equal(&call(&mut right, &["PING"]).await, json!("PONG"), "right password")?;
    // In RESP2 redis-rs has its own words for a refused AUTH.
    match suite.connect(&port, ":wrong@", "").await {
        Err(error) if error.kind() == ErrorKind::AuthenticationFailed || wire_text(&error).starts_with("WRONGPASS") => {}
        Err(error) => return Err(format!("wrong password: {}", wire_text(&error))),
        Ok(_) => return Err("a wrong password connects".to_owned()),
    }
    // In RESP2 redis-rs notices at its first command; in RESP3 HELLO is refused already.
    let none = match suite.connect(&port, "", "").await {
        Ok(mut stranger) => call(&mut stranger, &["RL.PEEK", "k", "1", "1"]).await,
        Err(error) => json!({ "error": wire_text(&error) }),
    };
    begins(&none, "NOAUTH", "no password")
}

/// A multiplexed connection says that it is broken and stays so; the ConnectionManager around one connects anew.
async fn restart(suite: &Suite) -> Checked {
    let client = suite.client(&setting("SUITE_RESTART_PORT"), "", "").map_err(|error| wire_text(&error))?;
    let mut lasting = client.get_connection_manager().await.map_err(|error| wire_text(&error))?;
    let mut bare = client.get_multiplexed_async_connection().await.map_err(|error| wire_text(&error))?;
    let (key, paused) = (suite.key("restart"), suite.key("restart:paused"));
    call(&mut lasting, &["DEL", &key, &paused]).await;
    equal(
        &call(&mut lasting, &["RL.CHARGE", &key, "10", "10/h", "15"]).await,
        json!(2_160_000),
        "RL.CHARGE",
    )?;
    equal(&call(&mut lasting, &["RL.PAUSE", &paused, "10m"]).await, json!(600_000), "RL.PAUSE")?;

    let done = tokio::process::Command::new("bash")
        .args(["-c", &setting("SUITE_RESTART")])
        .stdout(std::process::Stdio::null())
        .status()
        .await;
    if !done.is_ok_and(|status| status.success()) {
        return Err("the server did not restart".to_owned());
    }
    // The command that finds the connection broken is told so, and starts the new one.
    let deadline = Instant::now() + Duration::from_secs(10);
    let mut peek = call(&mut lasting, &["RL.PEEK", &key, "10", "10/h"]).await;
    while peek.get("error").is_some() && Instant::now() < deadline {
        peek = call(&mut lasting, &["RL.PEEK", &key, "10", "10/h"]).await;
    }
    equal(&json!([peek[0], peek[2]]), json!([1, 0]), "RL.PEEK after the restart")?;
    between(&peek[3], 2_100_000, 2_160_000, "wait after the restart")?;
    between(
        &call(&mut lasting, &["RL.PAUSE", &paused, "1000"]).await,
        540_000,
        600_000,
        "pause after the restart",
    )?;

    if call(&mut bare, &["PING"]).await.get("error").is_none() {
        return Err("a multiplexed connection of before the restart still answers".to_owned());
    }
    let mut again = client.get_multiplexed_async_connection().await.map_err(|error| wire_text(&error))?;
    equal(&call(&mut again, &["EXISTS", &key]).await, json!(1), "a new multiplexed connection")
}
