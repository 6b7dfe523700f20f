//! ACL GENPASS: a password that nobody guesses.

use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::number;
use crate::command::spec::{Argument, Arity, Flags, Group, Spec};
use crate::protocol::Arguments;

/// Bits unless told otherwise.
const BITS: usize = 256;
/// Most bits, as in Redis.
const BITS_MAX: usize = 4096;

/// The row.
pub(super) const SPEC: Spec = Spec {
    summary: "Make up a password",
    arguments: &[Argument::integer("bits").optional()],
    reply: "Hexadecimal digits, four bits each: 256 bits unless given, at most 4096. They come from the system's source of randomness.",
    flags: Flags::NOSCRIPT,
    ..Spec::new("ACL|GENPASS", Group::Server, Arity::between(2, 3), run)
};

fn run(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let bits = arguments.get(2).map(number::required).transpose()?;
    let bits = match bits.map(usize::try_from) {
        None => BITS,
        Some(Ok(bits)) if (1..=BITS_MAX).contains(&bits) => bits,
        Some(_) => {
            return Err(Error::redis(
                "ERR ACL GENPASS argument must be the number of bits for the output password, a positive number up to 4096",
            ));
        }
    };
    let mut bytes = [0; BITS_MAX / 8];
    // Without randomness there is no password, rather than a bad one.
    getrandom::fill(&mut bytes)
        .map_err(|_| Error::redis("ERR the system has no randomness to give"))?;
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    context.reply.bulk(&digits.as_bytes()[..bits.div_ceil(4)]);
    Ok(())
}
