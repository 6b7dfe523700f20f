//! TLS over real sockets: connections as over TCP, certificates, and peers that speak something else.
#![allow(clippy::unwrap_used, reason = "the helpers of tests are tests too")]

use crate::authority::{Authority, Identity, TlsStream, connect};
use crate::harness::{Server, Wire, failure, run};
use crate::waiting::wait_for;
use rustls::ClientConfig;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tempfile::TempDir;

/// A server of TLS, an authority that has signed its certificate, and what a client of it knows.
struct Case {
    server: Server,
    authority: Authority,
    identity: Identity,
    client: Arc<ClientConfig>,
    directory: TempDir,
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path that is text")
}

fn flags(identity: &Identity) -> Vec<String> {
    let Identity { certificate, key } = identity;
    let flags = ["--tls-port", "any", "--tls-cert-file", text(certificate)];
    let flags = flags.into_iter().chain(["--tls-key-file", text(key)]);
    flags.map(str::to_owned).collect()
}

/// With plain TCP beside TLS, and no certificates of clients, unless the arguments say otherwise.
fn case(arguments: &[&str]) -> Case {
    let directory = tempfile::tempdir().unwrap();
    let authority = Authority::new(directory.path(), "authority");
    let identity = authority.issue("127.0.0.1");
    let flags = flags(&identity);
    let mut all: Vec<&str> = vec!["--clock", "manual"];
    if !arguments.contains(&"--port") {
        all.extend(["--port", "any"]);
    }
    all.extend(["--dir", text(directory.path())]);
    all.extend(flags.iter().map(String::as_str));
    all.extend(["--tls-ca-cert-file", text(&authority.file)]);
    if !arguments.contains(&"--tls-auth-clients") {
        all.extend(["--tls-auth-clients", "no"]);
    }
    all.extend(arguments);
    let server = Server::spawn(crate::harness::tollgate(&all));
    let client = authority.client(None);
    Case {
        server,
        authority,
        identity,
        client,
        directory,
    }
}

impl Case {
    fn connect(&self) -> Wire<TlsStream> {
        self.connect_as(&self.client)
    }

    fn connect_as(&self, client: &Arc<ClientConfig>) -> Wire<TlsStream> {
        Wire(connect(self.server.tls_port, client.clone()))
    }

    /// Why a client gets no reply.
    fn failure(&self, client: &Arc<ClientConfig>) -> String {
        let error = self.try_ping(client).expect_err("no reply");
        error.to_string()
    }

    fn try_ping(&self, client: &Arc<ClientConfig>) -> std::io::Result<()> {
        let mut wire = self.connect_as(client);
        wire.0.write_all(b"PING\r\n")?;
        wire.0.flush()?;
        wire.0.read_exact(&mut [0; 7])
    }
}

/// Says that nothing more will be sent, and listens on.
fn close_sending(wire: &mut Wire<TlsStream>) {
    wire.0.conn.send_close_notify();
    wire.0.flush().unwrap();
}

#[test]
fn a_pipeline_is_answered_in_order() {
    let case = case(&[]);
    let mut wire = case.connect();
    let many = 20_000;
    let requests: String = (0..many)
        .map(|number| format!("ECHO {number}\r\n"))
        .collect();
    let replies: String = (0..many)
        .map(|number| {
            let text = number.to_string();
            format!("${}\r\n{text}\r\n", text.len())
        })
        .collect();
    wire.send(requests).expect(replies);
    // Longer than what TLS holds back at a time.
    let long = "x".repeat(1_000_000);
    let request = format!("*2\r\n$4\r\nECHO\r\n${}\r\n{long}\r\n", long.len());
    wire.send(request)
        .expect(format!("${}\r\n{long}\r\n", long.len()));
    // One byte a record.
    for byte in b"*2\r\n$4\r\nECHO\r\n$3\r\na\r\n\r\nPING\r\n" {
        wire.send([*byte]);
    }
    wire.expect("$3\r\na\r\n\r\n+PONG\r\n");
}

#[test]
fn every_end_is_an_orderly_one() {
    let mut case = case(&[]);
    // `rest` fails if the server does not take leave of TLS.
    let mut half = case.connect();
    half.send("PING\r\nECHO last\r\nPIN");
    close_sending(&mut half);
    assert_eq!(half.rest(), r"+PONG\r\n$4\r\nlast\r\n");
    let mut quit = case.connect();
    quit.send("PING\r\nQUIT\r\nPING\r\n");
    assert_eq!(quit.rest(), r"+PONG\r\n+OK\r\n");
    let mut wrong = case.connect();
    wrong.send([&b"*1\r\n$abc\r\n"[..], &[b'x'; 200_000]].concat());
    assert!(wrong.rest().starts_with("-ERR Protocol error"));
    let mut victim = case.connect();
    victim.send("CLIENT ID\r\n");
    let id = victim.line().replace(':', "");
    let mut other = case.server.connect();
    other
        .send(format!("CLIENT KILL ID {id}\r\n"))
        .expect(":1\r\n");
    assert_eq!(victim.rest(), "");
    let mut last = case.connect();
    last.ping();
    case.server.signal("TERM");
    assert_eq!(case.server.wait().code(), Some(0));
    assert_eq!(last.rest(), "");
}

#[test]
fn a_client_that_goes_without_leave_is_no_error() {
    let case = case(&["--loglevel", "debug"]);
    let mut wire = case.connect();
    wire.ping();
    drop(wire);
    case.server.wait_for_log("closed by the client");
}

#[test]
fn an_idle_client_is_closed() {
    let case = case(&["--timeout", "1"]);
    let mut wire = case.connect();
    wire.ping();
    assert_eq!(wire.rest(), "");
}

#[test]
fn a_client_that_never_reads_costs_a_bounded_amount() {
    let case = case(&[]);
    let mut deaf = case.connect();
    deaf.ping();
    let socket = deaf.0.sock.try_clone().unwrap();
    let sent = Arc::new(AtomicU64::new(0));
    let counter = sent.clone();
    let writer = std::thread::spawn(move || {
        let request = format!("ECHO {}\r\n", "x".repeat(60_000));
        for _ in 0..100_000 {
            if deaf.0.write_all(request.as_bytes()).is_err() {
                break;
            }
            counter.fetch_add(1, Relaxed);
        }
    });
    let mut other = case.connect();
    // Until the server has stopped reading: many round trips of another client without progress.
    let (mut last, mut still) = (0, 0);
    while still < 2_000 {
        other.ping();
        let now = sent.load(Relaxed);
        still = if now == last && now > 0 { still + 1 } else { 0 };
        last = now;
    }
    assert!(last < 100_000, "the server took everything");
    let resident = case.server.resident_kib();
    assert!(resident < 64 * 1024, "{resident} KiB");
    socket.shutdown(std::net::Shutdown::Both).unwrap();
    writer.join().unwrap();
    other.ping();
}

#[test]
fn a_subscriber_that_does_not_read_is_cut_off() {
    let case = case(&["--pubsub-output-limit", "2mb"]);
    let mut deaf = case.connect();
    deaf.send("SUBSCRIBE a\r\n");
    assert_eq!(deaf.line(), "*3");
    let mut other = case.server.connect();
    let request = format!("PUBLISH a {}\r\n", "x".repeat(60_000));
    while other.send(&request).line() != ":0" {}
    case.server.wait_for_log("its messages were not read");
    other.ping();
}

#[test]
fn messages_and_answers_come_by_themselves() {
    let case = case(&[]);
    let mut listener = case.connect();
    listener
        .send("SUBSCRIBE a\r\n")
        .expect("*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n");
    let mut waiter = case.connect();
    waiter
        .send("RL.ACQUIRE k 1 1 60000\r\n")
        .expect(":0\r\n")
        .send("RL.ACQUIRE k 1 1 60000\r\n");
    let mut other = case.server.connect();
    other.send("PUBLISH a x\r\n").expect(":1\r\n");
    listener.expect("*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nx\r\n");
    wait_for(&mut other, 1);
    other.send("DEBUG CLOCK ADVANCE 1s\r\n").expect("+OK\r\n");
    waiter.expect(":1000\r\n");
}

#[test]
fn plain_text_is_told_to_speak_tls_and_tls_that_there_is_none() {
    let case = case(&[]);
    for _ in 0..3 {
        let mut plain = Wire(TcpStream::connect(("127.0.0.1", case.server.tls_port)).unwrap());
        plain.send("*1\r\n$4\r\nPING\r\n");
        assert_eq!(plain.rest(), r"-ERR this port speaks TLS\r\n");
    }
    let line = case.server.wait_for_log("no TLS");
    assert!(
        line.contains("speaks plain text") && line.contains("left_out=0"),
        "{line}"
    );
    // Those that came at once with it are counted with the next line.
    case.server
        .connect()
        .send("DEBUG CLOCK ADVANCE 10s\r\n")
        .expect("+OK\r\n");
    let mut garbage = Wire(TcpStream::connect(("127.0.0.1", case.server.tls_port)).unwrap());
    garbage.send([0x16, 3, 1, 0, 4, 9, 9, 9, 9]);
    garbage.rest();
    let line = case.server.wait_for_log("no TLS");
    assert!(line.contains("left_out=2"), "{line}");

    let mut secret = Wire(connect(case.server.port, case.client.clone()));
    let sent = secret
        .0
        .write_all(b"PING\r\n")
        .and_then(|()| secret.0.flush());
    let error = sent.unwrap_err().to_string();
    assert!(error.contains("InvalidContentType"), "{error}");
    let line = case.server.wait_for_log("no reply");
    assert!(
        line.contains("speaks TLS to a port of plain text"),
        "{line}"
    );
    case.connect().ping();
    case.server.connect().ping();
}

#[test]
fn silent_peers_take_places_and_nothing_else() {
    let mut case = case(&["--maxclients", "3", "--loglevel", "debug"]);
    let mut inside = case.server.connect();
    inside.ping();
    let silent: Vec<TcpStream> = (0..2)
        .map(|_| TcpStream::connect(("127.0.0.1", case.server.tls_port)).unwrap())
        .collect();
    for _ in &silent {
        case.server.wait_for_log("shaking hands");
    }
    // There is no place for a fourth.
    assert_eq!(
        case.server.connect().rest(),
        r"-ERR max number of clients reached\r\n"
    );
    // Over TLS it is sent off without a word.
    case.failure(&case.client);
    inside.ping();
    drop(silent);
    case.server.wait_for_log("the client went away");
    case.server.wait_for_log("the client went away");
    case.connect().ping();
    // One in the middle of a handshake does not hold the stop up.
    let mut slow = TcpStream::connect(("127.0.0.1", case.server.tls_port)).unwrap();
    slow.write_all(&[0x16, 3]).unwrap();
    inside.ping();
    case.server.signal("TERM");
    assert_eq!(case.server.wait().code(), Some(0));
}

#[test]
fn clients_show_certificates_if_they_must() {
    let case = case(&["--tls-auth-clients", "yes"]);
    let known = case.authority.issue("client");
    let strangers = tempfile::tempdir().unwrap();
    let unknown = Authority::new(strangers.path(), "stranger").issue("client");
    let with = |identity| case.authority.client(Some(identity));
    case.connect_as(&with(&known)).ping();
    let error = case.failure(&case.client);
    assert!(error.contains("CertificateRequired"), "{error}");
    let error = case.failure(&with(&unknown));
    assert!(error.contains("UnknownCA"), "{error}");
    let line = case.server.wait_for_log("no TLS");
    assert!(line.contains("peer sent no certificates"), "{line}");
}

#[test]
fn clients_may_show_certificates() {
    let case = case(&["--tls-auth-clients", "optional"]);
    let known = case.authority.issue("client");
    let strangers = tempfile::tempdir().unwrap();
    let unknown = Authority::new(strangers.path(), "stranger").issue("client");
    let with = |identity| case.authority.client(Some(identity));
    case.connect_as(&with(&known)).ping();
    case.connect().ping();
    assert!(case.failure(&with(&unknown)).contains("UnknownCA"));
}

#[test]
fn certificates_are_read_again_and_a_bad_one_is_not_taken() {
    let case = case(&[]);
    let mut old = case.connect();
    old.ping();
    // Another authority signs the new one.
    let others = tempfile::tempdir().unwrap();
    let next = Authority::new(others.path(), "next");
    let new = next.issue("127.0.0.1");
    std::fs::copy(&new.certificate, &case.identity.certificate).unwrap();
    // The key is not there yet.
    case.server.signal("HUP");
    let line = case.server.wait_for_log("certificates stay as they are");
    assert!(line.contains(text(&case.identity.key)), "{line}");
    case.connect().ping();
    std::fs::copy(&new.key, &case.identity.key).unwrap();
    case.server.signal("HUP");
    case.server.wait_for_log("certificates read again");
    let error = case.failure(&case.client);
    assert!(error.contains("UnknownIssuer"), "{error}");
    case.connect_as(&next.client(None)).ping();
    old.ping();
    std::fs::write(&case.identity.certificate, "broken").unwrap();
    case.server.signal("HUP");
    let line = case.server.wait_for_log("certificates stay as they are");
    assert!(line.contains("no certificate in PEM"), "{line}");
    case.connect_as(&next.client(None)).ping();
}

#[test]
fn plain_tcp_can_be_off() {
    let case = case(&["--port", "0"]);
    assert_eq!(case.server.port, 0);
    let mut wire = case.connect();
    let port = case.server.tls_port.to_string();
    wire.send("CONFIG GET port\r\n")
        .expect("*2\r\n$4\r\nport\r\n$1\r\n0\r\n")
        .send("CONFIG GET tls-port\r\n")
        .expect(format!(
            "*2\r\n$8\r\ntls-port\r\n${}\r\n{port}\r\n",
            port.len()
        ))
        .send("CONFIG GET tls-auth-clients\r\n")
        .expect("*2\r\n$16\r\ntls-auth-clients\r\n$2\r\nno\r\n");
}

#[test]
fn what_tls_needs_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let authority = Authority::new(directory.path(), "authority");
    let (one, other) = (authority.issue("one"), authority.issue("other"));
    let base = ["--port", "0", "--tls-port", "any"];
    let fails = |more: &[&str]| failure(&[&base, more].concat());
    let files = |certificate: &Path, key: &Path| {
        let more = ["--tls-auth-clients", "no", "--tls-cert-file"];
        fails(&[&more[..], &[text(certificate), "--tls-key-file", text(key)]].concat())
    };
    assert!(fails(&[]).contains("--tls-cert-file"));
    let no_authority = ["--tls-cert-file", text(&one.certificate)];
    let no_authority = [&no_authority[..], &["--tls-key-file", text(&one.key)]].concat();
    assert!(fails(&no_authority).contains("--tls-ca-cert-file"));
    let mixed = files(&one.certificate, &other.key);
    assert!(mixed.contains(text(&other.key)), "{mixed}");
    assert!(files(&one.key, &one.key).contains("no certificate"));
    assert!(files(&one.certificate, &one.certificate).contains("no private key"));
    let missing = directory.path().join("missing");
    assert!(files(&missing, &one.key).contains(text(&missing)));
    let encrypted = directory.path().join("encrypted");
    let pem = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n";
    std::fs::write(&encrypted, pem).unwrap();
    assert!(files(&one.certificate, &encrypted).contains("is encrypted"));
}

#[test]
fn the_tools_speak_tls() {
    let case = case(&["--tls-auth-clients", "yes"]);
    let port = case.server.tls_port.to_string();
    let client = case.authority.issue("client");
    let target = ["-p", port.as_str(), "--tls"];
    let shown = [
        "--cert",
        text(&client.certificate),
        "--key",
        text(&client.key),
    ];
    let trusted = ["--cacert", text(&case.authority.file)];
    let up = run(&[&["ping"], &target[..], &shown, &trusted].concat());
    assert_eq!(up.stdout, b"PONG\n", "{}", up.stderr.escape_ascii());
    let cli = run(&[&["cli"], &target[..], &shown, &trusted, &["ECHO", "a b"]].concat());
    assert_eq!(cli.stdout, b"a b\n");
    let fails = |more: &[&[&str]]| {
        let mut words = vec!["ping"];
        words.extend(target);
        words.extend(more.concat());
        failure(&words)
    };
    let unknown = fails(&[&shown]);
    assert!(unknown.contains("--cacert"), "{unknown}");
    let name = fails(&[&shown, &trusted, &["--sni", "elsewhere.test"]]);
    assert!(name.contains("--sni"), "{name}");
    assert!(fails(&[&trusted]).contains("CertificateRequired"));
    assert!(failure(&["ping", "-p", &port, "--sni", "x"]).contains("--tls"));
    let plain = case.server.port.to_string();
    let words = [&["ping", "-p", &plain, "--tls"], &trusted[..]].concat();
    assert!(failure(&words).contains("does this port speak TLS?"));
    // Named otherwise than by its address.
    let other = case.authority.issue("elsewhere.test");
    std::fs::copy(&other.certificate, &case.identity.certificate).unwrap();
    std::fs::copy(&other.key, &case.identity.key).unwrap();
    case.server.signal("HUP");
    case.server.wait_for_log("certificates read again");
    let sni = ["--sni", "elsewhere.test"];
    let up = run(&[&["ping"], &target[..], &shown, &trusted, &sni].concat());
    assert_eq!(up.stdout, b"PONG\n", "{}", up.stderr.escape_ascii());
    assert!(case.directory.path().exists());
}
