//! The live view. One thread draws; one waits for the keyboard, one asks the server, one waits for signals, and each tells
//! the first what there is.

use std::io;
use std::sync::mpsc::{Sender, channel};

use ratatui_crossterm::crossterm::event::{self, Event};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

use super::arguments::TopArguments;
use super::ask::{Asker, News, Question, keep_asking};
use super::palette::Palette;
use super::reading::Kind;
use super::screen;
use super::state::{RANKED_MAX, State, Then};
use super::terminal::Screen;

/// What the drawing thread is told.
enum Happening {
    Terminal(Event),
    Server(News),
    Signal(i32),
    Broken(io::Error),
}

/// Shows the live view until it is ended.
///
/// # Errors
/// A line that says why there is nothing to show.
pub(super) fn run(arguments: &TopArguments) -> Result<(), String> {
    let kind = arguments.kind.unwrap_or(Kind::Denied);
    let question = Question {
        kind: Some(kind),
        pattern: arguments.pattern.clone().map(String::into_bytes),
        count: RANKED_MAX,
        ..Question::default()
    };
    let mut asker = Asker::new(arguments)?;
    // Before anything is drawn: a name that is mistyped is a line, not a screen.
    let reading = asker.ask(&question)?;
    let mut state = State::new(
        super::words::text(arguments.target.place().to_string().as_bytes()),
        arguments.database,
        kind,
        arguments.pattern.clone(),
        reading,
    );
    let signal = show(arguments, asker, &mut state, question).map_err(|error| error.to_string())?;
    if let Some(signal) = signal {
        // As whoever sent it expects; the terminal has been given back.
        emulate_default_handler(signal).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Draws until a key or a signal ends it; that signal.
fn show(
    arguments: &TopArguments,
    asker: Asker,
    state: &mut State,
    first: Question,
) -> io::Result<Option<i32>> {
    let palette = Palette::of_environment();
    let (tell, happenings) = channel();
    let (ask, questions) = channel();
    wait_for_signals(tell.clone())?;
    let mut screen = Screen::take()?;
    wait_for_keys(tell.clone());
    let (interval, asked_first) = (arguments.interval, first.clone());
    std::thread::spawn(move || {
        let tell = |news| tell.send(Happening::Server(news)).is_ok();
        keep_asking(asker, asked_first, interval, &questions, tell);
    });
    let mut asked = first;
    loop {
        let drawn = screen.terminal.draw(|frame| {
            screen::draw(frame.buffer_mut(), state, palette);
        });
        drawn?;
        let question = state.question();
        if question != asked {
            // Whoever asks lives as long as this.
            let _ = ask.send(question.clone());
            asked = question;
        }
        let Ok(happening) = happenings.recv() else {
            return Ok(None);
        };
        // What has come meanwhile is shown by the same drawing.
        for happening in [happening].into_iter().chain(happenings.try_iter()) {
            match happening {
                Happening::Terminal(Event::Key(key)) => {
                    if state.press(key) == Then::End {
                        return Ok(None);
                    }
                }
                // Another size: drawn anew.
                Happening::Terminal(_) => {}
                Happening::Server(news) => state.hear(news),
                Happening::Signal(signal) => return Ok(Some(signal)),
                Happening::Broken(error) => return Err(error),
            }
        }
    }
}

fn wait_for_signals(tell: Sender<Happening>) -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGQUIT])?;
    std::thread::spawn(move || {
        let mut is_told = false;
        for signal in signals.forever() {
            // The second one does not wait for a terminal that takes nothing any more.
            if is_told || tell.send(Happening::Signal(signal)).is_err() {
                let _ = emulate_default_handler(signal);
            }
            is_told = true;
        }
    });
    Ok(())
}

fn wait_for_keys(tell: Sender<Happening>) {
    std::thread::spawn(move || {
        loop {
            let happening = match event::read() {
                Ok(event) => Happening::Terminal(event),
                Err(error) => Happening::Broken(error),
            };
            let is_broken = matches!(happening, Happening::Broken(_));
            if tell.send(happening).is_err() || is_broken {
                return;
            }
        }
    });
}
