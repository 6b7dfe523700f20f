//! Scripts by the grammar of the commands: from the rows of the table, so that a new command is played by itself.

use super::super::Random;
use super::script::CLIENTS;
use tollgate::command::spec::{Argument, ArgumentKind, Spec};
use tollgate::command::table::COMMANDS;
use tollgate::script::scripts;

const KEYS: &[&str] = &[
    "k",
    "k",
    "k",
    "l",
    "m",
    "acct:7",
    "",
    "%00%ff%0d%0a",
    "%{512}",
    "%{513}",
];
const AMOUNTS: &[&str] = &[
    "1",
    "1",
    "2",
    "3",
    "5",
    "7",
    "80",
    "150",
    "100000",
    "1000000000000",
    "1000000000001",
    "0",
    "-1",
    "1.5",
    "1,2",
];
const RATES: &[&str] = &[
    "1",
    "2",
    "7/2s",
    "80",
    "0.5",
    "100/m",
    "1/5m",
    "150/60s",
    "1/3650d",
    "1000000000",
    "99999.999999999999",
    "0.0002777777777777778",
    "3/7h",
    "0",
    "1/0s",
    "1e5",
    "-1",
];
const DURATIONS: &[&str] = &[
    "0", "1", "1ns", "999us", "500ms", "1s", "2s", "1500ms", "0.5s", "10s", "60s", "1m", "24h",
    "3650d", "3651d", "-1", "1w",
];
const INTEGERS: &[&str] = &[
    "0",
    "1",
    "2",
    "3",
    "-1",
    "-2",
    "10",
    "16",
    "100",
    "1000",
    "65536",
    "1700000000",
    "1700000001",
    "1700000000001",
    "2147483647",
    "4294967296",
    "9007199254740992",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551616",
    "340282366920938463463374607431768211456",
    "007",
    "+1",
    "",
];
const DOUBLES: &[&str] = &[
    "0",
    "1",
    "-1",
    "0.5",
    "0.001",
    "0.999",
    "2",
    "3.0e3",
    "1e308",
    "-1e-308",
    "inf",
    "-inf",
    "nan",
    "(1",
    "-",
    "1.7976931348623157e308",
];
const PATTERNS: &[&str] = &["*", "k*", "c", "[a-k]", "__rl@0__:*", "?", "*******a", "[^"];
const WORDS: &[&str] = &[
    "a",
    "b",
    "p",
    "q",
    "c",
    "default",
    "secret",
    "value",
    "10",
    "%0d%0a",
    "%00",
    "%{1000}",
    "%{65536}",
    "%{65537}",
    "",
    "INFO",
    "COST",
    "AND",
    "k",
    "maxclients",
    "requirepass",
    "max-bookings",
    "loglevel",
    "nodes",
    "all",
];
const NUMBERS_REPLIED: &[&str] = &["$0", "$0", "$0", "$1", "$2", "$3", "$9", "1", "0"];

/// A script that differs a little from `script`, which may be anything.
pub fn mutate(script: &[u8], random: &mut Random) -> Vec<u8> {
    let lines = script.split(|&byte| byte == b'\n');
    let mut lines: Vec<Vec<u8>> = lines.map(<[u8]>::to_vec).collect();
    for _ in 0..=random.below(3) {
        change(&mut lines, random);
    }
    lines.join(&b'\n')
}

fn change(lines: &mut Vec<Vec<u8>>, random: &mut Random) {
    let at = random.below(lines.len());
    match random.below(8) {
        0..=2 => lines.insert(at, line(random)),
        3 => lines[at] = line(random),
        4 => lines.insert(at, lines[random.below(lines.len())].clone()),
        5 if lines.len() > 1 => drop(lines.remove(at)),
        5 | 6 => {
            let other = random.below(lines.len());
            lines.swap(at, other);
        }
        _ => change_word(&mut lines[at], random),
    }
}

fn change_word(line: &mut Vec<u8>, random: &mut Random) {
    let mut words: Vec<Vec<u8>> = line.split(|&b| b == b' ').map(<[u8]>::to_vec).collect();
    let at = random.below(words.len());
    match random.below(4) {
        0 => words[at] = anything(random).into(),
        1 => words.insert(at, anything(random).into()),
        2 => words.insert(at, words[random.below(words.len())].clone()),
        _ => drop(words.remove(at)),
    }
    *line = words.join(&b' ');
}

fn anything(random: &mut Random) -> &'static str {
    let kinds = [
        KEYS,
        AMOUNTS,
        RATES,
        DURATIONS,
        INTEGERS,
        DOUBLES,
        PATTERNS,
        WORDS,
        NUMBERS_REPLIED,
    ];
    let kind = kinds[random.below(kinds.len())];
    random.pick(kind)
}

/// One line.
fn line(random: &mut Random) -> Vec<u8> {
    let client = random.below(CLIENTS);
    if random.once_in(50) {
        return format!("{client}!").into();
    }
    let spec = row(random);
    let words = match spec.name {
        "DEBUG|CLOCK" if random.once_in(2) => {
            format!("DEBUG CLOCK ADVANCE {}", random.pick(DURATIONS))
        }
        "EVALSHA" if !random.once_in(4) => script_call(random),
        _ => {
            let mut words: Vec<String> = spec.name.split('|').map(str::to_owned).collect();
            for argument in spec.arguments {
                write(argument, &mut words, random);
            }
            words.join(" ")
        }
    };
    let kind = if random.once_in(8) { '+' } else { ' ' };
    let asked = if random.once_in(30) {
        "COMMAND GETKEYS "
    } else {
        ""
    };
    format!("{client}{kind}{asked}{words}").into()
}

/// A call of a known script in which the number of keys is right; most of what they take is numbers.
fn script_call(random: &mut Random) -> String {
    let sha1 = value("sha1", ArgumentKind::String, random);
    let numkeys = 1 + random.below(4);
    let mut call = format!("EVALSHA {sha1} {numkeys}");
    for _ in 0..numkeys {
        call += &format!(" {}", random.pick(KEYS));
    }
    for _ in 0..random.below(8) {
        let from = [AMOUNTS, AMOUNTS, INTEGERS, DOUBLES, WORDS][random.below(5)];
        call += &format!(" {}", random.pick(from));
    }
    call
}

/// A command or a subcommand: those of limits, of which the most can be said, and the steps of time more often.
fn row(random: &mut Random) -> &'static Spec {
    let own: Vec<&Spec> = COMMANDS
        .iter()
        .copied()
        .filter(|spec| spec.name.starts_with("RL."))
        .collect();
    let named = |name: &str| COMMANDS.iter().copied().find(|spec| spec.name == name);
    let mut spec = match random.below(8) {
        0..=2 => own[random.below(own.len())],
        3 => named(random.pick(&["DEBUG", "MULTI", "EXEC", "EVALSHA"])).unwrap_or(own[0]),
        _ => COMMANDS[random.below(COMMANDS.len())],
    };
    if !spec.subcommands.is_empty() {
        spec = &spec.subcommands[random.below(spec.subcommands.len())];
    }
    spec
}

fn write(argument: &Argument, words: &mut Vec<String>, random: &mut Random) {
    if argument.optional && !random.once_in(2) {
        return;
    }
    // Left out or twice, now and then, as it must not be.
    let times = match random.below(if argument.multiple { 6 } else { 40 }) {
        0 => 2,
        1 if argument.multiple => 3,
        1 => 0,
        _ => 1,
    };
    for _ in 0..times {
        words.extend(argument.token.map(str::to_owned));
        match argument.kind {
            ArgumentKind::Token => {}
            ArgumentKind::OneOf(parts) => write(&parts[random.below(parts.len())], words, random),
            ArgumentKind::Block(parts) => parts.iter().for_each(|part| write(part, words, random)),
            _ if random.once_in(16) => words.push(anything(random).to_owned()),
            kind => words.push(value(argument.name, kind, random)),
        }
    }
}

fn value(name: &str, kind: ArgumentKind, random: &mut Random) -> String {
    let from = match name {
        "ticket" | "lease" => NUMBERS_REPLIED,
        "rate" => RATES,
        "period" | "ttl" | "max_wait" | "duration" | "recover" | "timeout" => DURATIONS,
        "capacity" | "count" | "max" | "cost" | "max_burst" | "quantity" | "actual" | "tokens"
        | "tokens_per_period" => AMOUNTS,
        "factor" => DOUBLES,
        "client-id" | "numkeys" | "index" | "priority" | "protover" => &INTEGERS[..5],
        "sha1" => {
            let scripts: Vec<&str> = scripts().map(|script| script.sha1).collect();
            return random.pick(&scripts).to_owned();
        }
        _ => match kind {
            ArgumentKind::Key => KEYS,
            ArgumentKind::Integer => INTEGERS,
            ArgumentKind::Double => DOUBLES,
            ArgumentKind::Pattern => PATTERNS,
            _ => WORDS,
        },
    };
    random.pick(from).to_owned()
}
