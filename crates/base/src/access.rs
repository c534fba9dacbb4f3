//! The rules that decide from where a user may connect, and by which proof of identity. They are those of `pg_hba.conf`.
//!
//! The setting `hba_rules` holds them, separated by `;`, each a line of PostgreSQL's file:
//!
//! ```text
//! local    DATABASE USER          METHOD
//! host     DATABASE USER ADDRESS  METHOD            encrypted or not
//! hostssl  DATABASE USER ADDRESS  METHOD [OPTION]   encrypted only
//! hostnossl DATABASE USER ADDRESS METHOD            not encrypted only
//! ```
//!
//! DATABASE is `all`, `sameuser`, `samerole` or names separated by commas; USER is `all`, names, or `+role` for its members; ADDRESS is
//! `all`, an address, or a network as in `10.0.0.0/8`. A name in double quotes may hold any character, and is no keyword. The first rule
//! that fits decides. METHOD is one of these:
//!
//! | method | a client |
//! | --- | --- |
//! | `trust` | is believed |
//! | `reject` | is refused |
//! | `scram-sha-256` | proves by SCRAM that it knows the password |
//! | `md5` | does the same, or by an MD5 hash where the role's password is kept as one |
//! | `password` | sends the password in clear: for encrypted connections only |
//! | `cert` | has a certificate with the user's name, verified by `ssl_ca_file` |
//!
//! OPTION is `clientcert=verify-ca` for a certificate that is verified, or `clientcert=verify-full` for one with the user's name. It comes
//! beside the method.

use std::net::IpAddr;

use ipnet::IpNet;

use crate::error::{Error, Result};
use crate::sqlstate;

/// The rules of a server that says nothing of its own: this machine is trusted, everybody else has a password.
pub const DEFAULT_RULES: &str =
    "local all all trust; host all all 127.0.0.1/32 trust; host all all ::1/128 trust; host all all all scram-sha-256";

/// All rules, in order.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct AccessRules(pub Vec<AccessRule>);

/// One rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessRule {
    /// Which connections it is about.
    pub connection: ConnectionKind,
    /// To which databases.
    pub databases: Vec<NamePattern>,
    /// Of which users.
    pub users: Vec<NamePattern>,
    /// From where; none for a rule about Unix sockets.
    pub address: Option<AddressPattern>,
    /// The proof that they need.
    pub demand: Demand,
}

/// The proof of identity that a client needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// How it proves who it is.
    pub method: AccessMethod,
    /// The certificate that it must have besides.
    pub certificate: CertificateDemand,
}

/// The certificate that a client must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CertificateDemand {
    /// None.
    None,
    /// One that `ssl_ca_file` verifies.
    VerifyCa,
    /// Such a one whose common name is the user's name.
    VerifyFull,
}

/// The connections a rule is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionKind {
    /// Over a Unix socket.
    Local,
    /// Over TCP.
    Host,
    /// Over TCP, encrypted.
    HostSsl,
    /// Over TCP, not encrypted.
    HostNoSsl,
}

/// The names of databases or users that a rule is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NamePattern {
    /// Any.
    All,
    /// The database called as the user.
    SameUser,
    /// The database called as a role that the user is a member of.
    SameRole,
    /// Connections for replication, of which there are none yet.
    Replication,
    /// Members of this role.
    MemberOf(String),
    /// This one.
    Name(String),
}

/// Where a connection may come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressPattern {
    /// Anywhere.
    All,
    /// An address in this network.
    Network(IpNet),
}

/// How it is made sure who a client is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessMethod {
    /// It is believed.
    Trust,
    /// It is refused.
    Reject,
    /// It proves by SCRAM that it knows the user's password.
    ScramSha256,
    /// It proves so by an MD5 hash, where the password is kept as one, and else by SCRAM.
    Md5,
    /// It sends the password.
    Password,
    /// It has a certificate.
    Cert,
}

/// A connection that wants to be let in.
#[derive(Clone, Copy, Debug)]
pub struct Attempt<'a> {
    /// Where it comes from; none for a Unix socket.
    pub address: Option<IpAddr>,
    /// Whether it is encrypted.
    pub is_encrypted: bool,
    /// As whom.
    pub user: &'a str,
    /// To which database.
    pub database: &'a str,
}

impl ConnectionKind {
    /// Its word.
    pub fn name(self) -> &'static str {
        match self {
            ConnectionKind::Local => "local",
            ConnectionKind::Host => "host",
            ConnectionKind::HostSsl => "hostssl",
            ConnectionKind::HostNoSsl => "hostnossl",
        }
    }
}

impl AccessMethod {
    /// Its word.
    pub fn name(self) -> &'static str {
        match self {
            AccessMethod::Trust => "trust",
            AccessMethod::Reject => "reject",
            AccessMethod::ScramSha256 => "scram-sha-256",
            AccessMethod::Md5 => "md5",
            AccessMethod::Password => "password",
            AccessMethod::Cert => "cert",
        }
    }

    fn named(word: &str) -> Option<AccessMethod> {
        use AccessMethod::{Cert, Md5, Password, Reject, ScramSha256, Trust};
        [Trust, Reject, ScramSha256, Md5, Password, Cert].into_iter().find(|method| method.name() == word)
    }
}

impl CertificateDemand {
    /// The option of a rule that says so.
    pub fn option(self) -> Option<&'static str> {
        match self {
            CertificateDemand::None => None,
            CertificateDemand::VerifyCa => Some("clientcert=verify-ca"),
            CertificateDemand::VerifyFull => Some("clientcert=verify-full"),
        }
    }
}

impl std::fmt::Display for NamePattern {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            NamePattern::All => out.write_str("all"),
            NamePattern::SameUser => out.write_str("sameuser"),
            NamePattern::SameRole => out.write_str("samerole"),
            NamePattern::Replication => out.write_str("replication"),
            NamePattern::MemberOf(role) => write!(out, "+{role}"),
            NamePattern::Name(name) => out.write_str(name),
        }
    }
}

impl AccessRules {
    /// Reads rules.
    ///
    /// # Errors
    /// 22023 with the rule and what is wrong with it.
    pub fn parse(text: &str) -> Result<AccessRules> {
        let mut is_quoted = false;
        let rules = text.split(|letter| {
            is_quoted ^= letter == '"';
            !is_quoted && matches!(letter, ';' | '\n')
        });
        rules.filter(|rule| !rule.trim().is_empty()).map(AccessRule::parse).collect::<Result<_>>().map(AccessRules)
    }

    /// The rule that decides over an attempt; `is_member` tells whether the user is a member of a role.
    pub fn find(&self, attempt: &Attempt<'_>, is_member: impl Fn(&str) -> bool) -> Option<&AccessRule> {
        self.0.iter().find(|rule| rule.fits(attempt, &is_member))
    }

    /// The proof that this attempt needs.
    ///
    /// # Errors
    /// 28000 for one that no rule lets in.
    pub fn demand(&self, attempt: &Attempt<'_>, is_member: impl Fn(&str) -> bool) -> Result<Demand> {
        let refusal = match self.find(attempt, is_member).map(|rule| rule.demand) {
            Some(Demand { method: AccessMethod::Reject, .. }) => "pg_hba.conf rejects connection",
            Some(demand) => return Ok(demand),
            None => "no pg_hba.conf entry",
        };
        let message = format!(
            "{refusal} for host \"{}\", user \"{}\", database \"{}\", {}",
            attempt.address.map_or_else(|| "[local]".to_owned(), |address| address.to_canonical().to_string()),
            attempt.user,
            attempt.database,
            if attempt.is_encrypted { "SSL encryption" } else { "no encryption" },
        );
        Err(Error::new(sqlstate::INVALID_AUTHORIZATION_SPECIFICATION, message)
            .hint("The setting hba_rules in cohort.conf says who may connect from where.")
            .fatal())
    }
}

impl AccessRule {
    fn parse(text: &str) -> Result<AccessRule> {
        let text = text.trim();
        let wrong = |what: String| {
            Error::new(
                sqlstate::INVALID_PARAMETER_VALUE,
                format!("{what} in rule \"{text}\" of parameter \"hba_rules\""),
            )
        };
        let mut fields = fields(text).ok_or_else(|| wrong("unterminated quoted name".to_owned()))?.into_iter();
        let mut next_list = |what: &str| fields.next().ok_or_else(|| wrong(format!("missing {what}")));
        let one = |what: &str, field: Vec<Word>| match <[Word; 1]>::try_from(field) {
            Ok([word]) => Ok(word.text),
            Err(_) => Err(wrong(format!("several values for {what}"))),
        };
        let connection = match one("connection type", next_list("connection type")?)?.as_str() {
            "local" => ConnectionKind::Local,
            "host" => ConnectionKind::Host,
            "hostssl" => ConnectionKind::HostSsl,
            "hostnossl" => ConnectionKind::HostNoSsl,
            other => {
                return Err(wrong(format!("invalid connection type \"{other}\""))
                    .hint("It is local, host, hostssl or hostnossl."));
            }
        };
        let named = |field: Vec<Word>, pattern: fn(Word) -> NamePattern| {
            field
                .into_iter()
                .map(|word| match !word.is_quoted && word.text.starts_with('@') {
                    true => Err(wrong(format!("file of names \"{}\"", word.text)).hint("Name them in the rule.")),
                    false => Ok(pattern(word)),
                })
                .collect::<Result<Vec<_>>>()
        };
        let databases = named(next_list("database")?, database)?;
        let users = named(next_list("user")?, user)?;
        let address = match connection {
            ConnectionKind::Local => None,
            _ => {
                let word = one("address", next_list("address")?)?;
                Some(address(&word).ok_or_else(|| {
                    wrong(format!("invalid address \"{word}\""))
                        .hint("It is all, an IP address, or a network as in 10.0.0.0/8; host names are not looked up.")
                })?)
            }
        };
        let word = one("authentication method", next_list("authentication method")?)?;
        let method = AccessMethod::named(&word).ok_or_else(|| {
            wrong(format!("invalid authentication method \"{word}\""))
                .hint("It is trust, reject, scram-sha-256, md5, password or cert.")
        })?;
        if method == AccessMethod::Cert && connection != ConnectionKind::HostSsl {
            return Err(wrong("cert authentication is only supported on hostssl connections".to_owned()));
        }
        let mut certificate = match method {
            AccessMethod::Cert => CertificateDemand::VerifyFull,
            _ => CertificateDemand::None,
        };
        for field in fields {
            let word = one("authentication option", field)?;
            let Some((name, value)) = word.split_once('=') else {
                return Err(wrong(format!("unexpected \"{word}\"")).hint("Rules are separated by ;"));
            };
            if name != "clientcert" {
                return Err(wrong(format!("unrecognized authentication option name: \"{name}\""))
                    .hint("The one option is clientcert."));
            }
            if connection != ConnectionKind::HostSsl {
                return Err(wrong("clientcert can only be configured for \"hostssl\" rows".to_owned()));
            }
            certificate = match value {
                "verify-full" => CertificateDemand::VerifyFull,
                "verify-ca" if method == AccessMethod::Cert => {
                    let what = "clientcert only accepts \"verify-full\" when using \"cert\" authentication";
                    return Err(wrong(what.to_owned()));
                }
                "verify-ca" => CertificateDemand::VerifyCa,
                other => return Err(wrong(format!("invalid value for clientcert: \"{other}\""))),
            };
        }
        Ok(AccessRule { connection, databases, users, address, demand: Demand { method, certificate } })
    }

    fn fits(&self, attempt: &Attempt<'_>, is_member: &impl Fn(&str) -> bool) -> bool {
        let fits_connection = match self.connection {
            ConnectionKind::Local => attempt.address.is_none(),
            ConnectionKind::Host => attempt.address.is_some(),
            ConnectionKind::HostSsl => attempt.address.is_some() && attempt.is_encrypted,
            ConnectionKind::HostNoSsl => attempt.address.is_some() && !attempt.is_encrypted,
        };
        let fits_name = |pattern: &NamePattern, name: &str| match pattern {
            NamePattern::All => true,
            NamePattern::SameUser => attempt.database == attempt.user,
            NamePattern::SameRole => is_member(attempt.database),
            NamePattern::Replication => false,
            NamePattern::MemberOf(role) => is_member(role),
            NamePattern::Name(own) => own == name,
        };
        let fits_address = match (self.address, attempt.address) {
            (Some(AddressPattern::Network(network)), Some(address)) => network.contains(&address.to_canonical()),
            _ => true,
        };
        fits_connection
            && fits_address
            && self.databases.iter().any(|pattern| fits_name(pattern, attempt.database))
            && self.users.iter().any(|pattern| fits_name(pattern, attempt.user))
    }
}

/// A word of a rule without its quotes.
struct Word {
    text: String,
    /// It begins with a quote, so it is a name and no keyword.
    is_quoted: bool,
}

/// The fields of a rule, each with its words, which commas separate. None if a quote has no end.
fn fields(text: &str) -> Option<Vec<Vec<Word>>> {
    let mut fields: Vec<Vec<Word>> = Vec::new();
    let mut letters = text.chars().peekable();
    let mut goes_on = false;
    loop {
        while letters.next_if(|letter| letter.is_whitespace()).is_some() {}
        if letters.peek().is_none() {
            return Some(fields);
        }
        let mut word = Word { text: String::new(), is_quoted: letters.peek() == Some(&'"') };
        let mut is_within = false;
        while let Some(letter) = letters.next_if(|letter| is_within || !letter.is_whitespace() && *letter != ',') {
            match letter {
                // Two quotes within quotes are one of the name.
                '"' if is_within && letters.next_if_eq(&'"').is_some() => word.text.push('"'),
                '"' => is_within = !is_within,
                letter => word.text.push(letter),
            }
        }
        if is_within {
            return None;
        }
        match fields.last_mut().filter(|_| goes_on) {
            Some(field) => field.push(word),
            None => fields.push(vec![word]),
        }
        goes_on = letters.next_if_eq(&',').is_some();
    }
}

fn database(word: Word) -> NamePattern {
    match word.text.as_str() {
        "all" if !word.is_quoted => NamePattern::All,
        "sameuser" if !word.is_quoted => NamePattern::SameUser,
        "samerole" | "samegroup" if !word.is_quoted => NamePattern::SameRole,
        "replication" if !word.is_quoted => NamePattern::Replication,
        _ => NamePattern::Name(word.text),
    }
}

fn user(word: Word) -> NamePattern {
    match word.text.strip_prefix('+') {
        _ if word.is_quoted => NamePattern::Name(word.text),
        Some(role) => NamePattern::MemberOf(role.to_owned()),
        None if word.text == "all" => NamePattern::All,
        None => NamePattern::Name(word.text),
    }
}

fn address(word: &str) -> Option<AddressPattern> {
    if word == "all" {
        return Some(AddressPattern::All);
    }
    let network = word.parse::<IpNet>().ok().or_else(|| word.parse::<IpAddr>().ok().map(IpNet::from))?;
    Some(AddressPattern::Network(canonical(network)))
}

/// A network of IPv4 addresses in the form of IPv6 as one of IPv4: clients' addresses have that form, too.
fn canonical(network: IpNet) -> IpNet {
    const MAPPED_BITS: u8 = 96;
    match (network.addr().to_canonical(), network.prefix_len().checked_sub(MAPPED_BITS)) {
        (address @ IpAddr::V4(_), Some(length)) if network.addr().is_ipv6() => {
            IpNet::new(address, length).unwrap_or(network)
        }
        _ => network,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn method(
        rules: &str,
        address: Option<&str>,
        is_encrypted: bool,
        user: &str,
    ) -> std::result::Result<AccessMethod, String> {
        let rules = AccessRules::parse(rules).unwrap();
        let address = address.map(|address| address.parse().unwrap());
        let attempt = Attempt { address, is_encrypted, user, database: "postgres" };
        let in_staff = |role: &str| role == "staff" && user == "ann";
        rules.demand(&attempt, in_staff).map(|demand| demand.method).map_err(|error| error.message().to_owned())
    }

    #[test]
    fn by_default_this_machine_is_trusted_and_others_have_a_password() {
        for local in [None, Some("127.0.0.1"), Some("::1"), Some("::ffff:127.0.0.1")] {
            assert_eq!(method(DEFAULT_RULES, local, false, "ann"), Ok(AccessMethod::Trust), "{local:?}");
        }
        for remote in ["127.0.0.2", "10.1.2.3", "2001:db8::1", "::ffff:10.1.2.3"] {
            assert_eq!(method(DEFAULT_RULES, Some(remote), false, "ann"), Ok(AccessMethod::ScramSha256), "{remote}");
        }
    }

    #[test]
    fn the_first_rule_that_fits_decides() {
        let rules = "host all bob 10.0.0.0/8 reject; hostssl all +staff 10.0.0.0/8 trust\nhost sameuser,postgres all all scram-sha-256";
        assert_eq!(
            method(rules, Some("10.0.0.7"), true, "bob"),
            Err("pg_hba.conf rejects connection for host \"10.0.0.7\", user \"bob\", database \"postgres\", SSL encryption".to_owned())
        );
        assert_eq!(method(rules, Some("10.0.0.7"), true, "ann"), Ok(AccessMethod::Trust));
        assert_eq!(method(rules, Some("10.0.0.7"), false, "ann"), Ok(AccessMethod::ScramSha256));
        assert_eq!(method(rules, Some("11.0.0.7"), true, "bob"), Ok(AccessMethod::ScramSha256));
        assert_eq!(
            method(rules, None, false, "ann"),
            Err("no pg_hba.conf entry for host \"[local]\", user \"ann\", database \"postgres\", no encryption"
                .to_owned())
        );
        assert!(method("hostnossl all all all trust", Some("10.0.0.7"), true, "ann").is_err());
        assert!(method("local \"all\" all trust", None, false, "ann").is_err(), "a database of that name");
    }

    fn is_refused(rule: &str, user: &str) -> bool {
        method(&format!("{rule} reject; host all all all trust"), Some("10.0.0.7"), false, user).is_err()
    }

    #[test]
    fn quoted_names_hold_any_character_and_are_no_keywords() {
        for (rule, expected) in [
            ("host all \"a;b\", ann all", true),
            ("host all \"ann\" all", true),
            ("host \"postgres\",x all all", true),
            ("host \"all\" all all", false),
            ("host all \"all\" all", false),
            ("host all +staff all", true),
            ("host all \"+staff\" all", false),
        ] {
            assert_eq!(is_refused(rule, "ann"), expected, "{rule}");
        }
        assert!(is_refused("host all \"a\"\"b\" all", "a\"b"));
    }

    #[test]
    fn databases_may_be_those_of_the_users_roles() {
        for keyword in ["samerole", "samegroup"] {
            assert!(!is_refused(&format!("host {keyword} all all"), "ann"), "{keyword}");
            let rules = AccessRules::parse(&format!("host {keyword} all all reject")).unwrap();
            let address = Some("10.0.0.7".parse().unwrap());
            let attempt = Attempt { address, is_encrypted: false, user: "ann", database: "staff" };
            assert!(rules.find(&attempt, |role| role == "staff").is_some(), "{keyword}");
        }
        assert!(!is_refused("host replication all all", "ann"));
    }

    #[test]
    fn networks_of_ipv4_may_have_the_form_of_ipv6() {
        for (network, expected) in
            [("::ffff:10.0.0.0/104", true), ("::ffff:10.0.0.7", true), ("::ffff:11.0.0.0/104", false)]
        {
            assert_eq!(is_refused(&format!("host all all {network}"), "ann"), expected, "{network}");
        }
    }

    #[test]
    fn what_is_no_rule_is_refused_with_what_is_wrong_about_it() {
        for (rules, what) in [
            ("locl all all trust", "invalid connection type \"locl\""),
            ("local all", "missing user"),
            ("host all all trust", "invalid address \"trust\""),
            ("host all all 10.0.0.0/33 trust", "invalid address \"10.0.0.0/33\""),
            ("host all all example.org trust", "invalid address \"example.org\""),
            ("local all all ident", "invalid authentication method \"ident\""),
            ("host all all all cert", "cert authentication is only supported on hostssl connections"),
            (
                "hostssl all all all cert clientcert=verify-ca",
                "clientcert only accepts \"verify-full\" when using \"cert\" authentication",
            ),
            ("host all all all md5 clientcert=verify-ca", "clientcert can only be configured for \"hostssl\" rows"),
            ("hostssl all all all md5 clientcert=1", "invalid value for clientcert: \"1\""),
            ("hostssl all all all cert map=m", "unrecognized authentication option name: \"map\""),
            ("local all all trust host all all all trust", "unexpected \"host\""),
            ("local all @blocked reject", "file of names \"@blocked\""),
            ("local @some all reject", "file of names \"@some\""),
            ("local all \"ann reject", "unterminated quoted name"),
            ("host all all 10.0.0.1,10.0.0.2 reject", "several values for address"),
        ] {
            let error = AccessRules::parse(rules).unwrap_err();
            assert_eq!(error.message(), format!("{what} in rule \"{rules}\" of parameter \"hba_rules\""));
        }
        assert_eq!(AccessRules::parse(" ; \n").unwrap(), AccessRules::default());
    }
}
