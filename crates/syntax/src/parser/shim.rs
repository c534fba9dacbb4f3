//! Calls into PostgreSQL's grammar.
//!
//! The Rust interface of `pg_query` drops the position of a syntax error, so this module calls the C functions
//! below it. It is the only unsafe code of the crate.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_int, c_void};

use base::{Error, Result, sqlstate};

/// `PgQueryError` of `pg_query.h`.
#[repr(C)]
struct PgQueryError {
    message: *mut c_char,
    funcname: *mut c_char,
    filename: *mut c_char,
    lineno: c_int,
    cursorpos: c_int,
    context: *mut c_char,
}

/// `PgQueryProtobuf` of `pg_query.h`.
#[repr(C)]
struct PgQueryProtobuf {
    len: usize,
    data: *mut c_char,
}

/// `PgQueryProtobufParseResult` of `pg_query.h`.
#[repr(C)]
struct PgQueryProtobufParseResult {
    parse_tree: PgQueryProtobuf,
    stderr_buffer: *mut c_char,
    error: *mut PgQueryError,
}

/// `PgQueryPlpgsqlParseResult` of `pg_query.h`.
#[repr(C)]
struct PgQueryPlpgsqlParseResult {
    plpgsql_funcs: *mut c_char,
    error: *mut PgQueryError,
}

unsafe extern "C" {
    fn pg_query_parse_protobuf_opts(input: *const c_char, options: c_int) -> PgQueryProtobufParseResult;
    fn pg_query_free_protobuf_parse_result(result: PgQueryProtobufParseResult);
    fn assign_max_stack_depth(kilobytes: c_int, extra: *mut c_void);
    fn pg_query_parse_plpgsql(input: *const c_char) -> PgQueryPlpgsqlParseResult;
    fn pg_query_free_plpgsql_parse_result(result: PgQueryPlpgsqlParseResult);
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
unsafe extern "C" {
    /// glibc's.
    fn malloc_trim(pad: usize) -> c_int;
}

/// The kind of text that the grammar is to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Statements.
    Statements = 0,
    /// One type name.
    TypeName = 1,
    /// A PL/pgSQL expression: SELECT without the word.
    PlpgsqlExpression = 2,
}

/// How much the library may use of the large stack that it runs on. It derives a limit of its own from the stack that the thread
/// was made with, does not find itself there, and would stay at 100 kB. If the large stack happens to lie above the thread's,
/// the library takes 2 MB instead, as PostgreSQL does.
const STACK_KILOBYTES: c_int = 128 << 10;

/// `PG_QUERY_DISABLE_STANDARD_CONFORMING_STRINGS` of `pg_query.h`.
const DISABLE_STANDARD_CONFORMING_STRINGS: c_int = 32;

/// Parses `text`; hands the serialized tree to `read`, or gives the grammar's error.
pub(super) fn parse<R>(
    text: &str,
    mode: Mode,
    standard_conforming_strings: bool,
    read: impl FnOnce(&[u8]) -> Result<R>,
) -> Result<R> {
    /// Frees what the C library allocated, however `read` ends.
    struct Owned(Option<PgQueryProtobufParseResult>);
    impl Drop for Owned {
        fn drop(&mut self) {
            if let Some(result) = self.0.take() {
                // SAFETY: the result came from pg_query_parse_protobuf_opts and is given back once, here.
                unsafe { pg_query_free_protobuf_parse_result(result) };
            }
        }
    }

    let input = c_string(text)?;
    let strings = if standard_conforming_strings { 0 } else { DISABLE_STANDARD_CONFORMING_STRINGS };
    // SAFETY: it sets a number of this thread's; the second argument is not used.
    unsafe { assign_max_stack_depth(STACK_KILOBYTES, std::ptr::null_mut()) };
    // SAFETY: `input` is a NUL-terminated string that outlives the call; the callee keeps no pointer to it. It reads
    // no other memory of ours and reports errors in its result: its longjmp never leaves the call.
    let result = unsafe { pg_query_parse_protobuf_opts(input.as_ptr(), mode as c_int | strings) };
    let owned = Owned(Some(result));
    let result = owned.0.as_ref().expect("it was put there one line above");
    if !result.error.is_null() {
        // SAFETY: a non-null error points at a filled PgQueryError until the result is freed.
        return Err(unsafe { to_error(&*result.error) });
    }
    let bytes = if result.parse_tree.data.is_null() {
        &[]
    } else {
        // SAFETY: `data` points at `len` initialized bytes until the result is freed, which `owned` does after `read`.
        unsafe { std::slice::from_raw_parts(result.parse_tree.data.cast::<u8>(), result.parse_tree.len) }
    };
    read(bytes)
}

/// Has the C library give free memory back to the system, where it would keep it for the thread that had it.
pub(super) fn give_memory_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it takes a number, may be called at any time by any thread, and changes no memory that is in use.
    unsafe {
        malloc_trim(0);
    }
}

/// Parses a whole CREATE FUNCTION statement in language plpgsql, for its errors.
pub(super) fn check_plpgsql(text: &str) -> Result<()> {
    let input = c_string(text)?;
    // SAFETY: as in `parse`.
    unsafe { assign_max_stack_depth(STACK_KILOBYTES, std::ptr::null_mut()) };
    // SAFETY: as in `parse`.
    let result = unsafe { pg_query_parse_plpgsql(input.as_ptr()) };
    let answer = if result.error.is_null() {
        Ok(())
    } else {
        // SAFETY: a non-null error points at a filled PgQueryError until the result is freed.
        Err(unsafe { to_error(&*result.error) })
    };
    // SAFETY: the result came from pg_query_parse_plpgsql and is given back once, here.
    unsafe { pg_query_free_plpgsql_parse_result(result) };
    answer
}

fn c_string(text: &str) -> Result<CString> {
    CString::new(text).map_err(|_| {
        Error::new(sqlstate::CHARACTER_NOT_IN_REPERTOIRE, "invalid byte sequence for encoding \"UTF8\": 0x00")
    })
}

/// The error as PostgreSQL words it. The library tells message and position, but neither code nor hint.
///
/// # Safety
/// `error.message` is a NUL-terminated string.
unsafe fn to_error(error: &PgQueryError) -> Error {
    // SAFETY: by this function's own contract.
    let message = unsafe { CStr::from_ptr(error.message) }.to_string_lossy().into_owned();
    super::errors::from_grammar(message, u32::try_from(error.cursorpos).unwrap_or(0))
}
