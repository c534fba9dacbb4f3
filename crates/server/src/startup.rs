//! From the first byte to an authenticated session.

use base::{Error, Result, sqlstate};

use crate::decode;
use crate::outgoing::{Outgoing, push_cstr};

/// The client's request on a new connection.
pub enum Request {
    /// It asks for encryption, which is answered with one byte.
    Encryption(EncryptionKind),
    /// It asks to cancel what session `pid` does.
    Cancel {
        /// The session.
        pid: i32,
        /// The number in its BackendKeyData.
        secret: i32,
    },
    /// It starts a session.
    Start(StartRequest),
}

/// The encryption that a client can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EncryptionKind {
    /// TLS.
    Tls,
    /// GSSAPI's, which is always declined.
    Gss,
}

/// A start-up message.
pub struct StartRequest {
    /// The user it names; empty if it names none.
    pub user: String,
    /// The database it names; the user's name if it names none.
    pub database: String,
    /// Settings besides those in `options`.
    pub(crate) settings: Vec<(String, String)>,
    /// More settings, as arguments of a command.
    pub(crate) options: Option<String>,
    /// Protocol options we don't know, if there are any or a newer protocol than ours is asked for.
    pub unknown: Option<Vec<String>>,
}

/// The encryption requests of a connection before its session starts. Each kind may be requested once.
#[derive(Clone, Copy, Debug, Default)]
pub struct Asked {
    tls: bool,
    gss: bool,
}

impl Asked {
    /// The requests that count as made once `kind` was answered. A client that was declined one kind may try the other.
    pub fn after(kind: EncryptionKind, is_granted: bool) -> Asked {
        match kind {
            EncryptionKind::Tls => Asked { tls: true, gss: is_granted },
            EncryptionKind::Gss => Asked { tls: is_granted, gss: true },
        }
    }
}

/// Why a connection ends before it has a session.
#[derive(Debug)]
pub enum Refusal {
    /// The client is told.
    Told(Error),
    /// It speaks a protocol in which errors had no fields.
    ToldPlainly(Error),
    /// The peer is not a client: it gets no answer.
    Silent,
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        Refusal::Told(error)
    }
}

/// The longest packet before authentication, in bytes, with its length.
const PACKET_MAX_BYTES: usize = 10_004;

const CANCEL_CODE: u32 = 1234 << 16 | 5678;
const TLS_CODE: u32 = 1234 << 16 | 5679;
const GSS_CODE: u32 = 1234 << 16 | 5680;

/// Decodes the first packet in `bytes`: the request and how many bytes it took; `None` if more are needed.
///
/// # Errors
/// Silence for what is no packet; 0A000 for another protocol, 08P01 when parameters are malformed.
pub fn decode(bytes: &[u8], asked: Asked) -> Result<Option<(Request, usize)>, Refusal> {
    let [a, b, c, d, ..] = *bytes else { return Ok(None) };
    let length = u32::from_be_bytes([a, b, c, d]) as usize;
    if !(8..=PACKET_MAX_BYTES).contains(&length) {
        return Err(Refusal::Silent);
    }
    let Some([_, _, _, _, a, b, c, d, body @ ..]) = bytes.get(..length) else { return Ok(None) };
    let code = u32::from_be_bytes([*a, *b, *c, *d]);
    let request = match code {
        CANCEL_CODE => match *body {
            [a, b, c, d, e, f, g, h] => {
                Request::Cancel { pid: i32::from_be_bytes([a, b, c, d]), secret: i32::from_be_bytes([e, f, g, h]) }
            }
            _ => return Err(Refusal::Silent),
        },
        TLS_CODE if !asked.tls => Request::Encryption(EncryptionKind::Tls),
        GSS_CODE if !asked.gss => Request::Encryption(EncryptionKind::Gss),
        _ => {
            let (major, minor) = (code >> 16, code & 0xFFFF);
            if major != 3 {
                let message = format!("unsupported frontend protocol {major}.{minor}: server supports 3.0 to 3.0");
                let error = Error::new(sqlstate::FEATURE_NOT_SUPPORTED, message).fatal();
                let is_old = matches!(major, 1 | 2);
                return Err(if is_old { Refusal::ToldPlainly(error) } else { Refusal::Told(error) });
            }
            Request::Start(start_request(body, minor)?)
        }
    };
    Ok(Some((request, length)))
}

/// The longest answer to an authentication request, in bytes.
const PASSWORD_MESSAGE_MAX_BYTES: usize = 65_535;

/// The length of the password message that `bytes` begin with; `None` if more are needed.
///
/// # Errors
/// 08P01 when it is another message, or too long.
pub fn password_message(bytes: &[u8]) -> Result<Option<usize>> {
    let protocol = |message: String| Error::new(sqlstate::PROTOCOL_VIOLATION, message).fatal();
    match *bytes {
        [b'p', a, b, c, d, ..] => {
            let length = u32::from_be_bytes([a, b, c, d]) as usize;
            if !(4..=PASSWORD_MESSAGE_MAX_BYTES).contains(&length) {
                return Err(protocol("invalid password packet size".to_owned()));
            }
            Ok((bytes.len() > length).then_some(length + 1))
        }
        [b'p', ..] | [] => Ok(None),
        [kind, ..] => Err(protocol(format!("expected password response, got message type {kind}"))),
    }
}

/// The names and values of a start-up packet.
///
/// # Errors
/// 08P01 when the last of them is not followed by a zero byte at the packet's very end; 22021 for bytes that are not UTF-8.
fn parameters(body: &[u8]) -> Result<Vec<(String, String)>> {
    let mut found = Vec::new();
    let mut rest = body;
    let text = |rest: &mut &[u8]| -> Option<Result<String>> {
        let end = rest.iter().position(|byte| *byte == 0)?;
        let bytes = &rest[..end];
        *rest = &rest[end + 1..];
        Some(std::str::from_utf8(bytes).map(str::to_owned).map_err(|error| decode::invalid_utf8(bytes, &error)))
    };
    while rest.first().is_some_and(|byte| *byte != 0) {
        let (Some(name), Some(value)) = (text(&mut rest), text(&mut rest)) else {
            rest = &[];
            break;
        };
        found.push((name?, value?));
    }
    if rest == [0] {
        return Ok(found);
    }
    let message = "invalid startup packet layout: expected terminator as last byte";
    Err(Error::new(sqlstate::PROTOCOL_VIOLATION, message).fatal())
}

fn start_request(body: &[u8], minor: u32) -> Result<StartRequest> {
    let (mut user, mut database, mut options) = (None, None, None);
    let (mut settings, mut unknown_options) = (Vec::new(), Vec::new());
    for (name, value) in parameters(body)? {
        match name.as_str() {
            "user" => user = Some(value),
            "database" => database = Some(value),
            "options" => options = Some(value),
            "replication" => refuse_replication(&value)?,
            _ if name.starts_with("_pq_.") => unknown_options.push(name),
            _ => settings.push((name, value)),
        }
    }
    let user = user.unwrap_or_default();
    let database = database.filter(|database| !database.is_empty()).unwrap_or_else(|| user.clone());
    let is_newer = minor > 0 || !unknown_options.is_empty();
    Ok(StartRequest { user, database, settings, options, unknown: is_newer.then_some(unknown_options) })
}

/// 0A000 for a client that wants to be sent the log; 22023 for what is neither that nor its opposite.
fn refuse_replication(value: &str) -> Result<()> {
    let folded = value.to_ascii_lowercase();
    let is_start_of = |words: &[&str]| words.iter().any(|word| !folded.is_empty() && word.starts_with(folded.as_str()));
    if value == "database" || folded == "1" || folded == "on" || is_start_of(&["true", "yes"]) {
        return Err(Error::unsupported("replication connections are not supported").fatal());
    }
    if folded == "0" || folded == "of" || folded == "off" || is_start_of(&["false", "no"]) {
        return Ok(());
    }
    let message = format!("invalid value for parameter \"replication\": \"{value}\"");
    Err(Error::new(sqlstate::INVALID_PARAMETER_VALUE, message)
        .hint("Valid values are: \"false\", 0, \"true\", 1, \"database\".")
        .fatal())
}

impl StartRequest {
    /// The settings it asks for, those in `options` first.
    ///
    /// # Errors
    /// 42601 for `options` that are none.
    pub fn take_settings(&mut self) -> Result<Vec<(String, String)>> {
        let mut settings = self.options.take().map_or_else(|| Ok(Vec::new()), |text| options(&text))?;
        settings.append(&mut self.settings);
        Ok(settings)
    }

    /// Checks that a user is named.
    ///
    /// # Errors
    /// 28000 if none is.
    pub fn check_user(&self) -> Result<()> {
        if !self.user.is_empty() {
            return Ok(());
        }
        let message = "no PostgreSQL user name specified in startup packet";
        Err(Error::new(sqlstate::INVALID_AUTHORIZATION_SPECIFICATION, message).fatal())
    }
}

/// Takes apart `-c name=value --name=value`, where a backslash keeps the next character as it is.
fn options(text: &str) -> Result<Vec<(String, String)>> {
    let mut words: Vec<String> = Vec::new();
    let mut word = None::<String>;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => word.get_or_insert_default().extend(characters.next()),
            character if character.is_whitespace() => words.extend(word.take()),
            character => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    let mut settings = Vec::new();
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let assignment = if word == "-c" {
            words.next()
        } else {
            word.strip_prefix("-c").or_else(|| word.strip_prefix("--")).map(str::to_owned)
        };
        let Some(assignment) = assignment else {
            let message = format!("invalid command-line argument for server process: {word}");
            return Err(Error::new(sqlstate::SYNTAX_ERROR, message)
                .hint("Try \"postgres --help\" for more information.")
                .fatal());
        };
        let Some((name, value)) = assignment.split_once('=') else {
            let switch = if word.starts_with("--") { "--" } else { "-c " };
            let message = format!("{switch}{assignment} requires a value");
            return Err(Error::new(sqlstate::SYNTAX_ERROR, message).fatal());
        };
        settings.push((name.replace('-', "_"), value.to_owned()));
    }
    Ok(settings)
}

/// Says which protocol this is, to a client that has asked for a newer one or for `options` that we don't know.
pub fn negotiate(options: &[String], out: &mut Outgoing) {
    out.message(b'v', |body| {
        body.extend_from_slice(&PROTOCOL_VERSION.to_be_bytes());
        body.extend_from_slice(&(options.len() as u32).to_be_bytes());
        options.iter().for_each(|option| push_cstr(body, option));
    });
}

/// 3.0, the only one there is.
const PROTOCOL_VERSION: u32 = 3 << 16;

/// Says that the client has been let in.
pub fn let_in(out: &mut Outgoing) {
    out.message(b'R', |body| body.extend_from_slice(&0u32.to_be_bytes()));
}

/// The messages that end the start-up: what the client should know.
pub fn welcome(parameters: &[(&str, String)], pid: i32, secret: i32, out: &mut Outgoing) {
    for (name, value) in parameters {
        out.message(b'S', |body| {
            push_cstr(body, name);
            push_cstr(body, value);
        });
    }
    out.message(b'K', |body| {
        body.extend_from_slice(&pid.to_be_bytes());
        body.extend_from_slice(&secret.to_be_bytes());
    });
}

/// An error as protocols before 3.0 had it: a text.
pub fn plain_error(error: &Error) -> Vec<u8> {
    format!("EFATAL:  {}\n\0", error.message()).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(parameters: &[(&str, &str)]) -> Vec<u8> {
        let mut body = 196_608u32.to_be_bytes().to_vec();
        for (name, value) in parameters {
            body.extend_from_slice(format!("{name}\0{value}\0").as_bytes());
        }
        body.push(0);
        let mut packet = (body.len() as u32 + 4).to_be_bytes().to_vec();
        packet.extend(body);
        packet
    }

    #[test]
    fn settings_come_as_parameters_and_in_options() {
        let options = "-c default_transaction_isolation=read\\ committed --work-mem=8MB -cfoo.bar=1";
        let bytes = packet(&[("user", "u"), ("options", options), ("application_name", "a")]);
        let Some((Request::Start(mut start), length)) = decode(&bytes, Asked::default()).unwrap() else {
            panic!("not a start")
        };
        assert_eq!(length, bytes.len());
        assert_eq!((start.user.as_str(), start.database.as_str()), ("u", "u"));
        let expected = [
            ("default_transaction_isolation", "read committed"),
            ("work_mem", "8MB"),
            ("foo.bar", "1"),
            ("application_name", "a"),
        ];
        let settings = start.take_settings().unwrap();
        let got: Vec<_> = settings.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(got, expected);
    }

    fn decoded(bytes: &[u8]) -> Result<Option<(Request, usize)>, Refusal> {
        decode(bytes, Asked::default())
    }

    #[test]
    fn what_is_no_start_is_refused() {
        let Ok(Some((Request::Start(start), _))) = decoded(&packet(&[("database", "d")])) else {
            panic!("not a start")
        };
        assert!(start.check_user().is_err_and(|error| error.sqlstate().class() == "28"));
        assert!(matches!(decoded(&[0, 0, 0, 3, 0, 3, 0, 0]), Err(Refusal::Silent)));
        assert!(matches!(decoded(b"GET / HTTP/1.1"), Err(Refusal::Silent)));
        let mut other = packet(&[("user", "u")]);
        other[5] = 2;
        assert!(matches!(decoded(&other), Err(Refusal::ToldPlainly(_))));
        other[5] = 4;
        assert!(matches!(decoded(&other), Err(Refusal::Told(_))));
        let mut unended = packet(&[("user", "u")]);
        unended.pop();
        unended[3] -= 1;
        let refused = |error: Refusal| matches!(error, Refusal::Told(error) if error.message().contains("terminator"));
        assert!(decoded(&unended).is_err_and(refused));
    }

    #[test]
    fn encryption_and_cancel_are_told_apart() {
        let ssl = [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];
        assert!(matches!(decoded(&ssl).unwrap(), Some((Request::Encryption(EncryptionKind::Tls), 8))));
        let gss = [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x30];
        assert!(matches!(decoded(&gss).unwrap(), Some((Request::Encryption(EncryptionKind::Gss), 8))));
        let cancel = [0, 0, 0, 16, 0x04, 0xd2, 0x16, 0x2e, 0, 0, 0, 7, 0, 0, 0, 9];
        assert!(matches!(decoded(&cancel).unwrap(), Some((Request::Cancel { pid: 7, secret: 9 }, 16))));
        assert!(matches!(decode(&ssl, Asked::after(EncryptionKind::Tls, false)), Err(Refusal::Told(_))));
        assert!(decode(&gss, Asked::after(EncryptionKind::Tls, false)).is_ok());
    }

    // invariants: row 26
    #[test]
    fn any_bytes_are_decoded_or_refused() {
        use rand::{Rng, SeedableRng};
        let mut random = rand::rngs::StdRng::seed_from_u64(26);
        for _ in 0..20_000 {
            let mut bytes: Vec<u8> = (0..random.random_range(0..60)).map(|_| random.random()).collect();
            if bytes.len() >= 8 && random.random_bool(0.9) {
                let length = bytes.len() as u32;
                bytes[..4].copy_from_slice(&length.to_be_bytes());
                bytes[4..8].copy_from_slice(
                    &[[0, 3, 0, 0], [4, 0xd2, 0x16, 0x2e], [4, 0xd2, 0x16, 0x30]][random.random_range(0..3)],
                );
            }
            let _ = decoded(&bytes);
        }
    }
}
