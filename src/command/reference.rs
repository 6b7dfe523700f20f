//! `docs/commands.md`, from the table.

use super::limits;
use super::spec::{Arity, Group, Keys, Spec};
use super::table::COMMANDS;
use std::fmt::Write as _;

const HEAD: &str = "\
# Commands

Written from the table of commands in `src/command/table.rs`; `UPDATE_DOCS=1 cargo test --test docs` writes it anew.

Names and keywords may be written in any case. `[ ]` may be left out, `< | >` is one of several, `...` may be
repeated. *Arguments* counts all words of a request, the name included. A number that a reply rounds is rounded so
that obeying it works: waits and times up, remaining permits down.
";

/// What the server publishes by itself.
const EVENTS: &str = "
The server publishes by itself (`<db>` is the number of the database; [clients.md](clients.md#events) says more):

- `__rl@<db>__:pause`, payload `<ms> <key>`: a key was paused, and so many milliseconds are left
- `__rl@<db>__:resume`, payload `<key>`: a pause or a slow-down was ended
- `__rl@<db>__:lease-lapsed`, payload `<lease> <key>`: a lease ran out
- `__rl@<db>__:policy`, payload `<name>`: a policy was set or removed

The number ends at the first space; all that follows is the key, byte for byte.
";

/// The whole page.
pub fn markdown() -> String {
    let mut page = HEAD.to_owned();
    for group in Group::ALL {
        let commands = || COMMANDS.iter().filter(move |spec| spec.group == group);
        let links: Vec<String> = commands().map(|spec| link(spec)).collect();
        page += &format!("\n## {}\n\n{}\n", group.title(), links.join(" · "));
        match group {
            Group::RateLimit => page += &limits(),
            Group::PubSub => page += EVENTS,
            _ => {}
        }
        for spec in commands() {
            write_command(&mut page, spec, "###");
            for spec in spec.subcommands {
                write_command(&mut page, spec, "####");
            }
        }
    }
    page
}

/// A link to a command's heading, whose anchor is the name in lower case without its dots.
fn link(spec: &Spec) -> String {
    let anchor = spec.lower_name().replace('.', "");
    format!("[{}](#{anchor})", spec.name)
}

/// What `<limit>` stands for, once for all commands.
fn limits() -> String {
    let mut text = String::from("\n`<limit>` is one of:\n\n");
    for form in limits::LIMIT.parts() {
        // Writing to a text cannot fail.
        let _ = writeln!(text, "- `{form}`");
    }
    text
}

fn write_command(page: &mut String, spec: &Spec, heading: &str) {
    let name = spec.name.replace('|', " ");
    let syntax = syntax(spec);
    let between = if syntax.is_empty() { "" } else { " " };
    let flags: Vec<&str> = spec.flags.names().collect();
    let flags = if flags.is_empty() {
        "none".to_owned()
    } else {
        flags.join(", ")
    };
    let categories: Vec<String> = spec
        .categories()
        .names()
        .map(|name| format!("@{name}"))
        .collect();
    *page += &format!("\n{heading} {name}\n\n");
    if spec.subcommands.is_empty() || spec.arity.accepts(1) {
        *page += &format!("```\n{name}{between}{syntax}\n```\n\n");
    }
    *page += &format!("{}.\n\n", spec.summary);
    if !spec.subcommands.is_empty() && !spec.arity.accepts(1) {
        return;
    }
    *page += &format!("- Reply: {}\n", spec.reply);
    *page += &format!(
        "- Arguments: {}. Keys: {}.\n",
        arity(spec.arity),
        keys(spec.keys)
    );
    *page += &format!(
        "- Flags: {flags}. Categories: {}. Since {}.\n",
        categories.join(" "),
        spec.since
    );
}

/// The arguments, with the forms of a limit left to their own list.
fn syntax(spec: &Spec) -> String {
    spec.syntax().replace(&limits::LIMIT.to_string(), "<limit>")
}

fn arity(Arity { min, max }: Arity) -> String {
    match max {
        _ if min == max => min.to_string(),
        usize::MAX => format!("at least {min}"),
        _ => format!("{min} to {max}"),
    }
}

fn keys(keys: Keys) -> &'static str {
    match keys {
        Keys::None => "none",
        Keys::Range {
            last: -1, step: 1, ..
        } => "all arguments",
        Keys::Range { last: -1, .. } => "every second argument",
        Keys::Range { last: 1, .. } => "the first argument",
        Keys::Range { .. } => "the first two arguments",
        Keys::Found(_) => "the first argument, and the one behind each `AND`",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::spec::{Argument, ArgumentKind};

    #[test]
    fn syntax_is_written_as_people_expect_it() {
        let shown = |name: &[u8]| {
            let spec = super::super::table::find(name).unwrap();
            syntax(spec)
        };
        assert_eq!(
            shown(b"RL.RESERVE"),
            "key <limit> max_wait [COST cost] [AND key <limit> [COST cost] ...] [TICKET [ttl]] [ID text] [INFO]"
        );
        assert_eq!(shown(b"DEL"), "key [key ...]");
        assert_eq!(shown(b"FLUSHALL"), "[ASYNC | SYNC]");
    }

    #[test]
    fn every_argument_of_several_parts_has_parts() {
        fn check(argument: &Argument) {
            let several = matches!(
                argument.kind,
                ArgumentKind::OneOf(_) | ArgumentKind::Block(_)
            );
            assert_eq!(several, !argument.parts().is_empty(), "{}", argument.name);
            argument.parts().iter().for_each(check);
        }
        for spec in COMMANDS {
            spec.arguments.iter().for_each(check);
            for spec in spec.subcommands {
                spec.arguments.iter().for_each(check);
            }
        }
    }
}
