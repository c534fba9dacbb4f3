//! Messages from the client, after start-up.
//!
//! [`Incoming`] gathers bytes; [`next_message`] finds one whole message in them; [`Message::decode`] takes it
//! apart without copying. Nothing here panics on any input (invariants row 26; fuzz target `protocol`).

use base::{Error, Oid, Result, limits, sqlstate};
use smallvec::SmallVec;

/// Bytes that have arrived and not been decoded.
#[derive(Default)]
pub struct Incoming {
    bytes: Vec<u8>,
    consumed: usize,
}

/// An empty buffer larger than this is given back.
const KEPT_CAPACITY_BYTES: usize = 1024;

impl Incoming {
    /// Adds what has arrived.
    pub fn extend(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The bytes that have not been decoded.
    pub fn pending(&self) -> &[u8] {
        &self.bytes[self.consumed..]
    }

    /// `count` bytes have been decoded.
    pub fn consume(&mut self, count: usize) {
        self.consumed += count;
        debug_assert!(self.consumed <= self.bytes.len());
        if self.consumed == self.bytes.len() {
            self.consumed = 0;
            if self.bytes.capacity() > KEPT_CAPACITY_BYTES {
                self.bytes = Vec::new();
            } else {
                self.bytes.clear();
            }
        } else if self.consumed >= 256 * 1024 {
            self.bytes.drain(..self.consumed);
            self.consumed = 0;
        }
    }
}

/// The extent of the first whole message in `bytes`: its kind, where its body lies, and where it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The message's first byte.
    pub kind: u8,
    /// Length of the whole message, in bytes.
    pub length: usize,
}

/// Why a stream of messages can't be followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unframed {
    /// There is no message of this type.
    Kind(u8),
    /// A message has a length that none of its type has.
    Length,
}

/// Finds the first whole message; `None` if more bytes are needed.
///
/// # Errors
/// When what follows is no message: the stream can't be followed after it.
pub fn next_message(bytes: &[u8]) -> Result<Option<Extent>, Unframed> {
    let Some(kind) = bytes.first().copied() else { return Ok(None) };
    let maximum = length_maximum(kind).ok_or(Unframed::Kind(kind))?;
    let [_, a, b, c, d, ..] = *bytes else { return Ok(None) };
    let length = u32::from_be_bytes([a, b, c, d]) as usize;
    if !(4..=maximum).contains(&length) {
        return Err(Unframed::Length);
    }
    Ok((bytes.len() > length).then_some(Extent { kind, length: length + 1 }))
}

/// How long a message of a type may say that it is, if there is such a type.
fn length_maximum(kind: u8) -> Option<usize> {
    match kind {
        b'B' | b'F' | b'P' | b'Q' | b'd' => Some(limits::MESSAGE_MAX_BYTES),
        b'C' | b'D' | b'E' | b'H' | b'S' | b'X' | b'c' | b'f' => Some(limits::SMALL_MESSAGE_MAX_BYTES),
        _ => None,
    }
}

/// A message after start-up.
#[derive(Debug, PartialEq)]
pub enum Message<'a> {
    /// A simple query.
    Query(&'a str),
    /// Parse: name, text, parameter types.
    Parse {
        /// Name of the prepared statement; empty for the unnamed one.
        name: &'a str,
        /// Its text.
        query: &'a str,
        /// Types given for the first parameters; 0 for not given.
        types: Vec<Oid>,
    },
    /// Bind.
    Bind(Bind<'a>),
    /// Describe a statement (`S`) or a portal (`P`).
    Describe {
        /// Whether a portal is meant.
        is_portal: bool,
        /// Its name.
        name: &'a str,
    },
    /// Execute a portal.
    Execute {
        /// Its name.
        portal: &'a str,
        /// Rows wanted; 0 or less for all.
        max_rows: i32,
    },
    /// Close a statement or a portal.
    Close {
        /// Whether a portal is meant.
        is_portal: bool,
        /// Its name.
        name: &'a str,
    },
    /// Send what there is.
    Flush,
    /// End of a pipeline.
    Sync,
    /// The client leaves.
    Terminate,
    /// The fast-path function call, which is not supported.
    FunctionCall,
    /// COPY data.
    CopyData(&'a [u8]),
    /// End of COPY data.
    CopyDone,
    /// The client gives COPY up, for a reason that [`copy_failure`] reads.
    CopyFail(&'a [u8]),
}

/// A Bind message. The head is checked first, as it may have errors of its own. Errors behind it are reported later.
#[derive(Debug, PartialEq)]
pub struct Bind<'a> {
    /// Name of the portal.
    pub portal: &'a str,
    /// Name of the statement.
    pub statement: &'a str,
    rest: &'a [u8],
}

/// The fields behind the names in a Bind message.
#[derive(Debug)]
pub struct BindRest<'a> {
    /// Format codes of the parameters: none, one for all, or one for each.
    pub parameter_formats: Codes<'a>,
    /// How many parameters there are to be.
    pub parameter_count: usize,
    /// Their values, `None` for NULL, as far as they are well-formed.
    pub parameters: SmallVec<[Option<&'a [u8]>; 16]>,
    /// Format codes of the result's columns; what is wrong with the message behind its parameters or in them.
    pub result_formats: Result<Codes<'a>>,
}

/// A list of 16-bit codes, as it lies in the message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Codes<'a>(&'a [u8]);

impl Codes<'_> {
    /// The codes.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = i16> + '_ {
        self.0.as_chunks::<2>().0.iter().map(|pair| i16::from_be_bytes(*pair))
    }
}

impl<'a> Bind<'a> {
    /// The fields behind the names.
    ///
    /// # Errors
    /// 08P01 when not even the number of parameters can be read.
    pub fn rest(&self) -> Result<BindRest<'a>> {
        let mut rest = Reader(self.rest);
        let parameter_formats = Codes(rest.codes(2)?);
        let parameter_count = rest.u16()? as usize;
        let mut parameters = SmallVec::new();
        let result_formats = (0..parameter_count)
            .try_for_each(|_| rest.value().map(|value| parameters.push(value)))
            .and_then(|()| Ok(Codes(rest.codes(2)?)))
            .and_then(|codes| rest.end().map(|()| codes));
        Ok(BindRest { parameter_formats, parameter_count, parameters, result_formats })
    }
}

impl<'a> Message<'a> {
    /// Takes the message apart whose whole bytes are `bytes`.
    ///
    /// # Errors
    /// 08P01 when it is malformed, 22021 when a text is not UTF-8.
    pub fn decode(bytes: &'a [u8]) -> Result<Message<'a>> {
        let (Some(kind), Some(body)) = (bytes.first(), bytes.get(5..)) else {
            return Err(violation("insufficient data left in message"));
        };
        let mut body = Reader(body);
        let message = match kind {
            b'Q' => Message::Query(body.text()?),
            b'P' => {
                let (name, query) = (body.text()?, body.text()?);
                let types = body.codes(4)?.as_chunks::<4>().0.iter().map(|oid| Oid(u32::from_be_bytes(*oid))).collect();
                Message::Parse { name, query, types }
            }
            b'B' => {
                let (portal, statement) = (body.text()?, body.text()?);
                return Ok(Message::Bind(Bind { portal, statement, rest: body.0 }));
            }
            b'D' | b'C' => {
                let (subtype, name) = (body.u8()?, body.text()?);
                body.end()?;
                let is_portal = match subtype {
                    b'P' => true,
                    b'S' => false,
                    other => {
                        let what = if *kind == b'D' { "DESCRIBE" } else { "CLOSE" };
                        return Err(violation(format!("invalid {what} message subtype {other}")));
                    }
                };
                if *kind == b'D' { Message::Describe { is_portal, name } } else { Message::Close { is_portal, name } }
            }
            b'E' => Message::Execute { portal: body.text()?, max_rows: body.u32()? as i32 },
            b'H' => Message::Flush,
            b'S' => Message::Sync,
            // Nobody looks at what is in these.
            b'X' => return Ok(Message::Terminate),
            b'F' => return Ok(Message::FunctionCall),
            b'd' => return Ok(Message::CopyData(body.0)),
            b'c' => return Ok(Message::CopyDone),
            b'f' => return Ok(Message::CopyFail(body.0)),
            other => return Err(violation(format!("invalid frontend message type {other}"))),
        };
        body.end().map(|()| message)
    }
}

/// The reason in a CopyFail message.
///
/// # Errors
/// 08P01 when there is none, 22021 when it is not UTF-8.
pub fn copy_failure(body: &[u8]) -> Result<&str> {
    Reader(body).text()
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let Some((taken, rest)) = self.0.split_at_checked(count) else {
            return Err(violation("insufficient data left in message"));
        };
        self.0 = rest;
        Ok(taken)
    }

    fn u8(&mut self) -> Result<u8> {
        let Some((byte, rest)) = self.0.split_first() else { return Err(violation("no data left in message")) };
        self.0 = rest;
        Ok(*byte)
    }

    fn u16(&mut self) -> Result<u16> {
        let bytes = self.take(2)?;
        Ok(u16::from_be_bytes([bytes[0], bytes[1]]))
    }

    fn u32(&mut self) -> Result<u32> {
        let bytes = self.take(4)?;
        Ok(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    /// A count and that many codes of `width_bytes` each.
    fn codes(&mut self, width_bytes: usize) -> Result<&'a [u8]> {
        let count = self.u16()? as usize;
        self.take(count * width_bytes)
    }

    /// A length and that many bytes; -1 for NULL.
    fn value(&mut self) -> Result<Option<&'a [u8]>> {
        match self.u32()? {
            u32::MAX => Ok(None),
            length => self.take(length as usize).map(Some),
        }
    }

    /// Nothing more is expected.
    fn end(&self) -> Result<()> {
        if self.0.is_empty() { Ok(()) } else { Err(violation("invalid message format")) }
    }

    fn text(&mut self) -> Result<&'a str> {
        let end = self.0.iter().position(|byte| *byte == 0).ok_or_else(|| violation("invalid string in message"))?;
        let text = &self.0[..end];
        self.0 = &self.0[end + 1..];
        std::str::from_utf8(text).map_err(|error| invalid_utf8(text, &error))
    }
}

/// The error for bytes that are not UTF-8: 22021.
pub(crate) fn invalid_utf8(bytes: &[u8], error: &std::str::Utf8Error) -> Error {
    let at = error.valid_up_to();
    let count = error.error_len().unwrap_or(bytes.len() - at).clamp(1, 4);
    let sequence: Vec<String> = bytes[at..].iter().take(count).map(|byte| format!("0x{byte:02x}")).collect();
    Error::new(
        sqlstate::CHARACTER_NOT_IN_REPERTOIRE,
        format!("invalid byte sequence for encoding \"UTF8\": {}", sequence.join(" ")),
    )
}

fn violation(message: impl Into<String>) -> Error {
    Error::new(sqlstate::PROTOCOL_VIOLATION, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, body: &[u8]) -> Vec<u8> {
        let mut bytes = vec![kind];
        bytes.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
        bytes.extend_from_slice(body);
        bytes
    }

    #[test]
    fn a_message_is_found_only_when_whole() {
        let bytes = frame(b'Q', b"select 1\0");
        for end in 0..bytes.len() {
            assert_eq!(next_message(&bytes[..end]).unwrap(), None);
        }
        assert_eq!(next_message(&bytes).unwrap(), Some(Extent { kind: b'Q', length: bytes.len() }));
        assert_eq!(Message::decode(&bytes).unwrap(), Message::Query("select 1"));
    }

    #[test]
    fn lengths_that_cannot_be_are_refused() {
        for length in [0u32, 3, u32::MAX] {
            let mut bytes = vec![b'Q'];
            bytes.extend_from_slice(&length.to_be_bytes());
            assert_eq!(next_message(&bytes), Err(Unframed::Length));
        }
        assert_eq!(next_message(b"?"), Err(Unframed::Kind(b'?')));
        assert_eq!(next_message(&frame(b'S', &[0; 10_000])), Err(Unframed::Length));
        assert!(next_message(&frame(b'Q', &[0; 10_000])).is_ok_and(|extent| extent.is_some()));
    }

    #[test]
    fn bind_gives_its_parts() {
        let mut body = b"p\0s\0".to_vec();
        body.extend_from_slice(&[0, 1, 0, 1]); // one format: binary
        body.extend_from_slice(&[0, 2, 0, 0, 0, 2, 7, 8, 255, 255, 255, 255]); // two values, the second NULL
        body.extend_from_slice(&[0, 0]);
        let bytes = frame(b'B', &body);
        let Message::Bind(bind) = Message::decode(&bytes).unwrap() else { panic!("not a Bind") };
        assert_eq!((bind.portal, bind.statement), ("p", "s"));
        let rest = bind.rest().unwrap();
        assert_eq!(rest.parameter_formats.iter().collect::<Vec<_>>(), [1]);
        assert_eq!(rest.parameters.as_slice(), [Some(&[7u8, 8][..]), None]);
        assert!(rest.result_formats.is_ok_and(|formats| formats.iter().len() == 0));
    }

    #[test]
    fn what_is_wrong_behind_parameters_is_told_after_them() {
        let bytes = frame(b'B', b"\0\0\0\0\0\x02\0\0\0\x01x\0\0\0\x09y");
        let Message::Bind(bind) = Message::decode(&bytes).unwrap() else { panic!("not a Bind") };
        let rest = bind.rest().unwrap();
        assert_eq!((rest.parameter_count, rest.parameters.len()), (2, 1));
        assert_eq!(rest.result_formats.unwrap_err().message(), "insufficient data left in message");
    }

    #[test]
    fn text_that_is_not_utf8_is_named() {
        let error = Message::decode(&frame(b'Q', b"a\xff\0")).unwrap_err();
        assert_eq!(error.message(), "invalid byte sequence for encoding \"UTF8\": 0xff");
    }

    // invariants: row 26
    #[test]
    fn any_bytes_decode_to_a_message_or_an_error() {
        use rand::{Rng, SeedableRng};
        let mut random = rand::rngs::StdRng::seed_from_u64(26);
        for _ in 0..20_000 {
            let kind = b"BCDEFHPQSXcdf"[random.random_range(0..13)];
            let body: Vec<u8> = (0..random.random_range(0..40))
                .map(|_| if random.random_bool(0.5) { 0 } else { random.random() })
                .collect();
            if let Ok(Message::Bind(bind)) = Message::decode(&frame(kind, &body)) {
                let _ = bind.rest();
            }
        }
    }
}
