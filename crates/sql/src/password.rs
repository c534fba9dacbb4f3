//! Passwords of roles. A password is kept in one of two forms, which are PostgreSQL's:
//!
//! - a verifier, from which nobody can learn the password: `SCRAM-SHA-256$ITERATIONS:SALT$STOREDKEY:SERVERKEY` (RFC 5803), the three last
//!   in base64;
//! - if `password_encryption` is `md5`, `md5` and the hexadecimal MD5 hash of the password and the role's name. Someone who reads such a
//!   hash can log in with it.

use base::settings::words::PasswordEncryption;
use base::{Error, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use md5::{Digest as _, Md5};
use pgwire::api::auth::sasl::scram::{SCRAM_ITERATIONS, ScramSecret, gen_salted_password};

const PREFIX: &str = "SCRAM-SHA-256$";
const SALT_BYTES: usize = 16;
const KEY_BYTES: usize = 32;

/// The most iterations of a verifier that a password sent in clear is held against: this is done in one go on a worker. PostgreSQL 15 makes
/// verifiers of 4,096 iterations.
const PLAIN_ITERATIONS_MAX: usize = 100_000;

/// The form of a role's password that the catalog keeps. A verifier or a hash, as dumps have them, is kept as it is. The result is none
/// for the empty password, and for a verifier or hash of it: with that nobody may log in.
///
/// # Errors
/// XX000 if no verifier can be made.
pub fn to_keep(password: &str, role: &str, encryption: PasswordEncryption) -> Result<Option<String>> {
    let kept = if is_md5(password) || secret(password).is_some() {
        password.to_owned()
    } else {
        match encryption {
            PasswordEncryption::Md5 => md5_hash(password, role),
            PasswordEncryption::Scram => verifier(password)?,
        }
    };
    Ok((!fits(&kept, role, "")).then_some(kept))
}

/// Whether a text is an MD5 hash in the form in which it is kept.
pub fn is_md5(kept: &str) -> bool {
    kept.strip_prefix("md5").is_some_and(|hash| {
        hash.len() == 32 && hash.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
    })
}

fn md5_of(parts: &[&[u8]]) -> String {
    let mut hash = Md5::new();
    parts.iter().for_each(|part| hash.update(part));
    hash.finalize().iter().fold("md5".to_owned(), |mut text, byte| {
        text.push_str(&format!("{byte:02x}"));
        text
    })
}

fn md5_hash(password: &str, role: &str) -> String {
    md5_of(&[password.as_bytes(), role.as_bytes()])
}

/// Whether this is the answer of a client that knows the password, or its hash, to an MD5 challenge.
pub fn answers_md5(kept: &str, salt: [u8; 4], answer: &[u8]) -> bool {
    is_md5(kept) && md5_of(&[&kept.as_bytes()["md5".len()..], &salt]).as_bytes() == answer
}

/// Whether a password is the one that was kept.
pub fn fits(kept: &str, role: &str, password: &str) -> bool {
    if is_md5(kept) {
        return md5_hash(password, role) == kept;
    }
    match secret(kept) {
        Some(ScramSecret::Verifier { salt, iterations, stored_key, .. }) if iterations <= PLAIN_ITERATIONS_MAX => {
            let salted = gen_salted_password(password, &salt, iterations);
            let own = ScramSecret::verifier_from_salted_password(salt, salted, iterations);
            matches!(own, ScramSecret::Verifier { stored_key: own, .. } if own == stored_key)
        }
        _ => false,
    }
}

fn verifier(password: &str) -> Result<String> {
    let salt: [u8; SALT_BYTES] = rand::random();
    let salted = gen_salted_password(password, &salt, SCRAM_ITERATIONS);
    match ScramSecret::verifier_from_salted_password(salt.to_vec(), salted, SCRAM_ITERATIONS) {
        ScramSecret::Verifier { salt, iterations, stored_key, server_key } => Ok(format!(
            "{PREFIX}{iterations}:{}${}:{}",
            STANDARD.encode(salt),
            STANDARD.encode(stored_key),
            STANDARD.encode(server_key)
        )),
        ScramSecret::SaltedPassword { .. } => Err(Error::internal("a verifier was asked for")),
    }
}

/// Takes a verifier apart; none if the text is no verifier.
pub fn secret(verifier: &str) -> Option<ScramSecret> {
    let (salting, keys) = verifier.strip_prefix(PREFIX)?.split_once('$')?;
    let (iterations, salt) = salting.split_once(':')?;
    let (stored_key, server_key) = keys.split_once(':')?;
    let key = |text: &str| STANDARD.decode(text).ok().filter(|key| key.len() == KEY_BYTES);
    Some(ScramSecret::Verifier {
        salt: STANDARD.decode(salt).ok()?,
        iterations: iterations.parse().ok().filter(|iterations| *iterations > 0)?,
        stored_key: key(stored_key)?,
        server_key: key(server_key)?,
    })
}

/// A secret that no password fits, for users without a password: the exchange then tells an attacker no more than a wrong password
/// would. The same `seed` gives the same salt.
pub fn nobodys_secret(seed: u64) -> ScramSecret {
    use rand::{Rng as _, SeedableRng as _};
    let salt: [u8; SALT_BYTES] = rand::rngs::StdRng::seed_from_u64(seed).random();
    let key = || rand::random::<[u8; KEY_BYTES]>().to_vec();
    ScramSecret::Verifier { salt: salt.to_vec(), iterations: SCRAM_ITERATIONS, stored_key: key(), server_key: key() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept_by(password: &str, encryption: PasswordEncryption) -> String {
        to_keep(password, "ann", encryption).unwrap().unwrap()
    }

    #[test]
    fn a_verifier_has_postgresql_s_form_and_is_another_one_each_time() {
        let kept = kept_by("secret", PasswordEncryption::Scram);
        assert!(kept.starts_with("SCRAM-SHA-256$4096:") && !kept.contains("secret"), "{kept}");
        assert!(secret(&kept).is_some());
        assert_ne!(kept, kept_by("secret", PasswordEncryption::Scram));
        assert_eq!(kept_by(&kept, PasswordEncryption::Md5), kept, "kept as it is");
        assert!(fits(&kept, "ann", "secret") && !fits(&kept, "ann", "secrets"));
    }

    #[test]
    fn a_hash_is_of_password_and_role_and_answers_challenges() {
        let kept = kept_by("secret", PasswordEncryption::Md5);
        // As PostgreSQL 15 keeps it.
        assert_eq!(kept, "md59d792a3a8853c2411afb9163d088c036");
        assert_eq!(kept_by(&kept, PasswordEncryption::Scram), kept, "kept as it is");
        assert!(fits(&kept, "ann", "secret") && !fits(&kept, "bob", "secret"));
        let answer = md5_of(&[&kept.as_bytes()[3..], b"salt"]);
        assert!(answers_md5(&kept, *b"salt", answer.as_bytes()));
        assert!(!answers_md5(&kept, *b"salz", answer.as_bytes()));
        assert!(!answers_md5(&kept, *b"salt", b""));
    }

    #[test]
    fn nothing_is_kept_of_an_empty_password() {
        assert_eq!(to_keep(&md5_hash("", "ann"), "ann", PasswordEncryption::Scram).unwrap(), None);
        assert_eq!(to_keep(&verifier("").unwrap(), "ann", PasswordEncryption::Scram).unwrap(), None);
        assert!(to_keep(&md5_hash("", "bob"), "ann", PasswordEncryption::Scram).unwrap().is_some(), "of another role");
    }

    #[test]
    fn only_a_whole_verifier_is_one() {
        let kept = kept_by("secret", PasswordEncryption::Scram);
        for broken in
            [&kept[1..], &kept[..kept.len() - 4], &kept.replace("4096", "0"), &kept.replace('$', ""), "SCRAM-SHA-256$"]
        {
            assert!(secret(broken).is_none(), "{broken}");
        }
        assert!(!is_md5("md5") && !is_md5("md50123456789ABCDEF0123456789abcdef"));
    }
}
