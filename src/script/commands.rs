//! The commands that scripts call, as operations over the slots of one call: the same as the server's own.

use super::answer::Failure;
use super::{Call, lua};
use crate::core::number;
use crate::core::units::MILLISECOND;
use crate::plain::expiry::{self, Conditions};
use crate::plain::text::{self, Condition};
use crate::plain::{Deadline, Expiry, PlainError, Text, counter};

/// An integer among the arguments of a command.
///
/// # Errors
/// As in Redis.
pub fn integer(argument: &[u8]) -> Result<i64, Failure> {
    Ok(number::signed_integer(argument).ok_or(PlainError::NotAnInteger)?)
}

impl Call<'_> {
    /// `GET`.
    pub fn get(&mut self, key: usize) -> Result<Option<Vec<u8>>, Failure> {
        let text = text::get(self.key(key)?)?;
        Ok(text.map(|text| text.with_bytes(<[u8]>::to_vec)))
    }

    /// `tonumber(GET)`; `None` also for what is no number.
    pub fn get_number(&mut self, key: usize) -> Result<Option<f64>, Failure> {
        Ok(self.get(key)?.and_then(|text| lua::number(&text)))
    }

    /// `INCRBY`, as Lua sees its reply: beyond 2^53 rounded.
    pub fn incr_by(&mut self, key: usize, by: &[u8]) -> Result<f64, Failure> {
        let by = integer(by)?;
        Ok(counter::add(self.key(key)?, by)? as f64)
    }

    /// `EXISTS`.
    pub fn exists(&mut self, key: usize) -> Result<bool, Failure> {
        Ok(self.key(key)?.is_some())
    }

    /// `DEL`.
    pub fn delete(&mut self, key: usize) -> Result<bool, Failure> {
        Ok(self.key(key)?.take().is_some())
    }

    /// `PTTL`, as Lua sees its reply: -1 for a key that stays, -2 for none.
    pub fn pttl(&mut self, key: usize) -> Result<f64, Failure> {
        let now = self.now;
        let left_ms = match self.key(key)? {
            Some(plain) => plain.gone_after(now).map_or(-1, |left| left.ceil_ms()),
            None => -2,
        };
        Ok(left_ms as f64)
    }

    /// `SET`, which takes the place of any plain value; false if the condition does not hold.
    pub fn set(
        &mut self,
        key: usize,
        value: &[u8],
        condition: Condition,
        expiry: Expiry,
    ) -> Result<bool, Failure> {
        let (value, now) = (Text::new(value)?, self.now);
        Ok(text::set(self.key(key)?, value, condition, expiry, now))
    }

    /// `EXPIRE` (`unit_ms` 1000) and `PEXPIRE` (1); false if there is no such key.
    pub fn expire(
        &mut self,
        key: usize,
        span: &[u8],
        unit_ms: i64,
        command: &str,
    ) -> Result<bool, Failure> {
        let (span, now) = (integer(span)?, self.now);
        let deadline = span
            .checked_mul(unit_ms)
            .and_then(|ms| Deadline::after_ms(now, ms));
        let deadline = deadline.ok_or_else(|| invalid_expiry(command))?;
        let slot = self.key(key)?;
        Ok(expiry::expire(slot, deadline, Conditions::default(), now))
    }

    /// `EXPIREAT`.
    pub fn expire_at(&mut self, key: usize, seconds: &[u8]) -> Result<bool, Failure> {
        let (at, now) = (integer(seconds)?, self.now);
        let at = at.checked_mul(1000);
        let deadline = Deadline::at_ms(at.ok_or_else(|| invalid_expiry("expireat"))?);
        let slot = self.key(key)?;
        Ok(expiry::expire(slot, deadline, Conditions::default(), now))
    }

    /// `EX` (`unit_ms` 1000) or `PX` (1) of a command that sets.
    pub fn expiry(&self, span: &[u8], unit_ms: i64, command: &str) -> Result<Expiry, Failure> {
        let span = integer(span)?;
        if span <= 0 {
            return Err(invalid_expiry(command));
        }
        let deadline = span
            .checked_mul(unit_ms)
            .and_then(|ms| Deadline::after_ms(self.now, ms));
        Ok(Expiry::At(deadline.ok_or_else(|| invalid_expiry(command))?))
    }

    /// `PXAT` of a command that sets.
    pub fn expiry_at(&self, ms: &[u8], command: &str) -> Result<Expiry, Failure> {
        let at = integer(ms)?;
        if at <= 0 {
            return Err(invalid_expiry(command));
        }
        Ok(Expiry::At(Deadline::at_ms(at)))
    }

    /// `RENAME` of a key that exists.
    pub fn rename(&mut self, from: usize, to: usize) -> Result<(), Failure> {
        let value = self.key(from)?.take();
        if value.is_none() {
            return Err(Failure::Redis("ERR no such key".into()));
        }
        *self.key(to)? = value;
        Ok(())
    }

    /// `TIME`, in microseconds since the Unix epoch.
    pub const fn time_us(&self) -> u64 {
        self.now.as_ns() / (MILLISECOND / 1000)
    }
}

fn invalid_expiry(command: &str) -> Failure {
    Failure::Redis(format!("ERR invalid expire time in '{command}' command").into())
}
