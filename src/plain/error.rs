//! Why an operation on a plain value fails. Nothing has changed then.

/// Why an operation on a plain value fails; `command/error.rs` words it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PlainError {
    /// The value is of another type.
    WrongType,
    /// The value is not a 64-bit integer in its shortest form.
    NotAnInteger,
    /// The sum does not fit 64 bits.
    Overflow,
    /// A field of a hash is not a 64-bit integer in its shortest form.
    HashValueNotAnInteger,
    /// The value would have more elements than [`super::collection::ELEMENTS_MAX`] or more bytes than
    /// [`super::collection::BYTES_MAX`].
    TooLarge,
    /// The value would be longer than [`super::text::TEXT_BYTES_MAX`].
    TooLong,
}
