//! What follows a command's name, for the documentation.

use std::fmt;

/// One argument, for documentation and for `COMMAND DOCS`.
#[derive(Clone, Copy)]
pub struct Argument {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub kind: ArgumentKind,
    /// The keyword in front of it.
    pub token: Option<&'static str>,
    /// It may be left out.
    pub optional: bool,
    /// It may be repeated.
    pub multiple: bool,
}

/// What an argument is, in the words of `COMMAND DOCS`.
#[derive(Clone, Copy)]
pub enum ArgumentKind {
    /// A key's name.
    Key,
    /// Any text.
    String,
    /// An integer.
    Integer,
    /// A decimal number.
    Double,
    /// A glob pattern.
    Pattern,
    /// The keyword alone.
    Token,
    /// One of several.
    OneOf(&'static [Argument]),
    /// Several together.
    Block(&'static [Argument]),
}

impl Argument {
    /// An argument that must be there once.
    pub const fn new(name: &'static str, kind: ArgumentKind) -> Self {
        Self {
            name,
            kind,
            token: None,
            optional: false,
            multiple: false,
        }
    }

    /// A key.
    pub const fn key(name: &'static str) -> Self {
        Self::new(name, ArgumentKind::Key)
    }

    /// A text.
    pub const fn string(name: &'static str) -> Self {
        Self::new(name, ArgumentKind::String)
    }

    /// An integer.
    pub const fn integer(name: &'static str) -> Self {
        Self::new(name, ArgumentKind::Integer)
    }

    /// A keyword that is one of several.
    pub const fn choice(name: &'static str, token: &'static str) -> Self {
        Self::new(name, ArgumentKind::Token).token(token)
    }

    /// A keyword that may stand there.
    pub const fn flag(name: &'static str, token: &'static str) -> Self {
        Self {
            token: Some(token),
            optional: true,
            ..Self::new(name, ArgumentKind::Token)
        }
    }

    /// With a keyword in front.
    pub const fn token(self, token: &'static str) -> Self {
        Self {
            token: Some(token),
            ..self
        }
    }

    /// May be left out.
    pub const fn optional(self) -> Self {
        Self {
            optional: true,
            ..self
        }
    }

    /// May be repeated.
    pub const fn multiple(self) -> Self {
        Self {
            multiple: true,
            ..self
        }
    }

    /// Redis's name for the kind.
    pub const fn type_name(&self) -> &'static str {
        match self.kind {
            ArgumentKind::Key => "key",
            ArgumentKind::String => "string",
            ArgumentKind::Integer => "integer",
            ArgumentKind::Double => "double",
            ArgumentKind::Pattern => "pattern",
            ArgumentKind::Token => "pure-token",
            ArgumentKind::OneOf(_) => "oneof",
            ArgumentKind::Block(_) => "block",
        }
    }

    /// What it consists of.
    pub const fn parts(&self) -> &'static [Argument] {
        match self.kind {
            ArgumentKind::OneOf(parts) | ArgumentKind::Block(parts) => parts,
            _ => &[],
        }
    }
}

/// As the documentation writes it: `[COST cost]`, `<a | b>`, `key [key ...]`.
impl fmt::Display for Argument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let body = |f: &mut fmt::Formatter<'_>| {
            let words = |f: &mut fmt::Formatter<'_>, between: &str| {
                self.parts()
                    .iter()
                    .enumerate()
                    .try_for_each(|(index, part)| {
                        let between = if index == 0 { "" } else { between };
                        write!(f, "{between}{part}")
                    })
            };
            match (self.token, self.kind) {
                (Some(token), ArgumentKind::Token) => write!(f, "{token}"),
                (Some(token), ArgumentKind::OneOf(_)) => {
                    write!(f, "{token} <")?;
                    words(f, " | ")?;
                    write!(f, ">")
                }
                (None, ArgumentKind::OneOf(_)) if self.optional => words(f, " | "),
                (None, ArgumentKind::OneOf(_)) => {
                    write!(f, "<")?;
                    words(f, " | ")?;
                    write!(f, ">")
                }
                (token, ArgumentKind::Block(_)) => {
                    token.iter().try_for_each(|token| write!(f, "{token} "))?;
                    words(f, " ")
                }
                (Some(token), _) => write!(f, "{token} {}", self.name),
                (None, _) => write!(f, "{}", self.name),
            }
        };
        if self.optional {
            write!(f, "[")?;
        }
        body(f)?;
        if self.multiple && self.optional {
            write!(f, " ...")?;
        } else if self.multiple {
            write!(f, " [")?;
            body(f)?;
            write!(f, " ...]")?;
        }
        if self.optional {
            write!(f, "]")?;
        }
        Ok(())
    }
}
