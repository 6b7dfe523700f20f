//! Colours. Blue and orange, which nearly everybody can tell apart, on dark grounds and on light ones; and never alone:
//! whatever has a colour says in words what it is.

use ratatui_core::style::{Color, Modifier, Style};

/// Which colours there are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Palette {
    has_colours: bool,
}

impl Palette {
    /// With colours, unless `NO_COLOR` is set (no-color.org).
    pub(super) fn of_environment() -> Self {
        let wants_none = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self {
            has_colours: !wants_none,
        }
    }

    fn colour(self, index: u8) -> Style {
        match self.has_colours {
            true => Style::new().fg(Color::Indexed(index)),
            false => Style::new(),
        }
    }

    pub(super) const fn plain(self) -> Style {
        Style::new()
    }

    /// What was granted.
    pub(super) fn granted(self) -> Style {
        self.colour(32)
    }

    /// What was denied, and what is wrong.
    pub(super) fn denied(self) -> Style {
        self.colour(166)
    }

    /// Titles.
    pub(super) const fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// What may be passed over.
    pub(super) const fn faint(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    /// What is chosen.
    pub(super) const fn chosen(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// What somebody should do something about.
    pub(super) fn alarm(self) -> Style {
        self.denied()
            .add_modifier(Modifier::BOLD)
            .add_modifier(Modifier::REVERSED)
    }
}

#[cfg(test)]
impl Palette {
    pub(super) const fn with_colours(has_colours: bool) -> Self {
        Self { has_colours }
    }
}
