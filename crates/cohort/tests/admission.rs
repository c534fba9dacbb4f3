//! The clients that each rule lets in, on Cohort and on a real PostgreSQL 15: each method, each way in which a password is kept, each password and
//! certificate that a client may have, encrypted or not. The client is psql; what it says must agree.

mod common;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::reference::{Reference, server_binaries};
use common::{Server, free_port, has_client};
use postgres::{Client, NoTls};
use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, CertifiedIssuer, DnType, IsCa, KeyIdMethod,
    KeyPair, KeyUsagePurpose, RevokedCertParams, SerialNumber, date_time_ymd,
};

/// The ways in which a password is kept, each with the statement that makes it so for the role `{}`.
const KEPT: &[(&str, &str)] = &[
    ("scram", "set password_encryption = 'scram-sha-256'; create role {} login password 'secret'"),
    ("md5", "set password_encryption = 'md5'; create role {} login password 'secret'"),
    ("hash", "create role {} login password 'md55ebe2294ecd0e0f08eab7690d2a6ee69'"),
    ("none", "create role {} login"),
    ("late", "create role {} login password 'secret' valid until '2001-01-01'"),
    ("late_md5", "set password_encryption = 'md5'; create role {} login password 'secret' valid until '2001-01-01'"),
    ("nologin", "create role {} password 'secret'"),
    (
        "renamed",
        "set password_encryption = 'md5'; create role {}_x login password 'secret'; alter role {}_x rename to {}",
    ),
    ("emptied", "set password_encryption = 'md5'; create role {} login password 'secret'; alter role {} password ''"),
    ("absent", "select 1"),
];

const METHODS: &[&str] = &["trust", "reject", "scram-sha-256", "md5", "password"];

/// The passwords that clients try.
const PASSWORDS: &[Option<&str>] = &[Some("secret"), Some("wrong"), None];

/// The role for a method and a way to keep its password.
fn role(method: &str, kept: &str) -> String {
    format!("{}_{kept}", method.replace('-', "_"))
}

/// A rule for each method and one for each way in which certificates are asked for, as lines of `pg_hba.conf`.
fn rules() -> Vec<String> {
    let mut rules = vec!["local all all trust".to_owned()];
    for method in METHODS {
        let roles: Vec<String> = KEPT.iter().map(|(kept, _)| role(method, kept)).collect();
        rules.push(format!("host all {} all {method}", roles.join(",")));
    }
    for (users, method) in CERTIFIED {
        rules.push(format!("hostssl all {users} all {method}"));
    }
    rules
}

/// Rules about certificates, each for a role of its own, and for `ann` the one that its certificate names.
const CERTIFIED: &[(&str, &str)] = &[
    ("ann,cert_other", "cert"),
    ("ca_trust", "trust clientcert=verify-ca"),
    ("full_trust", "trust clientcert=verify-full"),
    ("ca_scram", "scram-sha-256 clientcert=verify-ca"),
    ("full_scram", "scram-sha-256 clientcert=verify-full"),
    ("ca_md5", "md5 clientcert=verify-ca"),
    ("full_password", "password clientcert=verify-full"),
];

/// A server to ask: over TCP by psql, over its socket as a superuser.
struct Asked {
    name: &'static str,
    port: u16,
    url: String,
}

impl Asked {
    fn run(&self, statements: &str) {
        let mut client = Client::connect(&self.url, NoTls).unwrap();
        client.batch_execute(statements).unwrap_or_else(|error| panic!("{}: {statements}: {error}", self.name));
    }

    /// The words of psql over TCP, with these connection parameters.
    fn attempt(&self, user: &str, parameters: &str, password: Option<&str>) -> String {
        let password = password.map(|password| format!("password={password}")).unwrap_or_default();
        let connection = format!(
            "host=localhost hostaddr=127.0.0.1 port={} dbname=postgres user={user} {parameters} {password}",
            self.port
        );
        let query = "select current_user, (select ssl from pg_stat_ssl where pid = pg_backend_pid())";
        let output = Command::new("psql").args(["-XAtw", "-c", query, &connection]).output().unwrap();
        let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        // Cohort's hint names its own setting.
        let lines: Vec<&str> = said.lines().filter(|line| !line.starts_with("HINT:")).collect();
        let said = lines.join("\n").replace(&format!("port {}", self.port), "port N");
        // The words of the two libraries of TLS differ.
        let is_of_tls =
            ["SSL error", "alert", "closed the connection", "Connection reset", "Broken pipe", "SSL SYSCALL"];
        if is_of_tls.iter().any(|words| said.contains(words)) { "refused by TLS".to_owned() } else { said }
    }

    /// The SQLSTATE of a refusal, without encryption.
    fn code(&self, user: &str, password: Option<&str>) -> String {
        let mut config = postgres::Config::new();
        config.host("127.0.0.1").port(self.port).user(user).dbname("postgres");
        if let Some(password) = password {
            config.password(password);
        }
        match config.connect(NoTls) {
            Ok(_) => "let in".to_owned(),
            Err(error) => error.code().map_or_else(|| error.to_string(), |code| code.code().to_owned()),
        }
    }
}

fn write(path: &Path, text: &str) -> PathBuf {
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
    path.to_owned()
}

/// Certificates: an authority, a server, clients that it has certified, one that it has revoked, one of another authority.
struct Certificates {
    folder: PathBuf,
}

type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority(name: &str) -> Authority {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign, KeyUsagePurpose::DigitalSignature];
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

impl Certificates {
    fn make(folder: &Path) -> Certificates {
        let (own, other) = (authority("authority"), authority("another"));
        let certify = |by: &Authority, file: &str, name: Option<&str>, serial: u64| {
            let key = KeyPair::generate().unwrap();
            let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
            params.distinguished_name = rcgen::DistinguishedName::new();
            params.distinguished_name.push(DnType::OrganizationName, "Tests");
            if let Some(name) = name {
                params.distinguished_name.push(DnType::CommonName, name);
            }
            params.serial_number = Some(SerialNumber::from(serial));
            let certificate = params.signed_by(&key, by).unwrap();
            write(&folder.join(format!("{file}.crt")), &certificate.pem());
            write(&folder.join(format!("{file}.key")), &key.serialize_pem());
        };
        certify(&own, "server", Some("localhost"), 1);
        certify(&own, "ann", Some("ann"), 2);
        certify(&own, "nameless", None, 3);
        certify(&own, "revoked", Some("ann"), 4);
        certify(&other, "foreign", Some("ann"), 5);
        write(&folder.join("ca.crt"), &own.pem());
        let revoked = RevokedCertParams {
            serial_number: SerialNumber::from(4),
            revocation_time: date_time_ymd(2024, 1, 1),
            reason_code: None,
            invalidity_date: None,
        };
        let list = CertificateRevocationListParams {
            this_update: date_time_ymd(2024, 1, 1),
            next_update: date_time_ymd(2124, 1, 1),
            crl_number: SerialNumber::from(1),
            issuing_distribution_point: None,
            revoked_certs: vec![revoked],
            key_identifier_method: KeyIdMethod::Sha256,
        };
        write(&folder.join("ca.crl"), &list.signed_by(&own).unwrap().pem().unwrap());
        Certificates { folder: folder.to_owned() }
    }

    /// Connection parameters of a client with this certificate.
    fn of(&self, name: &str) -> String {
        let path = |end: &str| self.folder.join(format!("{name}.{end}")).display().to_string();
        format!("sslmode=require sslcert={} sslkey={}", path("crt"), path("key"))
    }

    /// The server's settings. PostgreSQL runs as a user of its own, to whom the files then belong.
    fn settings(&self) -> Vec<String> {
        let path = |name: &str| self.folder.join(name).display().to_string();
        vec![
            "ssl=on".to_owned(),
            format!("ssl_cert_file={}", path("server.crt")),
            format!("ssl_key_file={}", path("server.key")),
            format!("ssl_ca_file={}", path("ca.crt")),
            format!("ssl_crl_file={}", path("ca.crl")),
        ]
    }
}

/// Both servers, with the same rules, certificates and roles. The folder is what the reference's user can read.
fn servers(folder: &Path) -> Option<(Server, Reference, [Asked; 2], Certificates)> {
    let binaries = server_binaries()?;
    if !has_client("psql") {
        return None;
    }
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755)).unwrap();
    let own = folder.join("own");
    let theirs = folder.join("theirs");
    std::fs::create_dir(&own).unwrap();
    std::fs::create_dir(&theirs).unwrap();
    let certificates = Certificates::make(&own);
    let copies = Certificates { folder: theirs.clone() };
    for entry in std::fs::read_dir(&own).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, theirs.join(path.file_name().unwrap())).unwrap();
    }
    let hba = write(&theirs.join("hba"), &(rules().join("\n") + "\n"));
    // Only root may give files away, and has to.
    let _ = Command::new("chown").args(["-R", "postgres"]).arg(&theirs).status().unwrap();

    let mut settings = certificates.settings();
    settings.push(format!("hba_rules={}", rules().join(";")));
    let texts: Vec<&str> = settings.iter().map(String::as_str).collect();
    let server_folder = folder.join("server");
    std::fs::create_dir(&server_folder).unwrap();
    let server = Server::start_at(&server_folder, free_port(), &texts);
    let mut settings = copies.settings();
    settings.push("listen_addresses=127.0.0.1".to_owned());
    settings.push(format!("hba_file={}", hba.display()));
    let texts: Vec<&str> = settings.iter().map(String::as_str).collect();
    let reference = Reference::start_with(&binaries, &texts);
    let asked = [
        Asked { name: "Cohort", port: server.port(), url: server.url() },
        Asked { name: "PostgreSQL", port: reference.port(), url: reference.url() },
    ];
    Some((server, reference, asked, certificates))
}

#[test]
fn each_method_lets_the_same_clients_in_as_postgresql() {
    let folder = tempfile::tempdir().unwrap();
    let Some((_server, _reference, asked, certificates)) = servers(folder.path()) else { return };
    for server in &asked {
        for method in METHODS {
            KEPT.iter().for_each(|(kept, make)| server.run(&make.replace("{}", &role(method, kept))));
        }
    }
    let mut differences = Vec::new();
    let mut compare = |what: String, said: [String; 2]| {
        if said[0] != said[1] {
            differences.push(format!("{what}\n  Cohort:     {}\n  PostgreSQL: {}", said[0], said[1]));
        }
    };
    let encrypted = "sslmode=require".to_owned();
    for method in METHODS {
        for (kept, _) in KEPT {
            let user = role(method, kept);
            for password in PASSWORDS {
                for parameters in ["sslmode=disable", &encrypted] {
                    let said = [0, 1].map(|index: usize| asked[index].attempt(&user, parameters, *password));
                    compare(format!("{user} {parameters} {password:?}"), said);
                }
                let codes = [0, 1].map(|index: usize| asked[index].code(&user, *password));
                compare(format!("{user} {password:?}: SQLSTATE"), codes);
            }
        }
    }
    // Certificates that no rule asks for are verified all the same.
    for name in ["ann", "foreign", "revoked"] {
        let said = [0, 1].map(|index: usize| asked[index].attempt("trust_none", &certificates.of(name), None));
        compare(format!("trust_none with the certificate {name}"), said);
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    let user = role("md5", "md5");
    assert_eq!(asked[0].code(&user, Some("secret")), "let in");
    assert_eq!(asked[0].code(&user, Some("wrong")), "28P01");
}

#[test]
fn certificates_let_the_same_clients_in_as_postgresql() {
    let folder = tempfile::tempdir().unwrap();
    let Some((_server, _reference, asked, certificates)) = servers(folder.path()) else { return };
    let users: Vec<&str> = CERTIFIED.iter().flat_map(|(users, _)| users.split(',')).collect();
    for server in &asked {
        users.iter().for_each(|user| server.run(&format!("create role {user} login password 'secret'")));
        server.run("set password_encryption = 'md5'; alter role ca_md5 password 'secret'");
    }
    let mut ways: Vec<String> =
        ["ann", "nameless", "revoked", "foreign"].iter().map(|name| certificates.of(name)).collect();
    ways.extend(["sslmode=require".to_owned(), "sslmode=disable".to_owned()]);
    let mut differences = Vec::new();
    for user in &users {
        for parameters in &ways {
            for password in PASSWORDS {
                let [own, theirs] = [0, 1].map(|index: usize| asked[index].attempt(user, parameters, *password));
                if own != theirs {
                    differences
                        .push(format!("{user} {parameters} {password:?}\n  Cohort:     {own}\n  PostgreSQL: {theirs}"));
                }
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert_eq!(asked[0].attempt("ann", &certificates.of("ann"), None), "ann|t");
    assert!(
        asked[0].attempt("cert_other", &certificates.of("ann"), None).contains("certificate authentication failed")
    );
}
