use std::fmt;
use std::ops::Index;

/// Where one argument lies in the bytes it was found in. 32 bits suffice: a request is at most 16 MiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    start: u32,
    end: u32,
}

impl Span {
    /// `start..end`, both at most `u32::MAX`; the scanner has checked that.
    pub(super) fn new(start: usize, end: usize) -> Self {
        debug_assert!(start <= end && u32::try_from(end).is_ok());
        Self {
            start: start as u32,
            end: end as u32,
        }
    }

    /// The same span in bytes that begin `count` later.
    pub(super) fn later(self, count: usize) -> Self {
        Self::new(self.start as usize + count, self.end as usize + count)
    }

    /// Where it begins and ends.
    pub(super) fn ends(self) -> (usize, usize) {
        (self.start as usize, self.end as usize)
    }

    fn of(self, bytes: &[u8]) -> &[u8] {
        &bytes[self.start as usize..self.end as usize]
    }
}

/// The arguments of one request, the command's name first: byte strings of any content, borrowed.
///
/// Two words of pointer and length each, and a flag; copy it freely.
#[derive(Clone, Copy)]
pub struct Arguments<'a> {
    bytes: &'a [u8],
    spans: &'a [Span],
    repeats: bool,
}

impl<'a> Arguments<'a> {
    /// Every span must lie within `bytes`.
    pub(super) fn new(bytes: &'a [u8], spans: &'a [Span]) -> Self {
        Self {
            bytes,
            spans,
            repeats: false,
        }
    }

    /// These are, but for the second, the words of the request before it: see [`Self::repeats`].
    pub(super) fn repeating(self, repeats: bool) -> Self {
        Self { repeats, ..self }
    }

    /// True if the request that the same connection made just before has the same words, all but the second, which
    /// is as long. Whatever was found out about those words need not be found out again. False says nothing.
    pub fn repeats(&self) -> bool {
        self.repeats
    }

    /// How many arguments there are.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether there are none. Never so for a scanned request, but a [`tail`](Self::tail) can be empty.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The argument at `index`, counted from 0, or `None` behind the last.
    pub fn get(&self, index: usize) -> Option<&'a [u8]> {
        self.spans.get(index).map(|span| span.of(self.bytes))
    }

    /// All arguments in order.
    pub fn iter(
        &self,
    ) -> impl ExactSizeIterator<Item = &'a [u8]> + DoubleEndedIterator + Clone + use<'a> {
        let bytes = self.bytes;
        self.spans.iter().map(move |span| span.of(bytes))
    }

    /// The arguments from index `from` on; empty when there are no more than `from`.
    pub fn tail(&self, from: usize) -> Self {
        Self::new(self.bytes, self.spans.get(from..).unwrap_or_default())
    }
}

impl Index<usize> for Arguments<'_> {
    type Output = [u8];

    /// Panics behind the last argument: use it where the arity has been checked, [`Arguments::get`] elsewhere.
    fn index(&self, index: usize) -> &[u8] {
        self.spans[index].of(self.bytes)
    }
}

/// Equal when the arguments are, wherever they are kept.
impl PartialEq for Arguments<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Arguments<'_> {}

impl fmt::Debug for Arguments<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(
                self.iter()
                    .map(|argument| argument.escape_ascii().to_string()),
            )
            .finish()
    }
}

/// Arguments that outlive the buffer they were read from: a request queued by `MULTI`, a test's request.
///
/// One allocation for the bytes and one for where they begin and end, both exact.
#[derive(Clone, PartialEq, Eq)]
pub struct OwnedArguments {
    bytes: Vec<u8>,
    spans: Vec<Span>,
}

impl OwnedArguments {
    /// A copy of `arguments`.
    ///
    /// # Panics
    ///
    /// Above 4 GiB in total, which no request reaches.
    pub fn from_slices(arguments: &[&[u8]]) -> Self {
        Self::collect(arguments.iter().copied())
    }

    /// The arguments, borrowed.
    pub fn as_arguments(&self) -> Arguments<'_> {
        Arguments::new(&self.bytes, &self.spans)
    }

    /// Memory held, in bytes, this value itself included: what a bound on queued requests should count.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.bytes.capacity() + self.spans.capacity() * size_of::<Span>()
    }

    fn collect<'a>(arguments: impl ExactSizeIterator<Item = &'a [u8]> + Clone) -> Self {
        let total = arguments.clone().map(<[u8]>::len).sum();
        assert!(u32::try_from(total).is_ok(), "arguments of more than 4 GiB");
        let mut bytes = Vec::with_capacity(total);
        let mut spans = Vec::with_capacity(arguments.len());
        for argument in arguments {
            let start = bytes.len();
            bytes.extend_from_slice(argument);
            spans.push(Span::new(start, bytes.len()));
        }
        Self { bytes, spans }
    }
}

impl From<Arguments<'_>> for OwnedArguments {
    /// Copies the arguments alone, not the framing between them.
    fn from(arguments: Arguments<'_>) -> Self {
        Self::collect(arguments.iter())
    }
}

impl fmt::Debug for OwnedArguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_arguments().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owned_arguments_hold_copies_and_say_their_size() {
        let owned = OwnedArguments::from_slices(&[b"SET", b"", b"a\r\n\0"]);
        let borrowed = owned.as_arguments();
        assert_eq!(borrowed.len(), 3);
        assert_eq!(
            borrowed.iter().rev().collect::<Vec<_>>(),
            [&b"a\r\n\0"[..], b"", b"SET"]
        );
        assert_eq!(
            (&borrowed[1], borrowed.get(2), borrowed.get(3)),
            (&b""[..], Some(&b"a\r\n\0"[..]), None)
        );
        assert_eq!(
            owned.bytes(),
            size_of::<OwnedArguments>() + 7 + 3 * size_of::<Span>()
        );
        assert_eq!(OwnedArguments::from(borrowed), owned);
        assert_eq!(format!("{owned:?}"), r#"["SET", "", "a\\r\\n\\x00"]"#);
    }

    #[test]
    fn a_tail_begins_where_asked_and_may_be_empty() {
        let owned = OwnedArguments::from_slices(&[b"DEL", b"a", b"b"]);
        let all = owned.as_arguments();
        assert_eq!(all.tail(0), all);
        assert_eq!(all.tail(1).iter().collect::<Vec<_>>(), [b"a", b"b"]);
        assert_eq!(
            OwnedArguments::from(all.tail(2)),
            OwnedArguments::from_slices(&[b"b"])
        );
        assert!(all.tail(3).is_empty() && all.tail(usize::MAX).is_empty());
    }
}
