//! Reads a command's arguments one after another, each error naming the one it stopped at.

use super::error::Error;
use crate::core::number;
use crate::core::units::Span;
use crate::protocol::Arguments;
use crate::store::KEY_BYTES_MAX;

/// What an amount takes.
pub const AMOUNT: &str = "an integer from 1 to 1000000000000";
/// What a duration takes.
pub const DURATION: &str = "a whole number of milliseconds, or a decimal with one of the units ns us ms s m h d, up to 3650 days";

/// The name of a key that may come to exist.
///
/// # Errors
/// It is too long.
pub fn check_key(name: &[u8]) -> Result<&[u8], Error> {
    if name.len() > KEY_BYTES_MAX {
        return Err(Error::argument("key", "at most 512 bytes long"));
    }
    Ok(name)
}

/// A place among the arguments of a request.
#[derive(Clone, Copy)]
pub struct Cursor<'a> {
    arguments: Arguments<'a>,
    at: usize,
}

impl<'a> Cursor<'a> {
    /// Begins behind the command's name.
    pub fn new(arguments: Arguments<'a>) -> Self {
        Self { arguments, at: 1 }
    }

    /// Goes past `count` arguments, which are known to be there.
    pub const fn skip(&mut self, count: usize) {
        self.at += count;
    }

    /// The index of the argument that comes next.
    pub const fn index(&self) -> usize {
        self.at
    }

    /// The next argument, not yet taken.
    pub fn peek(&self) -> Option<&'a [u8]> {
        self.arguments.get(self.at)
    }

    /// Takes the next argument.
    ///
    /// # Errors
    /// [`Error::Missing`] at the end.
    pub fn take(&mut self, name: &'static str) -> Result<&'a [u8], Error> {
        let argument = self.peek().ok_or(Error::Missing(name))?;
        self.at += 1;
        Ok(argument)
    }

    /// Takes the next argument if it is this keyword, in any case.
    pub fn keyword(&mut self, word: &str) -> bool {
        let found = self
            .peek()
            .is_some_and(|argument| argument.eq_ignore_ascii_case(word.as_bytes()));
        self.at += usize::from(found);
        found
    }

    /// Takes the keyword and notes that it was there.
    ///
    /// # Errors
    /// [`Error::Repeated`] if it was there before.
    pub fn option(&mut self, word: &'static str, seen: &mut bool) -> Result<bool, Error> {
        if !self.keyword(word) {
            return Ok(false);
        }
        if std::mem::replace(seen, true) {
            return Err(Error::Repeated(word));
        }
        Ok(true)
    }

    /// Takes a key's name.
    pub fn key(&mut self) -> Result<&'a [u8], Error> {
        check_key(self.take("key")?)
    }

    /// Takes what `read` understands.
    pub fn value<T>(
        &mut self,
        name: &'static str,
        takes: &'static str,
        read: impl FnOnce(&'a [u8]) -> Option<T>,
    ) -> Result<T, Error> {
        read(self.take(name)?).ok_or(Error::Argument { name, takes })
    }

    /// Takes an amount, 1 to 10^12.
    pub fn amount(&mut self, name: &'static str) -> Result<u64, Error> {
        self.value(name, AMOUNT, number::amount)
    }

    /// Takes a duration, zero included.
    pub fn duration_or_zero(&mut self, name: &'static str) -> Result<Span, Error> {
        self.value(name, DURATION, number::duration)
    }

    /// Takes a duration above zero.
    pub fn duration(&mut self, name: &'static str) -> Result<Span, Error> {
        const TAKES: &str = "above 0: a whole number of milliseconds, or a decimal with one of the units ns us ms s m h d, up to 3650 days";
        self.value(name, TAKES, |text| {
            number::duration(text).filter(|span| *span > Span::ZERO)
        })
    }

    /// Checks that nothing is left.
    ///
    /// # Errors
    /// [`Error::UnknownOption`] with what is left.
    pub fn finish(&self) -> Result<(), Error> {
        match self.peek() {
            Some(word) => Err(Error::UnknownOption(word.to_vec())),
            None => Ok(()),
        }
    }
}
