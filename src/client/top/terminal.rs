//! The terminal, taken over and given back: at an end, a panic and a signal.

use std::io::{self, Stdout, Write};

use ratatui_core::terminal::Terminal;
use ratatui_crossterm::CrosstermBackend;
use ratatui_crossterm::crossterm::{cursor, execute, terminal};

/// A terminal that shows a program and not its lines, until this is dropped.
pub(super) struct Screen {
    pub terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl Screen {
    /// Takes it over.
    pub(super) fn take() -> io::Result<Self> {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            give_back();
            before(panic);
            // Whichever thread it was: nobody would draw, or ask, any more.
            std::process::exit(101);
        }));
        terminal::enable_raw_mode()?;
        let terminal = Terminal::new(CrosstermBackend::new(io::stdout()));
        // From here on it is given back, whatever fails.
        let screen = Self {
            terminal: terminal.inspect_err(|_| give_back())?,
        };
        execute!(io::stdout(), terminal::EnterAlternateScreen, cursor::Hide)?;
        Ok(screen)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

/// Gives it back. What fails cannot be helped: it may be gone.
fn give_back() {
    let _ = execute!(io::stdout(), terminal::LeaveAlternateScreen, cursor::Show);
    let _ = io::stdout().flush();
    let _ = terminal::disable_raw_mode();
}
