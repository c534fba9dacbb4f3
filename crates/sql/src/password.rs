//! Passwords of roles. What is kept is a verifier in PostgreSQL's form, from which nobody can learn the password:
//! `SCRAM-SHA-256$ITERATIONS:SALT$STOREDKEY:SERVERKEY` (RFC 5803), the three last in base64.

use base::{Error, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pgwire::api::auth::sasl::scram::{SCRAM_ITERATIONS, ScramSecret, gen_salted_password};

const PREFIX: &str = "SCRAM-SHA-256$";
const SALT_BYTES: usize = 16;
const KEY_BYTES: usize = 32;

/// What is kept of a password. A text that is a verifier already, as dumps have them, is kept as it is.
///
/// # Errors
/// 0A000 for an MD5 hash, by which nobody could be authenticated.
pub fn to_keep(password: &str) -> Result<String> {
    if secret(password).is_some() {
        return Ok(password.to_owned());
    }
    let is_md5 = password.strip_prefix("md5").is_some_and(|hash| {
        hash.len() == 32 && hash.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
    });
    if is_md5 {
        return Err(Error::unsupported("MD5 password hashes are not supported")
            .hint("Give the password itself, or its SCRAM-SHA-256 verifier."));
    }
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

/// A secret that no password fits, for who has none: the exchange then tells an attacker no more than a wrong password
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

    #[test]
    fn a_verifier_has_postgresql_s_form_and_is_another_one_each_time() {
        let kept = to_keep("secret").unwrap();
        assert!(kept.starts_with("SCRAM-SHA-256$4096:") && !kept.contains("secret"), "{kept}");
        assert!(secret(&kept).is_some());
        assert_ne!(kept, to_keep("secret").unwrap());
        assert_eq!(to_keep(&kept).unwrap(), kept, "kept as it is");
    }

    #[test]
    fn only_a_whole_verifier_is_one() {
        let kept = to_keep("secret").unwrap();
        for broken in
            [&kept[1..], &kept[..kept.len() - 4], &kept.replace("4096", "0"), &kept.replace('$', ""), "SCRAM-SHA-256$"]
        {
            assert!(secret(broken).is_none(), "{broken}");
        }
        let md5 = to_keep("md50123456789abcdef0123456789abcdef").unwrap_err();
        assert_eq!(md5.sqlstate(), base::sqlstate::FEATURE_NOT_SUPPORTED);
        assert!(to_keep("md5").is_ok());
    }
}
