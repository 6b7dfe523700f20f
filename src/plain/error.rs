//! Why an operation on a plain value fails. Nothing has changed then.

/// Why an operation on a plain value fails; `command/error.rs` words it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PlainError {
    /// The value is of another type.
    WrongType,
    /// The value is not a 64-bit integer in its shortest form.
    NotAnInteger,
    /// The value is not a number as [`super::extended::Extended::parse`] reads it.
    NotAFloat,
    /// The sum does not fit 64 bits.
    Overflow,
    /// A field of a hash is not a 64-bit integer in its shortest form.
    HashValueNotAnInteger,
    /// The value would have more elements than [`super::collection::ELEMENTS_MAX`] or more bytes than
    /// [`super::collection::BYTES_MAX`].
    TooLarge,
    /// The sum of two floats is infinite, or none.
    NotFinite,
    /// The value of a counter with bounds is infinite.
    InfiniteValue,
    /// What a bound would add to a counter does not fit 64 bits.
    AppliedOverflow,
    /// What a bound would add to a counter is infinite.
    AppliedInfinite,
    /// The value would be longer than [`super::text::TEXT_BYTES_MAX`].
    TooLong,
}
