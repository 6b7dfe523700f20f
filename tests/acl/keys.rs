//! Every row of the table of commands, with a key of somebody else in each place where a key stands.

use crate::server::{Peer, Server};
use tollgate::command::spec::{Argument, ArgumentKind, Keys, Spec};
use tollgate::command::table::COMMANDS;
use tollgate::script;

const NO_KEY: &str = "-NOPERM No permissions to access a key\r\n";
const FOREIGN: &str = "other:key";

/// A request, and where its keys stand.
struct Request {
    words: Vec<String>,
    keys: Vec<usize>,
}

impl Request {
    /// From a line in which keys of the user's own are called `own:...`.
    fn line(line: &str) -> Self {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let keys = words.iter().enumerate();
        let keys = keys.filter(|(_, word)| word.starts_with("own:"));
        Self {
            keys: keys.map(|(at, _)| at).collect(),
            words,
        }
    }

    /// With somebody else's key in the `nth` place.
    fn with_foreign(&self, nth: usize) -> Vec<String> {
        let mut words = self.words.clone();
        FOREIGN.clone_into(&mut words[self.keys[nth]]);
        words
    }
}

fn rows() -> impl Iterator<Item = &'static Spec> {
    let rows = COMMANDS.iter();
    rows.flat_map(|spec| std::iter::once(*spec).chain(spec.subcommands))
}

/// A request of a row whose keys stand in fixed places: several where it takes several, `1` for what is no key.
fn of_range(spec: &Spec, first: usize, last: i64, step: usize) -> Request {
    let last = match last {
        -1 => first + 2 * step,
        last => usize::try_from(last).unwrap(),
    };
    let keys: Vec<usize> = (first..=last).step_by(step).collect();
    let mut words: Vec<String> = spec.name.split('|').map(str::to_owned).collect();
    let length = spec.arity.min.max(last + step);
    while words.len() < length.min(spec.arity.max) {
        let word = match keys.iter().position(|&at| at == words.len()) {
            Some(nth) => format!("own:{nth}"),
            None => "1".to_owned(),
        };
        words.push(word);
    }
    Request { words, keys }
}

/// Requests of a row whose keys only its grammar finds.
fn of_grammar(name: &str) -> Vec<Request> {
    let several = |first: &str, further: &str| {
        let line = format!(
            "{name} own:0 {first} COST 1 AND own:1 GCRA 3 5 1s AND own:2 WINDOW 7 2s COST 2 AND own:AND LOG 3 1s{further}"
        );
        vec![
            Request::line(&line),
            Request::line(&format!("{name} own:0 {first}")),
            Request::line(&format!(
                "{name} own:COST {first} COST 1 AND own:INFO 5 1 INFO"
            )),
        ]
    };
    match name {
        "RL.RESERVE" | "RL.ACQUIRE" => several("BUCKET 5 1 0", " TICKET ID x INFO"),
        "RL.TAKE" => several("5 1", " TICKET ID x INFO"),
        "RL.PEEK" => several("PACE 5", " INFO"),
        "EVAL" => vec![Request::line("EVAL text 3 own:0 own:1 own:2 own-argument")],
        "EVALSHA" => script::scripts()
            .map(|script| {
                let sha1 = script.sha1;
                Request::line(&format!(
                    "EVALSHA {sha1} 4 own:0 own:1 own:2 own:3 5 1 1 1 1 1 1"
                ))
            })
            .collect(),
        _ => panic!("say how {name} is called"),
    }
}

/// Requests of a row, none if it has no keys.
fn requests(spec: &Spec) -> Vec<Request> {
    match spec.keys {
        Keys::None => Vec::new(),
        Keys::Range { first, last, step } => vec![of_range(spec, first, last, step)],
        Keys::Found(_) => of_grammar(spec.name),
    }
}

/// A server on which somebody else has keys, and a connection that has all rights but to them.
fn server() -> (Server, Peer, Peer) {
    let server = Server::new();
    let mut admin = server.connect();
    for line in [
        "SET other:key 7",
        "SET own:1 7",
        "ACL SETUSER tenant on nopass +@all ~own:* &*",
    ] {
        assert_eq!(admin.line(line), "+OK\r\n", "{line}");
    }
    let tenant = server.connect_as("tenant");
    (server, admin, tenant)
}

/// All that can be seen of the keys.
fn state(admin: &mut Peer) -> Vec<String> {
    let keys = ["other:key", "own:0", "own:1", "own:2", "own:3", "own:AND"];
    let mut state = vec![admin.line("DBSIZE")];
    for key in keys {
        for question in ["TYPE", "PTTL", "GET", "RL.USAGE", "RL.LEASES"] {
            state.push(admin.call(&[question, key]));
        }
    }
    state
}

#[test]
fn a_key_of_somebody_else_is_refused_in_every_place_of_every_command() {
    let mut asked = 0;
    for spec in rows() {
        for request in requests(spec) {
            for nth in 0..request.keys.len() {
                let (_server, mut admin, mut tenant) = server();
                let before = state(&mut admin);
                let words = request.with_foreign(nth);
                assert_eq!(tenant.call(&words), NO_KEY, "{words:?}");
                assert_eq!(state(&mut admin), before, "{words:?}");
                asked += 1;
            }
        }
    }
    assert!(asked > 300, "{asked}");
}

#[test]
fn keys_of_its_own_are_not_refused() {
    for spec in rows() {
        for request in requests(spec) {
            let (_server, _, mut tenant) = server();
            let reply = tenant.call(&request.words);
            assert!(!reply.contains("NOPERM"), "{:?}: {reply}", request.words);
        }
    }
}

#[test]
fn it_is_refused_as_it_is_queued() {
    for spec in rows().filter(|spec| !spec.name.starts_with("WATCH")) {
        for request in requests(spec) {
            for nth in 0..request.keys.len() {
                let (_server, mut admin, mut tenant) = server();
                let before = state(&mut admin);
                let words = request.with_foreign(nth);
                assert_eq!(tenant.line("MULTI"), "+OK\r\n");
                assert_eq!(tenant.line("SET own:0 1"), "+QUEUED\r\n");
                assert_eq!(tenant.call(&words), NO_KEY, "{words:?}");
                let reply = tenant.line("EXEC");
                assert!(reply.starts_with("-EXECABORT"), "{words:?}: {reply}");
                assert_eq!(state(&mut admin), before, "{words:?}");
            }
        }
    }
}

#[test]
fn it_is_refused_as_it_runs_if_it_was_allowed_as_it_was_queued() {
    const REFUSED: &str = "*1\r\n-NOPERM ACLs rules changed between the moment the transaction was accumulated and the EXEC call. This command is no longer allowed for the following reason: no permission to touch the specified keys\r\n";
    for spec in rows().filter(|spec| !spec.name.starts_with("WATCH")) {
        for request in requests(spec) {
            let (_server, mut admin, mut tenant) = server();
            let before = state(&mut admin);
            admin.line("ACL SETUSER tenant ~other:*");
            let words = request.with_foreign(request.keys.len() - 1);
            assert_eq!(tenant.line("MULTI"), "+OK\r\n");
            assert_eq!(tenant.call(&words), "+QUEUED\r\n", "{words:?}");
            admin.line("ACL SETUSER tenant resetkeys ~own:*");
            assert_eq!(tenant.line("EXEC"), REFUSED, "{words:?}");
            assert_eq!(state(&mut admin), before, "{words:?}");
        }
    }
}

#[test]
fn who_may_only_read_changes_nothing_and_the_reverse() {
    for spec in rows() {
        for request in requests(spec) {
            let (_server, mut admin, _) = server();
            admin.line("ACL SETUSER reader on nopass +@all %R~own:*");
            admin.line("ACL SETUSER writer on nopass +@all %W~own:*");
            let reader = _server.connect_as("reader").call(&request.words);
            let writer = _server.connect_as("writer").call(&request.words);
            let touches: Vec<_> = (0..request.keys.len())
                .map(|nth| spec.uses.in_general(spec.flags, nth).touch())
                .collect();
            let reads = touches.iter().any(|touch| touch.reads);
            let writes = touches.iter().any(|touch| touch.writes);
            let name = spec.name;
            assert_eq!(reader == NO_KEY, writes, "{name}: {reader}");
            // SET reads only with GET.
            assert_eq!(writer == NO_KEY, reads && name != "SET", "{name}: {writer}");
            let says_so = writes == spec.categories().names().any(|name| name == "write");
            let scripts = spec.name.starts_with("EVAL");
            assert!(says_so || scripts, "{name} is in @write, or is not");
        }
    }
}

#[test]
fn set_reads_with_get() {
    let (server, mut admin, _) = server();
    admin.line("ACL SETUSER writer on nopass +@all %W~own:*");
    let mut writer = server.connect_as("writer");
    assert_eq!(writer.line("SET own:1 GET"), "+OK\r\n");
    assert_eq!(writer.line("SET own:1 8 get"), NO_KEY);
    assert_eq!(writer.line("SET own:1 8 PX 100 GET"), NO_KEY);
    assert_eq!(admin.line("GET own:1"), "$3\r\nGET\r\n");
}

/// True if a key stands among the arguments as the documentation has them.
fn names_a_key(arguments: &[Argument]) -> bool {
    arguments
        .iter()
        .any(|argument| matches!(argument.kind, ArgumentKind::Key) || names_a_key(argument.parts()))
}

#[test]
fn a_row_with_a_key_among_its_arguments_says_where_its_keys_are() {
    for spec in rows() {
        let has_keys = !matches!(spec.keys, Keys::None);
        assert_eq!(has_keys, names_a_key(spec.arguments), "{}", spec.name);
    }
}
