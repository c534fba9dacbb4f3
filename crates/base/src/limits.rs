//! Sizes that several crates agree on.

/// A page of a relation or of the commit log, in bytes.
pub const PAGE_SIZE_BYTES: usize = 8192;
/// The longest name of an object, in bytes; longer ones are truncated with a notice.
pub const NAME_MAX_BYTES: usize = 63;
/// The most columns a table may have.
pub const COLUMNS_MAX: usize = 1600;
/// The most entries of a target list or ROW expression.
pub const TARGETS_MAX: usize = 1664;
/// The most arguments of a function.
pub const ARGUMENTS_MAX: usize = 100;
/// The largest value of one column, in bytes.
pub const VALUE_MAX_BYTES: usize = 1 << 30;
/// The longest global identifier of a prepared transaction, in bytes.
pub const GID_MAX_BYTES: usize = 199;
/// The largest protocol message, in bytes: its length field and the part behind it.
pub const MESSAGE_MAX_BYTES: usize = (1 << 30) - 2;
/// The same without the length field.
pub const MESSAGE_BODY_MAX_BYTES: usize = MESSAGE_MAX_BYTES - 4;
/// The same for messages that carry no text, parameters or data.
pub const SMALL_MESSAGE_MAX_BYTES: usize = 10_000;

const _: () = assert!(PAGE_SIZE_BYTES.is_power_of_two() && PAGE_SIZE_BYTES <= 32768);
