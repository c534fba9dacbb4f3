//! Whole reads and writes out of calls that may do less: shared by all kinds of files, so that what
//! the simulated disk tries is what the real one runs.

use std::io::{Error, ErrorKind, Result};

/// Writes all of `bytes`, in as many calls as it takes.
pub(crate) fn write_all(
    mut bytes: &[u8],
    mut offset: u64,
    mut write: impl FnMut(&[u8], u64) -> Result<usize>,
) -> Result<()> {
    while !bytes.is_empty() {
        match write(bytes, offset) {
            Ok(0) => return Err(Error::new(ErrorKind::WriteZero, "the file took none of the bytes")),
            Ok(written) => {
                bytes = &bytes[written..];
                offset += written as u64;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Fills `buffer`, in as many calls as it takes, or up to the end of the file; how much of it.
pub(crate) fn read_up_to(
    buffer: &mut [u8],
    offset: u64,
    mut read: impl FnMut(&mut [u8], u64) -> Result<usize>,
) -> Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match read(&mut buffer[filled..], offset + filled as u64) {
            Ok(0) => break,
            Ok(more) => filled += more,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Fills `buffer`, in as many calls as it takes.
pub(crate) fn read_exact(
    buffer: &mut [u8],
    offset: u64,
    read: impl FnMut(&mut [u8], u64) -> Result<usize>,
) -> Result<()> {
    let wanted = buffer.len();
    if read_up_to(buffer, offset, read)? < wanted {
        return Err(Error::new(ErrorKind::UnexpectedEof, "the file ends before the bytes to be read do"));
    }
    Ok(())
}
