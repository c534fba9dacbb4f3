//! From the first byte to an authenticated session.
//!
//! The messages of this phase are decoded and encoded by the `pgwire` crate; they are off every hot path.

use base::{Error, Result, sqlstate};
use bytes::BytesMut;
use pgwire::messages::cancel::CancelRequest;
use pgwire::messages::startup::{Authentication, BackendKeyData, ParameterStatus, SecretKey, Startup};
use pgwire::messages::{DecodeContext, Message, PgWireFrontendMessage, SslNegotiationMetaMessage};

/// What the client wants of a new connection.
pub enum Request {
    /// It asks for encryption, which is answered with one byte.
    Encryption(EncryptionKind),
    /// It asks to cancel what session `pid` does.
    Cancel {
        /// The session.
        pid: i32,
        /// What it was told in its BackendKeyData.
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
    /// The user it names.
    pub user: String,
    /// The database it names; the user's name if it names none.
    pub database: String,
    /// Settings, those in `options` first.
    pub settings: Vec<(String, String)>,
    /// Protocol options we don't know, and the minor version asked for, if it is newer than ours.
    pub unknown: Option<(Vec<String>, u16)>,
}

/// The longest packet before authentication, in bytes.
const PACKET_MAX_BYTES: usize = 10_000;

/// Decodes the first packet in `bytes`: the request and how many bytes it took; `None` if more are needed.
///
/// # Errors
/// 08P01 when it is malformed, 0A000 for another protocol, 28000 without a user.
pub fn decode(bytes: &[u8]) -> Result<Option<(Request, usize)>> {
    let [a, b, c, d, ..] = *bytes else { return Ok(None) };
    let length = u32::from_be_bytes([a, b, c, d]) as usize;
    if !(8..=PACKET_MAX_BYTES).contains(&length) {
        return Err(Error::new(sqlstate::PROTOCOL_VIOLATION, "invalid length of startup packet").fatal());
    }
    let Some(packet) = bytes.get(..length) else { return Ok(None) };
    let [_, _, _, _, major_high, major_low, minor_high, minor_low, ..] = *packet else { return Ok(None) };
    let (major, minor) = (u16::from_be_bytes([major_high, major_low]), u16::from_be_bytes([minor_high, minor_low]));
    let mut context = DecodeContext::default();
    let mut buffer = BytesMut::from(packet);
    let mut decoded = PgWireFrontendMessage::decode(&mut buffer, &context);
    if matches!(decoded, Ok(Some(PgWireFrontendMessage::SslNegotiation(SslNegotiationMetaMessage::None)))) {
        context.awaiting_frontend_ssl = false;
        if !CancelRequest::is_cancel_request_packet(&buffer) && major != 3 {
            let message = format!("unsupported frontend protocol {major}.{minor}: server supports 3.0 to 3.0");
            return Err(Error::new(sqlstate::FEATURE_NOT_SUPPORTED, message).fatal());
        }
        decoded = PgWireFrontendMessage::decode(&mut buffer, &context);
    }
    let request = match decoded {
        Ok(Some(PgWireFrontendMessage::SslNegotiation(SslNegotiationMetaMessage::PostgresGss(_)))) => {
            Request::Encryption(EncryptionKind::Gss)
        }
        Ok(Some(PgWireFrontendMessage::SslNegotiation(_))) => Request::Encryption(EncryptionKind::Tls),
        Ok(Some(PgWireFrontendMessage::CancelRequest(cancel))) => match cancel.secret_key.as_i32() {
            Some(secret) => Request::Cancel { pid: cancel.pid, secret },
            None => return Err(malformed()),
        },
        Ok(Some(PgWireFrontendMessage::Startup(startup))) => Request::Start(start_request(startup)?),
        _ => return Err(malformed()),
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

fn malformed() -> Error {
    Error::new(sqlstate::PROTOCOL_VIOLATION, "invalid startup packet").fatal()
}

fn start_request(startup: Startup) -> Result<StartRequest> {
    let (mut user, mut database, mut settings, mut unknown_options) = (None, None, Vec::new(), Vec::new());
    for (name, value) in startup.parameters {
        match name.as_str() {
            "user" => user = Some(value),
            "database" => database = Some(value),
            "options" => {
                let mut from_options = options(&value)?;
                from_options.append(&mut settings);
                settings = from_options;
            }
            "replication" => {
                if !matches!(value.as_str(), "false" | "off" | "no" | "0") {
                    return Err(Error::unsupported("replication connections are not supported").fatal());
                }
            }
            _ if name.starts_with("_pq_.") => unknown_options.push(name),
            _ => settings.push((name, value)),
        }
    }
    let user = user.filter(|user| !user.is_empty()).ok_or_else(|| {
        Error::new(sqlstate::INVALID_AUTHORIZATION_SPECIFICATION, "no PostgreSQL user name specified in startup packet")
            .fatal()
    })?;
    let database = database.filter(|database| !database.is_empty()).unwrap_or_else(|| user.clone());
    let is_newer = startup.protocol_number_minor > 0 || !unknown_options.is_empty();
    let unknown = is_newer.then_some((unknown_options, startup.protocol_number_minor));
    Ok(StartRequest { user, database, settings, unknown })
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
        let parts = assignment.as_deref().and_then(|assignment| assignment.split_once('='));
        let Some((name, value)) = parts else {
            let message = format!("invalid command-line argument for server process: {word}");
            return Err(Error::new(sqlstate::SYNTAX_ERROR, message).fatal());
        };
        settings.push((name.replace('-', "_"), value.to_owned()));
    }
    Ok(settings)
}

/// The messages that end the start-up: the client may go on, and what it should know.
pub fn welcome(unknown: Option<&(Vec<String>, u16)>, parameters: &[(&str, String)], pid: i32, secret: i32) -> BytesMut {
    let mut out = BytesMut::new();
    let never_fails = "a message made here is short and well-formed";
    if let Some((options, _)) = unknown {
        let message = pgwire::messages::startup::NegotiateProtocolVersion::new(0, options.clone());
        message.encode(&mut out).expect(never_fails);
    }
    Authentication::Ok.encode(&mut out).expect(never_fails);
    for (name, value) in parameters {
        ParameterStatus::new((*name).to_owned(), value.clone()).encode(&mut out).expect(never_fails);
    }
    BackendKeyData::new(pid, SecretKey::I32(secret)).encode(&mut out).expect(never_fails);
    out
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
        let Some((Request::Start(start), length)) = decode(&bytes).unwrap() else { panic!("not a start") };
        assert_eq!(length, bytes.len());
        assert_eq!((start.user.as_str(), start.database.as_str()), ("u", "u"));
        let expected = [
            ("default_transaction_isolation", "read committed"),
            ("work_mem", "8MB"),
            ("foo.bar", "1"),
            ("application_name", "a"),
        ];
        let got: Vec<_> = start.settings.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(got, expected);
    }

    #[test]
    fn what_is_no_start_is_refused() {
        assert!(decode(&packet(&[("database", "d")])).is_err_and(|error| error.sqlstate().class() == "28"));
        assert!(decode(&[0, 0, 0, 3, 0, 3, 0, 0]).is_err());
        assert!(decode(&[0xff; 8]).is_err());
        let mut version_two = packet(&[("user", "u")]);
        version_two[5] = 2;
        assert!(decode(&version_two).is_err_and(|error| error.sqlstate() == sqlstate::FEATURE_NOT_SUPPORTED));
    }

    #[test]
    fn encryption_and_cancel_are_told_apart() {
        let ssl = [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];
        assert!(matches!(decode(&ssl).unwrap(), Some((Request::Encryption(EncryptionKind::Tls), 8))));
        let gss = [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x30];
        assert!(matches!(decode(&gss).unwrap(), Some((Request::Encryption(EncryptionKind::Gss), 8))));
        let cancel = [0, 0, 0, 16, 0x04, 0xd2, 0x16, 0x2e, 0, 0, 0, 7, 0, 0, 0, 9];
        assert!(matches!(decode(&cancel).unwrap(), Some((Request::Cancel { pid: 7, secret: 9 }, 16))));
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
            let _ = decode(&bytes);
        }
    }
}
