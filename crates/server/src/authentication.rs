//! How a client proves that it knows its password: by SCRAM-SHA-256, bound to the server's certificate where the connection is
//! encrypted; by an MD5 hash of a challenge; or by sending it. The exchange of SCRAM itself is the `pgwire` crate's.

use base::{Error, Result, sqlstate};
use bytes::{BufMut, BytesMut};
use pgwire::api::auth::sasl::scram::{ScramSecret, ScramServerAuth, ScramServerAuthWaitingForClientFinal};
use pgwire::error::PgWireError;

use crate::startup::StartRequest;

/// The codes of authentication messages.
const CLEARTEXT: i32 = 3;
const MD5: i32 = 5;
const SASL: i32 = 10;
const SASL_CONTINUE: i32 = 11;
const SASL_FINAL: i32 = 12;

const SCRAM: &str = "SCRAM-SHA-256";
const SCRAM_BOUND: &str = "SCRAM-SHA-256-PLUS";

/// A client that has been asked for its password.
pub struct Exchange {
    /// Its request.
    pub request: StartRequest,
    step: Step,
    /// The right answer lets the client in: it names a role that may log in with a password, and has the certificate that is asked for.
    is_known: bool,
}

enum Step {
    Offered(ScramServerAuth, ScramSecret),
    Challenged(ScramServerAuthWaitingForClientFinal),
    /// The password is to come, or an answer to this challenge. It is held against what is kept, if there is something.
    Asked(Option<[u8; 4]>, Option<String>),
    Over,
}

/// The result of a client's message.
pub enum Outcome {
    /// It has more to say.
    Continues,
    /// It has proved who it is.
    Proved(StartRequest),
}

impl Exchange {
    /// Asks for the password itself, or with a `challenge` for an MD5 hash of what is kept of it.
    pub fn ask(
        request: StartRequest,
        challenge: Option<[u8; 4]>,
        kept: Option<String>,
        is_known: bool,
        out: &mut BytesMut,
    ) -> Exchange {
        match challenge {
            Some(salt) => send(MD5, &salt, out),
            None => send(CLEARTEXT, &[], out),
        }
        Exchange { request, step: Step::Asked(challenge, kept), is_known }
    }

    /// Asks for a proof by SCRAM; the message that does is put into `out`.
    pub fn begin(
        request: StartRequest,
        secret: ScramSecret,
        is_known: bool,
        scram: ScramServerAuth,
        out: &mut BytesMut,
    ) -> Exchange {
        let bound = scram.supports_channel_binding().then(|| format!("{SCRAM_BOUND}\0"));
        let mechanisms = format!("{}{SCRAM}\0\0", bound.unwrap_or_default());
        send(SASL, mechanisms.as_bytes(), out);
        Exchange { request, step: Step::Offered(scram, secret), is_known }
    }

    /// Works on the body of a client's password message, and puts the answer into `out`.
    ///
    /// # Errors
    /// 28P01 for the wrong password, 08P01 for a message that is none of the exchange's.
    pub fn take(mut self, body: &[u8], out: &mut BytesMut) -> Result<(Outcome, Option<Exchange>)> {
        match std::mem::replace(&mut self.step, Step::Over) {
            Step::Offered(scram, secret) => {
                let (mechanism, data) = initial_response(body)
                    .ok_or_else(|| protocol("malformed SCRAM message").detail("It is no SASLInitialResponse."))?;
                let is_bound = match mechanism {
                    _ if mechanism == SCRAM_BOUND.as_bytes() && scram.supports_channel_binding() => true,
                    _ if mechanism == SCRAM.as_bytes() => false,
                    _ => return Err(protocol("client selected an invalid SASL authentication mechanism")),
                };
                if is_bound != data.starts_with(b"p=") {
                    return Err(protocol("malformed SCRAM message")
                        .detail("The mechanism and the message disagree about channel binding."));
                }
                let (answer, next) =
                    scram.on_client_first_message_with_secret(data, secret).map_err(|error| malformed(&error))?;
                send(SASL_CONTINUE, answer.as_bytes(), out);
                self.step = Step::Challenged(next);
                Ok((Outcome::Continues, Some(self)))
            }
            Step::Challenged(next) => {
                let proved = next.on_client_final_message(body);
                match proved {
                    Ok(answer) if self.is_known => {
                        send(SASL_FINAL, answer.as_bytes(), out);
                        Ok((Outcome::Proved(self.request), None))
                    }
                    Ok(_) | Err(PgWireError::InvalidPassword(_)) => Err(self.failed()),
                    Err(error) => Err(malformed(&error)),
                }
            }
            Step::Asked(challenge, kept) => {
                let answer = password_text(body)?;
                let is_right = kept.is_some_and(|kept| match challenge {
                    Some(salt) => sql::password::answers_md5(&kept, salt, answer),
                    None => std::str::from_utf8(answer)
                        .is_ok_and(|answer| sql::password::fits(&kept, &self.request.user, answer)),
                });
                if is_right && self.is_known { Ok((Outcome::Proved(self.request), None)) } else { Err(self.failed()) }
            }
            Step::Over => Err(protocol("unexpected password message")),
        }
    }

    fn failed(&self) -> Error {
        let message = format!("password authentication failed for user \"{}\"", self.request.user);
        Error::new(sqlstate::INVALID_PASSWORD, message).fatal()
    }
}

/// The text of a PasswordMessage.
///
/// # Errors
/// 08P01 for what is no text, 28P01 for an empty one.
fn password_text(body: &[u8]) -> Result<&[u8]> {
    match body.split_last() {
        Some((0, [])) => Err(Error::new(sqlstate::INVALID_PASSWORD, "empty password returned by client").fatal()),
        Some((0, text)) if !text.contains(&0) => Ok(text),
        _ => Err(protocol("invalid password packet size")),
    }
}

/// The mechanism and the data of a SASLInitialResponse. The `pgwire` crate's decoder trusts the length that it reads.
fn initial_response(body: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = body.iter().position(|byte| *byte == 0)?;
    let (length, data) = body[end + 1..].split_first_chunk::<4>()?;
    match i32::from_be_bytes(*length) {
        -1 if data.is_empty() => Some((&body[..end], data)),
        length if usize::try_from(length) == Ok(data.len()) => Some((&body[..end], data)),
        _ => None,
    }
}

/// Appends an authentication message. `pgwire`'s encoder is not used, as it refuses to make a message of more than 30,000 bytes: a client
/// may send a nonce, and a role have a salt, that are longer.
fn send(code: i32, data: &[u8], out: &mut BytesMut) {
    out.put_u8(b'R');
    out.put_i32(8 + data.len() as i32);
    out.put_i32(code);
    out.put_slice(data);
}

fn protocol(message: &str) -> Error {
    Error::new(sqlstate::PROTOCOL_VIOLATION, message).fatal()
}

fn malformed(error: &PgWireError) -> Error {
    protocol("malformed SCRAM message").detail(error.to_string())
}

#[cfg(test)]
mod tests {
    use rand::{Rng, SeedableRng};

    use super::*;
    use base::settings::words::PasswordEncryption;

    /// The verifier of "secret", which takes thousands of hashes to make.
    fn kept() -> &'static str {
        static KEPT: std::sync::OnceLock<String> = std::sync::OnceLock::new();
        KEPT.get_or_init(|| sql::password::to_keep("secret", "ann", PasswordEncryption::Scram).unwrap().unwrap())
    }

    fn request() -> StartRequest {
        let (user, database) = ("ann".to_owned(), "ann".to_owned());
        StartRequest { user, database, settings: Vec::new(), options: None, unknown: None }
    }

    fn exchange(is_known: bool) -> Exchange {
        let secret = sql::password::secret(kept()).unwrap();
        Exchange::begin(request(), secret, is_known, ScramServerAuth::new(), &mut BytesMut::new())
    }

    fn initial(data: &[u8]) -> Vec<u8> {
        [b"SCRAM-SHA-256\0", &(data.len() as u32).to_be_bytes()[..], data].concat()
    }

    /// The result of the exchange for a client with this password.
    fn try_password(is_known: bool, password: &str) -> Result<()> {
        use postgres_protocol::authentication::sasl::{ChannelBinding, ScramSha256};
        let mut client = ScramSha256::new(password.as_bytes(), ChannelBinding::unsupported());
        let mut out = BytesMut::new();
        let (_, exchange) = exchange(is_known).take(&initial(client.message()), &mut out)?;
        client.update(&out[9..]).unwrap();
        out.clear();
        let (outcome, _) = exchange.unwrap().take(client.message(), &mut out)?;
        client.finish(&out[9..]).unwrap();
        assert!(matches!(outcome, Outcome::Proved(_)));
        Ok(())
    }

    #[test]
    fn only_the_password_of_a_known_role_proves_anything() {
        try_password(true, "secret").unwrap();
        for (is_known, password) in [(true, "secrets"), (true, ""), (false, "secret")] {
            assert_eq!(try_password(is_known, password).unwrap_err().sqlstate(), sqlstate::INVALID_PASSWORD);
        }
    }

    #[test]
    fn a_password_is_sent_or_answers_a_challenge() {
        let kept = sql::password::to_keep("secret", "ann", PasswordEncryption::Md5).unwrap();
        let challenge = Some(*b"salt");
        let answer = |challenge, is_known, body: &[u8]| {
            let exchange = Exchange::ask(request(), challenge, kept.clone(), is_known, &mut BytesMut::new());
            exchange.take(body, &mut BytesMut::new()).map(drop).map_err(|error| error.message().to_owned())
        };
        let failed = Err("password authentication failed for user \"ann\"".to_owned());
        assert_eq!(answer(None, true, b"secret\0"), Ok(()));
        assert_eq!(answer(None, false, b"secret\0"), failed);
        assert_eq!(answer(None, true, b"secrets\0"), failed);
        assert_eq!(answer(None, true, b"\xff\0"), failed);
        assert_eq!(answer(None, true, b"\0"), Err("empty password returned by client".to_owned()));
        for broken in [&b""[..], b"secret", b"sec\0ret\0"] {
            assert_eq!(answer(None, true, broken), Err("invalid password packet size".to_owned()));
        }
        assert_eq!(answer(challenge, true, b"secret\0"), failed);
    }

    #[test]
    fn nonces_and_salts_may_be_long() {
        for length in [1_000, 30_000, 60_000] {
            let first = initial(format!("n,,n=ann,r={}", "x".repeat(length)).as_bytes());
            let Some(ScramSecret::Verifier { stored_key, server_key, iterations, .. }) = sql::password::secret(kept())
            else {
                panic!("a verifier is kept");
            };
            let secret = ScramSecret::Verifier { salt: vec![7; length], stored_key, server_key, iterations };
            let begun = Exchange::begin(request(), secret, true, ScramServerAuth::new(), &mut BytesMut::new());
            let mut out = BytesMut::new();
            let (outcome, _) = begun.take(&first, &mut out).unwrap();
            assert!(matches!(outcome, Outcome::Continues));
            assert_eq!(u32::from_be_bytes(*out[1..].first_chunk().unwrap()) as usize, out.len() - 1);
        }
    }

    // invariants: row 26
    #[test]
    fn any_bytes_are_an_answer_or_refused() {
        let mut random = rand::rngs::StdRng::seed_from_u64(26);
        let first = initial(b"n,,n=ann,r=abcdefgh");
        let last = b"c=biws,r=abcdefgh,p=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=".to_vec();
        let spoil = |bytes: &[u8], random: &mut rand::rngs::StdRng| {
            let mut bytes = bytes.to_vec();
            for _ in 0..random.random_range(0..4) {
                match random.random_range(0..3) {
                    0 => bytes.truncate(random.random_range(0..=bytes.len())),
                    1 => bytes.push(random.random()),
                    _ if bytes.is_empty() => {}
                    _ => {
                        let place = random.random_range(0..bytes.len());
                        bytes[place] = random.random();
                    }
                }
            }
            bytes
        };
        let mut challenged = 0;
        for _ in 0..5_000 {
            let mut out = BytesMut::new();
            let Ok((Outcome::Continues, Some(exchange))) = exchange(true).take(&spoil(&first, &mut random), &mut out)
            else {
                continue;
            };
            challenged += 1;
            assert!(exchange.take(&spoil(&last, &mut random), &mut out).is_err());
        }
        assert!(challenged > 500, "{challenged}");
    }
}
