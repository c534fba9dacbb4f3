//! Authentication: passwords, rules about hosts, encryption. The clients are the `postgres` crate and psql.

mod common;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use common::{Server, has_client};
use postgres::{Client, NoTls, SimpleQueryMessage};

/// Everybody who comes over TCP has a password, also from this machine.
const ASK_OVER_TCP: &str = "hba_rules=local all all trust; host all nobody all reject; host all all all scram-sha-256";

/// Connects over TCP; the SQLSTATE and message of a refusal.
fn over_tcp(server: &Server, user: &str, password: Option<&str>) -> Result<Client, (String, String)> {
    let mut config = postgres::Config::new();
    config.host("127.0.0.1").port(server.port()).user(user).dbname("postgres");
    if let Some(password) = password {
        config.password(password);
    }
    config.connect(NoTls).map_err(|error| match error.as_db_error() {
        Some(error) => (error.code().code().to_owned(), error.message().to_owned()),
        None => (String::new(), error.to_string()),
    })
}

fn refusal(server: &Server, user: &str, password: Option<&str>) -> (String, String) {
    over_tcp(server, user, password).err().unwrap_or_else(|| panic!("{user} was let in"))
}

#[test]
fn both_ends_of_a_connection_over_tcp_are_told() {
    let ends = "select inet_server_addr(), inet_server_port(), inet_client_addr(), inet_client_port(),
                       (select client_port from pg_stat_activity where pid = pg_backend_pid())";
    let told = |client: &mut Client| -> Vec<Option<String>> {
        let answers = client.simple_query(ends).unwrap();
        let row = answers.iter().find_map(|answer| match answer {
            SimpleQueryMessage::Row(row) => Some(row),
            _ => None,
        });
        let row = row.unwrap();
        (0..row.len()).map(|column| row.get(column).map(str::to_owned)).collect()
    };
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let over_tcp = told(&mut over_tcp(&server, "postgres", None).unwrap());
    let address = Some("127.0.0.1".to_owned());
    assert_eq!(over_tcp[..3], [address.clone(), Some(server.port().to_string()), address]);
    assert_eq!(over_tcp[3], over_tcp[4]);
    assert_ne!(over_tcp[3], over_tcp[1]);
    let over_unix_socket = told(&mut server.connect());
    assert_eq!(over_unix_socket, [None, None, None, None, Some("-1".to_owned())]);
}

#[test]
fn who_comes_from_elsewhere_proves_that_it_knows_its_password() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[ASK_OVER_TCP]);
    let mut admin = server.connect();
    admin
        .batch_execute(
            "create role ann login password 'correct horse'; create role bob login; create role nobody login;
             create role late login password 'x' valid until '2001-01-01'; create role staff password 'x';
             create role soon login password 'ünïcödé' valid until 'infinity' connection limit 1",
        )
        .unwrap();

    let mut ann = over_tcp(&server, "ann", Some("correct horse")).unwrap();
    assert_eq!(ann.query_one("select session_user::text", &[]).unwrap().get::<_, String>(0), "ann");
    assert_eq!(refusal(&server, "ann", None).0, "", "the driver finds that it has no password");
    let wrong = |user: &str| ("28P01".to_owned(), format!("password authentication failed for user \"{user}\""));
    for (user, password) in
        [("ann", "correct hors"), ("ann", ""), ("bob", "correct horse"), ("late", "x"), ("who is not there", "x")]
    {
        assert_eq!(refusal(&server, user, Some(password)), wrong(user), "{password}");
    }
    assert_eq!(
        refusal(&server, "staff", Some("x")),
        ("28000".to_owned(), "role \"staff\" is not permitted to log in".to_owned())
    );
    assert_eq!(
        refusal(&server, "nobody", Some("x")),
        (
            "28000".to_owned(),
            "pg_hba.conf rejects connection for host \"127.0.0.1\", user \"nobody\", database \"postgres\", no encryption"
                .to_owned()
        )
    );
    let only = over_tcp(&server, "soon", Some("ünïcödé")).unwrap();
    assert_eq!(
        refusal(&server, "soon", Some("ünïcödé")),
        ("53300".to_owned(), "too many connections for role \"soon\"".to_owned())
    );
    drop(only);

    // The server keeps a SCRAM verifier and not the password. A changed password counts from the next connection on.
    let kept: String = admin.query_one("select rolpassword from pg_authid where rolname = 'ann'", &[]).unwrap().get(0);
    assert!(kept.starts_with("SCRAM-SHA-256$4096:"), "{kept}");
    admin.batch_execute(&format!("alter role bob password '{kept}'; alter role ann password null")).unwrap();
    over_tcp(&server, "bob", Some("correct horse")).unwrap();
    assert_eq!(refusal(&server, "ann", Some("correct horse")), wrong("ann"));

    // It is there after a crash.
    drop((admin, ann));
    let port = server.port();
    server.kill();
    let server = Server::start_at(folder.path(), port, &[ASK_OVER_TCP]);
    over_tcp(&server, "bob", Some("correct horse")).unwrap();
}

#[test]
fn what_a_role_loses_it_loses_in_the_sessions_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let mut admin = server.connect();
    admin.batch_execute("create role ann login superuser; create table secrets (a int)").unwrap();
    let mut ann = over_tcp(&server, "ann", None).unwrap();
    let look = "select count(*) from secrets";
    let mut look =
        || ann.query(look, &[]).map(|rows| rows.len()).map_err(|error| error.code().unwrap().code().to_owned());
    assert_eq!(look(), Ok(1));
    admin.batch_execute("alter role ann nosuperuser").unwrap();
    assert_eq!(look(), Err("42501".to_owned()));
    admin.batch_execute("grant select on secrets to ann").unwrap();
    assert_eq!(look(), Ok(1));
    admin.batch_execute("revoke select on secrets from ann").unwrap();
    assert_eq!(look(), Err("42501".to_owned()));
}

#[test]
fn rules_can_be_changed_while_the_server_runs_and_wrong_ones_are_not_taken_up() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    over_tcp(&server, "postgres", None).unwrap();
    let configure = |rules: &str| {
        std::fs::write(folder.path().join("data/cohort.conf"), format!("hba_rules = '{rules}'\n")).unwrap();
        server.connect().query_one("select pg_reload_conf()", &[]).unwrap().get::<_, bool>(0)
    };
    assert!(configure("local all all trust"));
    let (code, message) = refusal(&server, "postgres", None);
    assert_eq!(code, "28000");
    assert!(message.starts_with("no pg_hba.conf entry for host \"127.0.0.1\", user \"postgres\""), "{message}");
    assert!(!configure("local all all truth"), "{}", server.log());
    server.wait_for_log("invalid authentication method \"truth\"");
    refusal(&server, "postgres", None);
    assert!(configure("local all all trust; host all all 127.0.0.0/8 trust"));
    over_tcp(&server, "postgres", None).unwrap();
    let shown =
        server.connect().query("select type, address, netmask, auth_method from pg_hba_file_rules", &[]).unwrap();
    let shown: Vec<[Option<String>; 4]> =
        shown.iter().map(|row| [row.get(0), row.get(1), row.get(2), row.get(3)]).collect();
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(
        shown,
        [
            [text("local"), None, None, text("trust")],
            [text("host"), text("127.0.0.0"), text("255.0.0.0"), text("trust")]
        ]
    );
}

/// A certificate for `localhost` and its key, in files.
fn certificate(folder: &Path) -> (PathBuf, PathBuf) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (certificate, key) = (folder.join("server.crt"), folder.join("server.key"));
    std::fs::write(&certificate, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    (certificate, key)
}

/// psql over TCP with these connection parameters.
fn psql(server: &Server, parameters: &str, query: &str) -> Output {
    let connection = format!("host=localhost hostaddr=127.0.0.1 port={} dbname=postgres {parameters}", server.port());
    Command::new("psql").args(["-XAtw", "-v", "ON_ERROR_STOP=1", "-c", query, &connection]).output().unwrap()
}

fn printed(output: &Output) -> &str {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    std::str::from_utf8(&output.stdout).unwrap().trim_end()
}

#[test]
fn connections_are_encrypted_and_bound_to_the_certificate() {
    if !has_client("psql") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (certificate, key) = certificate(folder.path());
    let rules = "hba_rules=local all all trust; hostssl all all all scram-sha-256";
    let files = [format!("ssl_cert_file={}", certificate.display()), format!("ssl_key_file={}", key.display())];
    let server = Server::start(folder.path(), &["ssl=on", &files[0], &files[1], rules]);
    server.connect().batch_execute("create role ann superuser login password 'secret'").unwrap();

    let verified = format!("user=ann password=secret sslmode=verify-full sslrootcert={}", certificate.display());
    let query = "select ssl, version, cipher <> '' from pg_stat_ssl where pid = pg_backend_pid()";
    assert_eq!(printed(&psql(&server, &verified, query)), "t|TLSv1.3|t");
    let bound = format!("{verified} channel_binding=require ssl_max_protocol_version=TLSv1.2");
    assert_eq!(printed(&psql(&server, &bound, query)), "t|TLSv1.2|t");
    let wrong = psql(&server, &verified.replace("password=secret", "password=wrong"), "select 1");
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("password authentication failed for user \"ann\""));
    let clear = psql(&server, "user=ann password=secret sslmode=disable", "select 1");
    assert!(String::from_utf8_lossy(&clear.stderr).contains("no encryption"), "hostssl is for encrypted ones");

    // More than any buffer holds, both ways.
    let large = "select sum(length(repeat(md5(n::text), 100))) from generate_series(1, 10000) as n";
    assert_eq!(printed(&psql(&server, &verified, large)), "32000000");
    let rows = psql(&server, &verified, "select n, repeat(md5(n::text), 100) from generate_series(1, 10000) as n");
    assert_eq!(printed(&rows).lines().count(), 10_000);
    assert_eq!(
        printed(&rows).len(),
        10_000 * 3201 + (1..=10_000).map(|n: u32| n.to_string().len()).sum::<usize>() + 9_999
    );
    server.connect().batch_execute("create table wide (n int, filler text)").unwrap();
    let file = folder.path().join("rows");
    std::fs::write(&file, &rows.stdout).unwrap();
    let copy = format!("\\copy wide from '{}' with (delimiter '|')", file.display());
    assert_eq!(printed(&psql(&server, &verified, &copy)), "COPY 10000");
    assert_eq!(server.psql("select sum(length(filler)) from wide"), "32000000");

    // Cancelled over a connection of its own.
    let parameters = format!("{verified} options='-c statement_timeout=300'");
    let late = psql(&server, &parameters, "select pg_sleep(30)");
    assert!(String::from_utf8_lossy(&late.stderr).contains("canceling statement due to statement timeout"));
}

#[test]
fn a_certificate_that_cannot_be_used_is_told_of_and_the_earlier_one_stays() {
    if !has_client("psql") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (certificate, key) = certificate(folder.path());
    let files = [format!("ssl_cert_file={}", certificate.display()), format!("ssl_key_file={}", key.display())];
    let server = Server::start(folder.path(), &["ssl=on", &files[0], &files[1]]);
    let encrypted = "user=postgres sslmode=require";
    printed(&psql(&server, encrypted, "select 1"));

    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    server.psql("select pg_reload_conf()");
    server.wait_for_log("has group or world access");
    printed(&psql(&server, encrypted, "select 1"));
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::fs::write(&certificate, "no certificate").unwrap();
    server.psql("select pg_reload_conf()");
    server.wait_for_log("could not load server certificate file");
    printed(&psql(&server, encrypted, "select 1"));
    drop(server);

    let output = Command::new(env!("CARGO_BIN_EXE_cohort"))
        .arg("serve")
        .arg(folder.path().join("data"))
        .args(["--host", "", "-c", "ssl=on", "-c", &files[0], "-c", &files[1]])
        .output()
        .unwrap();
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("could not load server certificate file"), "{said}");
}

/// Sends raw bytes over TCP and gives all that comes back.
fn raw(server: &Server, parts: &[&[u8]]) -> Vec<u8> {
    let mut stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    for part in parts {
        stream.write_all(part).unwrap();
    }
    let mut answer = Vec::new();
    // A connection may also end by a reset.
    let _ = stream.read_to_end(&mut answer);
    answer
}

// invariants: row 26
#[test]
fn what_does_not_belong_to_the_exchange_ends_the_connection() {
    const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];
    let folder = tempfile::tempdir().unwrap();
    let (certificate, key) = certificate(folder.path());
    let files = [format!("ssl_cert_file={}", certificate.display()), format!("ssl_key_file={}", key.display())];
    let server = Server::start(folder.path(), &["ssl=on", &files[0], &files[1], ASK_OVER_TCP]);
    let start = &b"\0\0\0\x12\0\x03\0\0user\0ann\0\0"[..];
    let message = |kind: u8, body: &[u8]| {
        let mut message = vec![kind];
        message.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
        message.extend_from_slice(body);
        message
    };
    let says = |answer: &[u8], text: &str| {
        let answer = String::from_utf8_lossy(answer);
        assert!(answer.contains(text), "{answer}");
    };

    // In clear, behind the request and ahead of the handshake.
    let injected = raw(&server, &[&[&SSL_REQUEST[..], start].concat()]);
    assert!(matches!(injected.as_slice(), [] | [b'S'] | [b'S', b'E', ..]), "{injected:?}");
    // No handshake.
    raw(&server, &[&SSL_REQUEST, &[0x16; 100]]);
    // A query in place of a password; an answer without end; a mechanism nobody offered; no SCRAM.
    says(&raw(&server, &[start, &message(b'Q', b"select 1\0")]), "expected password response, got message type 81");
    says(&raw(&server, &[start, b"p\x7f\xff\xff\xff"]), "invalid password packet size");
    says(&raw(&server, &[start, &message(b'p', b"PLAIN\0\0\0\0\x01x")]), "invalid SASL authentication mechanism");
    says(&raw(&server, &[start, &message(b'p', b"SCRAM-SHA-256\0\0\0\0\x04n,,x")]), "malformed SCRAM message");
    says(&raw(&server, &[start, &message(b'p', b"SCRAM-SHA-256\0\x7f\xff\xff\xffn,,")]), "08P01");
    let first = message(b'p', b"SCRAM-SHA-256\0\0\0\0\x0dn,,n=ann,r=abc");
    says(&raw(&server, &[start, &first, &message(b'p', b"c=biws,r=abc,p=AAAA")]), "malformed SCRAM message");
    // Others don't notice.
    assert_eq!(server.psql("select 1"), "1");
}

#[test]
fn a_server_that_runs_as_root_says_so_and_keeps_off_files() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    let (copy_to, copy_from) = (format!("copy t to '{}'", file.display()), format!("copy t from '{}'", file.display()));
    let is_root = Command::new("id").arg("-u").output().unwrap().stdout.trim_ascii() == b"0";
    let server = Server::start(folder.path(), &["allow_server_files_as_root=off"]);
    let warnings = server.log().lines().filter(|line| line.contains("runs as root")).count();
    assert_eq!(warnings, usize::from(is_root), "{}", server.log());
    let mut client = server.connect();
    client.batch_execute("create table t (a int); insert into t values (1)").unwrap();
    for statement in [&copy_to, &copy_from, "copy t from '/nonexistent'", "copy no_such_table to '/nonexistent'"] {
        let error = client.batch_execute(statement).err();
        let code = error.as_ref().and_then(|error| error.code()).map(|code| code.code().to_owned());
        if is_root {
            assert_eq!(code.as_deref(), Some("42501"), "{statement}");
            assert!(error.unwrap().as_db_error().unwrap().hint().unwrap().contains("allow_server_files_as_root"));
        } else {
            assert_ne!(code.as_deref(), Some("42501"), "{statement}");
        }
    }
    assert_eq!(file.exists(), !is_root);
    for statement in ["set allow_server_files_as_root = on", "alter system set allow_server_files_as_root = on"] {
        let refused = client.batch_execute(statement).unwrap_err();
        assert_eq!(refused.code().unwrap().code(), "55P02");
    }
    drop(client);
    server.stop();

    // The log is no way round.
    let server = Server::start(folder.path(), &["allow_server_files_as_root=off", "logging_collector=on"]);
    let mut client = server.connect();
    let elsewhere = tempfile::tempdir().unwrap();
    for setting in
        [format!("log_directory = '{}'", elsewhere.path().display()), "log_filename = '../../job'".to_owned()]
    {
        client.batch_execute(&format!("alter system set {setting}")).unwrap();
        client.batch_execute("select pg_reload_conf(); select pg_rotate_logfile()").unwrap();
        client.batch_execute("do $$ begin raise log 'a line'; end $$").unwrap();
        client.batch_execute("alter system reset all").unwrap();
    }
    drop(client);
    server.stop();
    let found = [elsewhere.path().read_dir().unwrap().next().is_some(), folder.path().join("job").exists()];
    assert_eq!(found, [!is_root, !is_root]);

    let server = Server::start(folder.path(), &["allow_server_files_as_root=on"]);
    let mut client = server.connect();
    // A COPY that fails before its data leaves the file as it was.
    std::fs::write(&file, "7\n").unwrap();
    client.batch_execute(&format!("copy no_such_table to '{}'", file.display())).unwrap_err();
    client.batch_execute(&copy_from).unwrap();
    client.batch_execute(&copy_to).unwrap();
    let copied = std::fs::read_to_string(&file).unwrap();
    assert!(copied.ends_with("7\n"), "{copied}");
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let new = folder.path().join("new");
    client.batch_execute(&format!("copy t to '{}'", new.display())).unwrap();
    assert_eq!(mode(&new) & 0o022, 0, "only the server's user writes it");
}
