//! `tollgate top`: what goes on at a server, live in a terminal, or one look as text.
//!
//! [`ask`] asks the server the few commands that anybody may ask it, [`parse`] makes a [`reading`] of what comes, and
//! [`screen`] draws one on a buffer of characters, by [`state`], which the keyboard changes. Only [`live`] and
//! [`terminal`] know that there is a terminal.

pub mod arguments;
mod ask;
mod chart;
mod detail;
#[cfg(test)]
mod fixture;
mod head;
mod live;
mod once;
mod palette;
pub(super) mod parse;
mod past;
mod rates;
pub(super) mod reading;
mod screen;
mod state;
mod table;
mod terminal;
pub(super) mod words;

#[cfg(test)]
mod screen_tests;
#[cfg(test)]
mod state_tests;

use std::io::{self, IsTerminal, Write};

use arguments::TopArguments;
use ask::{Asker, Question};

/// Shows what goes on; false if something of one look is missing.
///
/// # Errors
/// A line that says why there is nothing to show.
pub fn run(arguments: &TopArguments) -> Result<bool, String> {
    let is_dumb = std::env::var_os("TERM").is_some_and(|kind| kind == "dumb");
    let has_terminal = io::stdin().is_terminal() && io::stdout().is_terminal() && !is_dumb;
    if has_terminal && !arguments.once && !arguments.json {
        return live::run(arguments).map(|()| true);
    }
    look_once(arguments)
}

fn look_once(arguments: &TopArguments) -> Result<bool, String> {
    let question = Question {
        kind: arguments.kind,
        pattern: arguments.pattern.clone().map(String::into_bytes),
        count: usize::from(arguments.count),
        closely: 0..usize::MAX,
        key: None,
    };
    let reading = Asker::new(arguments)?.ask(&question)?;
    let text = match arguments.json {
        true => once::json(&reading),
        false => once::text(&reading, &arguments.target.place().to_string()),
    };
    // Whoever stopped reading does not want the rest.
    let _ = io::stdout().lock().write_all(text.as_bytes());
    Ok(head::missing(&reading).is_empty())
}
