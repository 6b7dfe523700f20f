//! What a line of a script says.
//!
//! ```text
//! 0 RL.TAKE k 2 1    client 0 sends a request, as an array of bulk strings
//! 0+GET k            as well, together with what it sends next
//! 0<*1%0d%0a         client 0 sends these bytes
//! 0!                 the connection of client 0 breaks
//! ```
//!
//! Any other line is bytes that client 0 sends, with CR LF behind. In all of them `%0d` is a byte, `%{70000}` stands for so
//! many letters; a word `$0` is the last large number that somebody was replied (a ticket or a lease), `$1` the one before.

use std::collections::VecDeque;

/// Clients at most.
pub const CLIENTS: usize = 4;

/// Most letters that one script spells with `%{}`.
const LETTERS_MAX: usize = 400_000;

/// What is done.
pub struct Act {
    /// Who does it, below [`CLIENTS`].
    pub client: usize,
    /// What.
    pub deed: Deed,
}

/// What a client does.
pub enum Deed {
    /// Sends a request.
    Send(Vec<Vec<u8>>),
    /// Keeps a request back until it sends the next.
    Hold(Vec<Vec<u8>>),
    /// Sends bytes.
    Raw(Vec<u8>),
    /// Goes.
    Break,
}

/// How many more letters a script may spell.
pub struct Room(usize);

impl Default for Room {
    fn default() -> Self {
        Self(LETTERS_MAX)
    }
}

/// What a line says; `numbers` are those that were replied, the last one first.
pub fn act(line: &[u8], numbers: &VecDeque<i64>, room: &mut Room) -> Act {
    let whole = || Act {
        client: 0,
        deed: Deed::Raw([line, b"\r\n"].concat()),
    };
    let [digit @ b'0'..b'4', kind, rest @ ..] = line else {
        return whole();
    };
    let deed = match kind {
        b' ' => Deed::Send(words(rest, numbers, room)),
        b'+' => Deed::Hold(words(rest, numbers, room)),
        b'<' => Deed::Raw(spelled(rest, room)),
        b'!' => Deed::Break,
        _ => return whole(),
    };
    Act {
        client: usize::from(digit - b'0'),
        deed,
    }
}

fn words(text: &[u8], numbers: &VecDeque<i64>, room: &mut Room) -> Vec<Vec<u8>> {
    let words = text.split(|&byte| byte == b' ');
    words
        .map(|word| match word {
            [b'$', digit @ b'0'..=b'9'] => {
                let number = numbers.get(usize::from(digit - b'0'));
                number.map_or_else(|| word.to_vec(), |number| number.to_string().into_bytes())
            }
            _ => spelled(word, room),
        })
        .collect()
}

fn spelled(text: &[u8], room: &mut Room) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let [byte, behind @ ..] = rest {
        let special = (*byte == b'%').then(|| special(behind, room)).flatten();
        match special {
            Some((mut meant, left)) => {
                bytes.append(&mut meant);
                rest = left;
            }
            None => {
                bytes.push(*byte);
                rest = behind;
            }
        }
    }
    bytes
}

/// What stands behind a `%`, and what is left behind that.
fn special<'a>(text: &'a [u8], room: &mut Room) -> Option<(Vec<u8>, &'a [u8])> {
    let number =
        |digits: &[u8], radix| u32::from_str_radix(std::str::from_utf8(digits).ok()?, radix).ok();
    if let [b'{', rest @ ..] = text {
        let end = rest.iter().position(|&byte| byte == b'}')?;
        let count = usize::try_from(number(&rest[..end], 10)?).ok()?.min(room.0);
        room.0 -= count;
        return Some((vec![b'x'; count], &rest[end + 1..]));
    }
    let (digits, rest) = text.split_at_checked(2)?;
    Some((vec![number(digits, 16)? as u8], rest))
}
