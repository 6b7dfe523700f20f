//! An error in the middle of a pipeline is one reply, in its place: what follows it is answered as if it were not
//! there.
use super::connection::array;
use bytes::BytesMut;
use std::sync::Arc;
use tollgate::clock::Clock;
use tollgate::command::spec::Spec;
use tollgate::command::table::COMMANDS;
use tollgate::core::units::Timestamp;
use tollgate::engine::Engine;
use tollgate::password::Password;
use tollgate::session::{Flow, Session};
use tollgate::settings::{Initial, Settings};

#[path = "../transcripts/rendering.rs"]
mod rendering;

fn session(password: &str) -> Session {
    let settings = Settings::new(Initial {
        requirepass: Password::new(password.as_bytes()).unwrap(),
        ..Initial::default()
    });
    let engine = Arc::new(Engine::new(Clock::manual(Timestamp::ZERO), settings));
    let (now, clients) = (engine.shared.clock.now(), &engine.shared.clients);
    let client = clients.register("peer".into(), "local".into(), now, Box::new(|| {}));
    Session::new(engine, client)
}

/// The replies to a pipeline that comes in pieces of so many bytes.
fn replies(session: &mut Session, pipeline: &[u8], piece: usize) -> Vec<String> {
    let (mut input, mut output) = (BytesMut::new(), Vec::new());
    for piece in pipeline.chunks(piece) {
        input.extend_from_slice(piece);
        while session.receive(&mut input, &mut output) == Flow::Flush {}
    }
    assert!(input.is_empty(), "the session stopped");
    rendering::replies(&output)
}

/// Requests that are refused, as inline commands. None leaves anything behind that changes what follows.
const REFUSED: &[&str] = &[
    "NONSENSE",
    "nonsense 1 \"two words\" \"\\r\\n+OK\\r\\n\"",
    "\"\"",
    "CLIENT NONSENSE",
    "CLIENT MAINT_NOTIFICATIONS ON moving-endpoint-type internal-ip",
    "CLIENT CACHING YES",
    "CLIENT KILL 1.2.3.4:5",
    "CLIENT SETNAME \"a b\"",
    "CLIENT TRACKING ON OPTIN OPTOUT",
    "HELLO 4",
    "HELLO x",
    "HELLO 3 AUTH default",
    "HELLO 3 AUTH nobody wrong",
    "AUTH wrong",
    "AUTH nobody wrong",
    "AUTH a b c",
    "SELECT 99",
    "SELECT x",
    "EXEC",
    "DISCARD",
    "CLUSTER SLOTS",
    "READONLY",
    "REPLICAOF 10.0.0.1 6379",
    "FAILOVER",
    "WAIT x y",
    "SHUTDOWN NONSENSE",
    "SHUTDOWN ABORT",
    "BGSAVE NONSENSE",
    "CONFIG SET nonsense 1",
    "CONFIG SET port 1",
    "CONFIG SET timeout",
    "DEBUG CLOCK NONSENSE",
    "SLOWLOG GET -2",
    "MEMORY USAGE k SAMPLES",
    "OBJECT NONSENSE k",
    "SCAN x",
    "SCAN 0 COUNT 0",
    "EXPIRE limit 1",
    "RL.TAKE k 0 1",
    "RL.TAKE k 5 x",
    "RL.TAKE k 5 1 COST",
    "RL.TAKE k 5 1 NONSENSE",
    "RL.TAKE k 5 1 AND k 5 1",
    "RL.TAKE k 5 1 AND limit LOG 5 1s",
    "RL.TAKE limit LOG 5 1s",
    "RL.TAKE k POLICY nonsense",
    "RL.RESERVE k SLIDING 5 1s 1000",
    "RL.PAUSE k x",
    "RL.REFUND k 0",
    "RL.CHARGE k 1 1/d 1000000000000",
    "CL.THROTTLE k 1 1 0",
];

/// Every command and subcommand with a word too few and with one too many.
fn wrong_numbers() -> Vec<Vec<u8>> {
    let rows = COMMANDS.iter();
    rows.flat_map(|spec| std::iter::once(*spec).chain(spec.subcommands))
        .flat_map(|spec: &Spec| {
            let name: Vec<&str> = spec.name.split('|').collect();
            let with = |count: usize| {
                let words: Vec<&str> = name
                    .iter()
                    .copied()
                    .chain(std::iter::repeat("1"))
                    .take(count)
                    .collect();
                array(&words)
            };
            let few = (spec.arity.min > name.len()).then(|| with(spec.arity.min - 1));
            // A word behind a command with subcommands would name one.
            let many = spec.arity.max != usize::MAX;
            let many = many.then(|| with(spec.arity.max + 1));
            few.into_iter().chain(many)
        })
        .collect()
}

/// A pipeline of the requests with a numbered ECHO behind each.
fn numbered(requests: &[Vec<u8>]) -> Vec<u8> {
    let mut pipeline = Vec::new();
    for (number, request) in requests.iter().enumerate() {
        pipeline.extend_from_slice(request);
        pipeline.extend_from_slice(&array(&["ECHO", &number.to_string()]));
    }
    pipeline
}

fn check(found: &[String], requests: &[Vec<u8>]) {
    for (number, pair) in found.chunks(2).enumerate() {
        let request = requests[number].escape_ascii();
        assert!(pair[0].starts_with('-'), "{request}: {pair:?}");
        assert_eq!(pair[1], format!("\"{number}\""), "behind {request}");
    }
    assert_eq!(found.len(), 2 * requests.len());
}

#[test]
fn an_error_shifts_no_other_reply() {
    let mut requests: Vec<Vec<u8>> = REFUSED
        .iter()
        .map(|line| format!("{line}\r\n").into_bytes())
        .collect();
    requests.extend(wrong_numbers());
    requests.push(array(&["RL.TAKE", &"k".repeat(513), "5", "1"]));
    requests.push(array(&[&b"\r\n-ERR\r\n"[..], b"\xff\0"]));
    for protocol in ["2", "3"] {
        for piece in [usize::MAX, 1, 7] {
            let mut session = session("");
            let hello = array(&["HELLO", protocol]);
            replies(&mut session, &hello, usize::MAX);
            replies(&mut session, b"RL.TAKE limit WINDOW 5 1h\r\n", usize::MAX);
            let found = replies(&mut session, &numbered(&requests), piece);
            check(&found, &requests);
        }
    }
}

#[test]
fn before_a_password_every_request_is_one_error() {
    let allowed = |line: &&&str| {
        let allowed = ["AUTH", "HELLO", "QUIT", "RESET"];
        !allowed.iter().any(|name| line.starts_with(name))
    };
    let requests: Vec<Vec<u8>> = REFUSED
        .iter()
        .filter(allowed)
        .map(|line| format!("{line}\r\n").into_bytes())
        .chain([
            b"PING\r\n".to_vec(),
            b"HELLO 3\r\n".to_vec(),
            b"AUTH no\r\n".to_vec(),
        ])
        .collect();
    let mut session = session("secret");
    let found = replies(&mut session, &requests.concat(), usize::MAX);
    assert_eq!(found.len(), requests.len());
    assert!(
        found.iter().all(|reply| reply.starts_with('-')),
        "{found:?}"
    );
    let found = replies(
        &mut session,
        b"AUTH no\r\nAUTH secret\r\nAUTH no\r\nPING\r\n",
        usize::MAX,
    );
    assert!(found[0].starts_with("-WRONGPASS") && found[2].starts_with("-WRONGPASS"));
    assert_eq!([found[1].as_str(), found[3].as_str()], ["+OK", "+PONG"]);
}

#[test]
fn an_error_of_a_transaction_stands_in_its_place() {
    // What EXEC would replay of these, it replies one by one outside.
    let late = [
        "CLUSTER SLOTS",
        "SELECT 99",
        "RL.TAKE limit LOG 5 1s",
        "RL.TAKE k 5 x",
        "CONFIG SET port 1",
        "HELLO 4",
        "AUTH nobody wrong",
        "EXPIRE limit 1",
        "REPLICAOF 10.0.0.1 6379",
    ];
    let mut session = session("");
    replies(&mut session, b"RL.TAKE limit WINDOW 5 1h\r\n", usize::MAX);
    let (mut pipeline, mut expected) = (String::from("MULTI\r\n"), Vec::new());
    for (number, line) in late.iter().enumerate() {
        let alone = replies(&mut session, format!("{line}\r\n").as_bytes(), usize::MAX);
        assert!(alone[0].starts_with('-'), "{alone:?}");
        expected.extend([alone[0].clone(), format!("\"{number}\"")]);
        pipeline += &format!("{line}\r\nECHO {number}\r\n");
    }
    pipeline += "EXEC\r\nECHO behind\r\n";
    let found = replies(&mut session, pipeline.as_bytes(), usize::MAX);
    let (head, tail) = found.split_at(found.len() - 2);
    assert_eq!(head[0], "+OK");
    assert_eq!(head[1..], vec!["+QUEUED"; 2 * late.len()]);
    assert_eq!(
        tail,
        [format!("[{}]", expected.join(" ")), "\"behind\"".to_owned()]
    );
}

#[test]
fn an_error_while_queueing_ends_the_transaction_and_nothing_else() {
    for line in ["NONSENSE", "ECHO", "CLIENT NONSENSE", "SHUTDOWN"] {
        let pipeline = format!("MULTI\r\nECHO 1\r\n{line}\r\nECHO 2\r\nEXEC\r\nECHO 3\r\n");
        let found = replies(&mut session(""), pipeline.as_bytes(), usize::MAX);
        let firsts: Vec<char> = found
            .iter()
            .filter_map(|reply| reply.chars().next())
            .collect();
        assert_eq!(firsts, ['+', '+', '-', '+', '-', '"'], "{found:?}");
        assert!(found[4].starts_with("-EXECABORT"), "{found:?}");
    }
}
