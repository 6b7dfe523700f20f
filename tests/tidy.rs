//! What the compiler does not check: which module may know which, that every command is documented and played,
//! that nothing sleeps, and that files stay readable.
#![allow(clippy::unwrap_used, reason = "the helpers of tests are tests too")]

use std::collections::BTreeSet;
use std::{fs, path::Path, path::PathBuf};
use tollgate::acl::Categories;
use tollgate::command::reference;
use tollgate::command::spec::Spec;
use tollgate::command::table::{self, COMMANDS};

/// Longest file of `src`, in lines.
const LINES_MAX: usize = 500;

/// What a module of `src` may name in `use crate::...`, itself aside. A module that is not here may name none.
const MAY_USE: &[(&str, &[&str])] = &[
    ("core", &[]),
    ("protocol", &[]),
    ("plain", &["core"]),
    ("script", &["core", "plain"]),
    ("hot", &["core"]),
    ("store", &["core", "plain"]),
    ("waiting", &["core", "store"]),
    ("password", &[]),
    ("cluster", &[]),
    ("settings", &["cluster", "core", "password"]),
    (
        "config",
        &["cluster", "core", "metrics", "password", "settings"],
    ),
    ("clock", &["core"]),
    ("metrics", &[]),
    ("acl", &["glob", "seldom"]),
    ("requests", &[]),
    ("glob", &[]),
    ("seldom", &[]),
    ("memory", &[]),
    ("mailbox", &[]),
    ("clients", &["acl", "core", "mailbox"]),
    ("pubsub", &["clients", "core", "glob", "protocol"]),
    ("events", &["clients", "core", "protocol", "pubsub"]),
    ("persistence", &["core", "plain", "store"]),
    (
        "command",
        &[
            "acl",
            "clients",
            "clock",
            "cluster",
            "core",
            "events",
            "glob",
            "hot",
            "memory",
            "metrics",
            "persistence",
            "plain",
            "protocol",
            "pubsub",
            "requests",
            "script",
            "seldom",
            "settings",
            "store",
            "waiting",
        ],
    ),
    (
        "engine",
        &[
            "acl",
            "clients",
            "clock",
            "command",
            "core",
            "hot",
            "metrics",
            "persistence",
            "protocol",
            "pubsub",
            "requests",
            "script",
            "settings",
            "store",
        ],
    ),
    (
        "session",
        &[
            "acl", "clients", "command", "core", "engine", "metrics", "protocol",
        ],
    ),
    (
        "exposition",
        &[
            "acl", "command", "core", "engine", "memory", "metrics", "store",
        ],
    ),
    ("base64", &[]),
    (
        "page",
        &[
            "acl", "base64", "command", "core", "engine", "hot", "memory", "metrics", "store",
        ],
    ),
    ("pem", &[]),
    (
        "client",
        &["clock", "config", "core", "password", "pem", "protocol"],
    ),
    (
        "export",
        &["config", "core", "persistence", "plain", "store"],
    ),
    ("arguments", &["client", "config", "export", "settings"]),
    ("logging", &["config", "settings"]),
    (
        "server",
        &[
            "acl",
            "base64",
            "clients",
            "clock",
            "command",
            "config",
            "core",
            "engine",
            "exposition",
            "logging",
            "memory",
            "metrics",
            "page",
            "password",
            "pem",
            "persistence",
            "protocol",
            "requests",
            "seldom",
            "session",
            "settings",
            "store",
        ],
    ),
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every Rust file below `directory`, with its path from the root and its text.
fn rust_files(directory: &str) -> Vec<(PathBuf, String)> {
    let mut files = Vec::new();
    let mut directories = vec![root().join(directory)];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                files.push((path.strip_prefix(root()).unwrap().to_owned(), text));
            }
        }
    }
    assert!(!files.is_empty(), "no Rust files in {directory}");
    files
}

/// The module of `src` that a file belongs to: `src/core/units.rs` to `core`.
fn module(path: &Path) -> String {
    let first = path.iter().nth(1).unwrap().to_string_lossy();
    first.trim_end_matches(".rs").to_owned()
}

/// The code of a file, its comments aside.
fn code(text: &str) -> String {
    let lines = text
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

/// The modules that a piece of code names behind `crate::`.
fn used_modules(code: &str) -> BTreeSet<&str> {
    let pieces = code.split("crate::").skip(1);
    pieces
        .flat_map(|piece| {
            let end = |c: char| !(c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
            match piece.strip_prefix('{') {
                // `use crate::{a::B, c}`: each name that follows the brace or a comma.
                Some(list) => {
                    let list = list.split('}').next().unwrap_or_default();
                    list.split(',')
                        .filter_map(|name| name.trim().split(end).next())
                        .collect()
                }
                None => vec![piece.split(end).next().unwrap_or_default()],
            }
        })
        .filter(|name| !name.is_empty())
        .collect()
}

#[test]
fn modules_know_only_those_below_them() {
    let mut wrong = Vec::new();
    for (path, text) in rust_files("src") {
        let module = module(&path);
        if module == "lib" || module == "main" {
            continue;
        }
        let allowed = MAY_USE.iter().find(|(name, _)| *name == module);
        let Some((_, allowed)) = allowed else {
            wrong.push(format!("{}: name `{module}` in MAY_USE", path.display()));
            continue;
        };
        for used in used_modules(&code(&text)) {
            if used != module && !allowed.contains(&used) {
                wrong.push(format!(
                    "{}: `{module}` must not know `{used}`",
                    path.display()
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The files whose code names a word.
fn named_in(directory: &str, word: &str) -> Vec<PathBuf> {
    let files = rust_files(directory).into_iter();
    files
        .filter(|(_, text)| code(text).contains(word))
        .map(|(path, _)| path)
        .collect()
}

#[test]
fn tables_of_keys_are_named_in_one_file() {
    let mut files = named_in("src", "hashbrown::");
    files.retain(|path| path != Path::new("src/store/table.rs"));
    assert!(files.is_empty(), "{files:?}");
}

#[test]
fn commands_reach_limits_through_one_place() {
    let mut wrong = rust_files("src/command");
    wrong.retain(|(path, text)| {
        // Behind it come the tests of a file.
        let code = code(text.split("#[cfg(test)]").next().unwrap_or_default());
        path != Path::new("src/command/access.rs") && code.contains("with_limit")
    });
    let wrong: Vec<_> = wrong.into_iter().map(|(path, _)| path).collect();
    assert!(wrong.is_empty(), "go through command/access.rs: {wrong:?}");
}

#[test]
fn tokio_is_named_at_the_edge_only() {
    let mut files = named_in("src", "tokio::");
    files.retain(|path| !["server", "client", "main"].contains(&module(path).as_str()));
    assert!(files.is_empty(), "{files:?}");
}

#[test]
fn nothing_sleeps() {
    // Put together, so that this file does not name it.
    let word = ["sleep", "("].concat();
    let mut files = named_in("tests", &word);
    files.extend(
        named_in("src", &word)
            .into_iter()
            .filter(|path| module(path) != "server"),
    );
    assert!(files.is_empty(), "wait for what you wait for: {files:?}");
}

#[test]
fn files_stay_readable() {
    let long: Vec<String> = rust_files("src")
        .iter()
        .filter(|(_, text)| text.lines().count() > LINES_MAX)
        .map(|(path, text)| format!("{}: {} lines", path.display(), text.lines().count()))
        .collect();
    assert!(long.is_empty(), "over {LINES_MAX}: {long:?}");
}

/// Every row, subcommands included.
fn rows() -> impl Iterator<Item = &'static Spec> {
    let rows = COMMANDS.iter();
    rows.flat_map(|spec| std::iter::once(*spec).chain(spec.subcommands))
}

#[test]
fn every_command_is_described() {
    let page = reference::markdown();
    let mut names = BTreeSet::new();
    for spec in rows() {
        let name = spec.name;
        assert!(names.insert(name), "{name} is there twice");
        assert_eq!(name, name.to_ascii_uppercase());
        assert!(
            !spec.summary.is_empty() && !spec.summary.ends_with('.'),
            "summary of {name}"
        );
        assert!(spec.reply.ends_with('.'), "reply of {name}");
        assert!(!spec.since.is_empty(), "since of {name}");
        let heading = format!("# {}\n", name.replace('|', " "));
        assert!(
            page.contains(&heading),
            "{name} is not in the documentation"
        );
        match name.split_once('|') {
            Some((command, word)) => {
                let command = table::find(command.as_bytes()).expect(name);
                assert!(command.subcommand(word.as_bytes()).is_some(), "{name}");
            }
            None => assert!(
                table::find(name.as_bytes()).is_some(),
                "{name} is not found"
            ),
        }
    }
}

#[test]
fn every_command_has_categories() {
    let speed = Categories::FAST.and(Categories::SLOW);
    let of_redis = fs::read_to_string(root().join("tests/acl/redis.txt")).unwrap();
    let without: Vec<&str> = rows()
        .filter(|spec| {
            !spec
                .categories()
                .names()
                .any(|name| !speed.names().any(|other| other == name))
        })
        // Redis has rows of which only the speed is said. A bare name in front of subcommands is no command, and help
        // concerns nobody.
        .filter(|spec| spec.subcommands.is_empty() && !spec.name.ends_with("|HELP"))
        .map(|spec| spec.name)
        .filter(|name| {
            let beginning = format!("{} ", name.to_ascii_lowercase());
            !of_redis.lines().any(|line| line.starts_with(&beginning))
        })
        .collect();
    assert!(without.is_empty(), "no categories: {without:?}");
}

#[test]
fn every_command_has_a_transcript() {
    let mut played = String::new();
    for file in fs::read_dir(root().join("tests/transcripts")).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "txt") {
            played += &fs::read_to_string(path).unwrap().to_ascii_uppercase();
        }
    }
    let requests: Vec<&str> = played
        .lines()
        .filter_map(|line| {
            Some(line.trim_start_matches('>')).filter(|rest| rest.len() < line.len())
        })
        .map(str::trim_start)
        .collect();
    let is_played = |name: &str| {
        requests.iter().any(|request| {
            let rest = request.strip_prefix(name);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        })
    };
    let missing: Vec<&str> = rows()
        .map(|spec| spec.name)
        .filter(|name| !is_played(&name.replace('|', " ")))
        .collect();
    assert!(missing.is_empty(), "no transcript plays {missing:?}");
}

#[test]
fn arities_agree_with_the_arguments() {
    for spec in rows() {
        let name_words = spec.name.split('|').count();
        let least = name_words
            + spec
                .arguments
                .iter()
                .filter(|argument| !argument.optional)
                .count();
        // What is counted as one argument may be several words, never fewer.
        assert!(
            spec.arity.min >= least && spec.arity.max >= spec.arity.min,
            "{}: {:?} for `{}`",
            spec.name,
            spec.arity,
            spec.syntax()
        );
    }
}
