//! How a worker's connections come to their sessions: encryption, passwords, and a place for each.

use std::rc::Rc;

use base::access::{AccessMethod, Attempt, CertificateDemand, Demand};
use base::report::{Identity, Level};
use base::settings::Id;
use base::{Error, sqlstate};
use bytes::BytesMut;
use pgwire::api::auth::sasl::scram::ScramServerAuth;
use sql::{ConnectRequest, Instance};
use sync::Arc;

use super::{State, Worker, too_many};
use crate::authentication::{Exchange, Outcome};
use crate::conversation::Conversation;
use crate::startup::{self, EncryptionKind, Refusal, Request};
use crate::stream::Stream;
use crate::tls::common_name;
use base::settings::words::PasswordEncryption;

/// Whether the method `md5` asks a client for an MD5 hash: if the role's password is kept as one, and if there is none, as if it had
/// been kept now.
fn asks_for_md5(instance: &Instance, kept: Option<&str>) -> bool {
    match kept {
        Some(kept) => sql::password::is_md5(kept),
        None => {
            instance.database().settings().get(Id::PasswordEncryption).word::<PasswordEncryption>()
                == PasswordEncryption::Md5
        }
    }
}

/// Looks at the certificate of a client. Whether it is one that lets the user in, if the client also proves that it knows its password.
///
/// # Errors
/// F0000 if the server verifies no certificates; 28000 for a client without one, or that has only to show one and shows another user's.
fn check_certificate(stream: &Stream, demand: Demand, user: &str) -> base::Result<bool> {
    if demand.certificate == CertificateDemand::None {
        return Ok(true);
    }
    let Some(encryption) = stream.encryption().filter(|encryption| encryption.credentials().verifies_clients) else {
        let message = "client certificates can only be checked if a root certificate store is available";
        return Err(Error::new(sqlstate::CONFIG_FILE_ERROR, message).fatal());
    };
    let refused = |message: String| Error::new(sqlstate::INVALID_AUTHORIZATION_SPECIFICATION, message).fatal();
    let Some(certificate) = encryption.client_certificate() else {
        return Err(refused("connection requires a valid client certificate".to_owned()));
    };
    if demand.certificate == CertificateDemand::VerifyCa || common_name(certificate).as_deref() == Some(user) {
        return Ok(true);
    }
    match demand.method {
        AccessMethod::Cert => Err(refused(format!("certificate authentication failed for user \"{user}\""))),
        AccessMethod::Trust => Err(refused(format!("\"trust\" authentication failed for user \"{user}\""))),
        _ => Ok(false),
    }
}

impl Worker {
    /// Notes a connection that has just been accepted, in the log if it is to be.
    pub(super) fn receive(&self, stream: &Stream) -> Arc<Identity> {
        let instance = &self.shared.instance;
        let identity = Arc::new(Identity::new(instance.next_pid(), instance.clock(), stream.peer()));
        if instance.database().settings().get(Id::LogConnections).as_bool() {
            let host = match identity.peer {
                Some(peer) => format!("{} port={}", peer.ip().to_canonical(), peer.port()),
                None => "[local]".to_owned(),
            };
            let message = format!("connection received: host={host}");
            instance.report_of_connection(Level::Log, &said(message), &identity, None, "");
        }
        identity
    }

    /// Writes to the log why a connection ends before it has a session.
    fn log_refusal(&self, index: usize, error: &Error) {
        let connection = &self.connections[index];
        let named = connection.named.as_deref().map(|(user, database)| (user.as_str(), database.as_str()));
        let instance = &self.shared.instance;
        match named {
            Some((user, _)) if error.sqlstate() == sqlstate::INVALID_PASSWORD => {
                let error = error.clone().detail_for_log(instance.refusal_of(user));
                instance.report_of_connection(Level::Fatal, &error, &connection.identity, named, "authentication");
            }
            _ => instance.report_of_connection(Level::Fatal, error, &connection.identity, named, "startup"),
        }
    }

    /// Writes to the log how a client was let in, if connections are to be logged.
    fn log_admission(&self, index: usize, messages: impl FnOnce() -> Vec<String>) {
        let instance = &self.shared.instance;
        if !instance.database().settings().get(Id::LogConnections).as_bool() {
            return;
        }
        let connection = &self.connections[index];
        let named = connection.named.as_deref().map(|(user, database)| (user.as_str(), database.as_str()));
        for message in messages() {
            instance.report_of_connection(Level::Log, &said(message), &connection.identity, named, "authentication");
        }
    }

    /// Counts a connection among those without a session. If there are too many, the one that is so for the longest goes: a client
    /// that is about to start takes milliseconds for it.
    pub(super) fn begin_starting(&mut self, index: usize) {
        let is_one_too_many = self.shared.budget.begin_starting();
        if is_one_too_many
            && let Some(oldest) = self.starting.first().copied()
            && let Some(oldest) = self.index_of(oldest)
        {
            let mut port = self.connections[oldest].port.borrow_mut();
            port.outgoing.error_or_notice(b'E', "FATAL", &too_many());
            port.send(self.wal.durable());
            port.close();
            drop(port);
            self.remove(oldest);
        }
        self.starting.insert(self.token_of(index));
    }

    pub(super) fn end_starting(&mut self, token: u64) {
        if self.starting.remove(&token) {
            self.shared.budget.end_starting();
        }
    }

    /// Takes a step towards a session. A panic in it ends this connection only: strangers reach this code.
    pub(super) fn contain_panic(&mut self, index: usize, step: impl FnOnce(&mut Worker)) {
        if std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| step(self))).is_err() {
            self.give_place_back(index);
            self.end_after_panic(index);
        }
    }

    /// Works on what arrives before a session has begun.
    pub(super) fn start_session(&mut self, index: usize) {
        let connection = &mut self.connections[index];
        let decoded = startup::decode(connection.port.borrow().incoming.pending(), connection.asked);
        let result = match decoded {
            Ok(None) => {
                connection.state = State::Starting;
                return;
            }
            Ok(Some((request, length))) => {
                connection.port.borrow_mut().incoming.consume(length);
                match request {
                    Request::Encryption(kind) => self.answer_encryption(index, kind).map(|()| State::Starting),
                    Request::Cancel { pid, secret } => {
                        self.shared.instance.cancel(pid, secret);
                        connection.state = State::Closing;
                        return;
                    }
                    Request::Start(request) => {
                        connection.named = Some(Box::new((request.user.clone(), request.database.clone())));
                        self.admit_or_ask(index, request)
                    }
                }
            }
            Err(Refusal::Told(error)) => Err(error),
            Err(Refusal::ToldPlainly(error)) => {
                self.log_refusal(index, &error);
                let connection = &self.connections[index];
                connection.port.borrow_mut().outgoing.raw(&startup::plain_error(&error));
                return;
            }
            Err(Refusal::Silent) => return,
        };
        self.go_on_starting(index, result);
    }

    /// Works on a client's answer to being asked for its password.
    pub(super) fn authenticate(&mut self, index: usize, exchange: Exchange) {
        let port = Rc::clone(&self.connections[index].port);
        let message = {
            let port = port.borrow();
            let pending = port.incoming.pending();
            match startup::password_message(pending) {
                Ok(None) => {
                    self.connections[index].state = State::Authenticating(Box::new(exchange));
                    return;
                }
                Ok(Some(length)) => Ok(pending[..length].to_vec()),
                Err(error) => Err(error),
            }
        };
        let result = message.and_then(|message| {
            port.borrow_mut().incoming.consume(message.len());
            let mut out = BytesMut::new();
            let (outcome, exchange) = exchange.take(&message[5..], &mut out)?;
            port.borrow_mut().outgoing.raw(&out);
            match (outcome, exchange) {
                (Outcome::Proved(request), _) => {
                    self.log_admission(index, || {
                        let user = &request.user;
                        vec![format!("connection authenticated: identity=\"{user}\" (hba_rules)")]
                    });
                    self.connect(index, request)
                }
                (Outcome::Continues, Some(exchange)) => Ok(State::Authenticating(Box::new(exchange))),
                (Outcome::Continues, None) => Err(Error::internal("an exchange ended without an outcome")),
            }
        });
        self.go_on_starting(index, result);
    }

    /// Takes the next step towards a session: works on what has arrived already, or tells why it ends here.
    fn go_on_starting(&mut self, index: usize, next: base::Result<State>) {
        let connection = &mut self.connections[index];
        // Whether a role exists, may log in, and by which password: the catalog says so (rule R3).
        let newest_commit = self.shared.instance.database().transactions().newest_commit();
        connection.port.borrow_mut().outgoing.require(newest_commit);
        match next {
            Ok(state) => {
                connection.state = state;
                if !connection.port.borrow().incoming.pending().is_empty() {
                    self.work(index);
                }
            }
            Err(error) => {
                self.log_refusal(index, &error);
                let connection = &mut self.connections[index];
                connection.port.borrow_mut().outgoing.error_or_notice(b'E', "FATAL", &error);
                connection.state = State::Closing;
                self.give_place_back(index);
            }
        }
    }

    /// Answers with one byte whether the connection will be encrypted.
    fn answer_encryption(&mut self, index: usize, kind: EncryptionKind) -> base::Result<()> {
        let credentials = self.shared.credentials.get();
        let connection = &mut self.connections[index];
        let mut port = connection.port.borrow_mut();
        let credentials = credentials.filter(|_| kind == EncryptionKind::Tls && !port.stream().is_unix());
        connection.asked = startup::Asked::after(kind, credentials.is_some());
        port.outgoing.raw(if credentials.is_some() { b"S" } else { b"N" });
        // Bytes that came with the request were sent before the client knew our answer.
        port.refuse_ahead_of_answer(kind)?;
        if let Some(credentials) = credentials {
            // The answer itself goes out in clear; a socket that has just been opened has room for a byte.
            let durable = self.wal.durable();
            port.send(durable);
            port.encrypt(credentials)?;
        }
        Ok(())
    }

    /// Lets a client in, refuses it, or asks for its password: whichever the rules say.
    fn admit_or_ask(&mut self, index: usize, request: startup::StartRequest) -> base::Result<State> {
        let port = Rc::clone(&self.connections[index].port);
        let mut port = port.borrow_mut();
        if let Some(options) = &request.unknown {
            startup::negotiate(options, &mut port.outgoing);
        }
        request.check_user()?;
        self.check_room()?;
        let instance = &self.shared.instance;
        let attempt = Attempt {
            address: port.stream().peer().map(|peer| peer.ip()),
            is_encrypted: port.stream().encryption().is_some(),
            user: &request.user,
            database: &request.database,
        };
        let demand = instance.demand(&attempt)?;
        let is_named = check_certificate(port.stream(), demand, &request.user)?;
        let kept = || instance.kept_password(&request.user);
        let mut out = BytesMut::new();
        let exchange = match demand.method {
            AccessMethod::Trust | AccessMethod::Reject | AccessMethod::Cert => {
                drop(port);
                return self.connect(index, request);
            }
            AccessMethod::Password => {
                let kept = kept();
                Exchange::ask(request, None, kept, is_named, &mut out)
            }
            AccessMethod::Md5 if asks_for_md5(instance, kept().as_deref()) => {
                let kept = kept();
                Exchange::ask(request, Some(rand::random()), kept, is_named, &mut out)
            }
            AccessMethod::Md5 | AccessMethod::ScramSha256 => {
                let scram = match port.stream().encryption() {
                    Some(encryption) => encryption.credentials().scram.clone(),
                    None => ScramServerAuth::new(),
                };
                let (secret, is_known) = instance.secret_of(&request.user);
                Exchange::begin(request, secret, is_known && is_named, scram, &mut out)
            }
        };
        port.outgoing.raw(&out);
        Ok(State::Authenticating(Box::new(exchange)))
    }

    fn check_room(&self) -> base::Result<()> {
        self.check_open()?;
        if self.shared.budget.has_place() { Ok(()) } else { Err(too_many()) }
    }

    fn check_open(&self) -> base::Result<()> {
        if self.shared.budget.is_closed() {
            return Err(Error::new(sqlstate::CANNOT_CONNECT_NOW, "the database system is shutting down"));
        }
        Ok(())
    }

    /// Takes a place for a session, which its connection holds until it is removed: what a client leaves unread takes room after
    /// its session's end as before.
    fn take_place(&mut self, index: usize) -> base::Result<()> {
        if !self.shared.budget.take_place() {
            return Err(too_many());
        }
        self.connections[index].has_place = true;
        // Checked after the place is taken: a stop that begins later counts this session (`ConnectionBudget::close`).
        self.check_open()
    }

    /// The connection is removed, or has got no session.
    pub(super) fn give_place_back(&mut self, index: usize) {
        if std::mem::replace(&mut self.connections[index].has_place, false) {
            self.shared.budget.give_place_back();
        }
    }

    /// Begins the session of a client that has been let in.
    fn connect(&mut self, index: usize, mut request: startup::StartRequest) -> base::Result<State> {
        self.check_open()?;
        self.take_place(index)?;
        let token = self.token_of(index);
        startup::let_in(&mut self.connections[index].port.borrow_mut().outgoing);
        let settings = request.take_settings()?;
        let encryption =
            self.connections[index].port.borrow_mut().stream().encryption().and_then(|found| found.agreed());
        self.log_admission(index, || vec![authorized(&request, &settings, encryption)]);
        let connection = &mut self.connections[index];
        let mut port = connection.port.borrow_mut();
        let mut sql = self.shared.instance.connect(ConnectRequest {
            user: request.user,
            database: request.database,
            settings,
            peer: port.stream().peer(),
            local: port.stream().local(),
            encryption,
            identity: Some(Arc::clone(&connection.identity)),
            tcp: port.stream().tcp_times(),
        })?;
        if !sql.state().is_superuser() && self.shared.budget.is_for_superusers() {
            let message = "remaining connection slots are reserved for non-replication superuser connections";
            return Err(Error::new(sqlstate::TOO_MANY_CONNECTIONS, message));
        }
        let parameters = sql.reported_parameters();
        startup::welcome(&parameters, sql.pid(), sql.secret(), &mut port.outgoing);
        port.outgoing.ready_for_query(b'I');
        drop(port);
        let conversation = Box::new(Conversation::new(sql));
        let interrupt = Arc::clone(conversation.interrupt());
        interrupt.set_owner(Arc::clone(&self.ready), token);
        if interrupt.pending() {
            // It was raised before there was somebody to hear of it.
            self.ready.push(token);
        }
        connection.interrupt = Some(interrupt);
        connection.ends_with_its_client = conversation.sql.ends_with_its_client();
        connection.keepalive.follow(conversation.sql.tcp_times(), connection.port.borrow_mut().stream());
        let deadline = conversation.sql.idle_deadline();
        self.set_alarm(index, deadline);
        self.end_starting(token);
        Ok(State::Idle(conversation))
    }
}

fn said(message: String) -> Error {
    Error::new(sqlstate::SUCCESSFUL_COMPLETION, message)
}

/// Returns the log message for a client that is let in.
fn authorized(
    request: &startup::StartRequest,
    settings: &[(String, String)],
    encryption: Option<(&'static str, &'static str)>,
) -> String {
    let mut message = format!("connection authorized: user={} database={}", request.user, request.database);
    if let Some((_, name)) = settings.iter().rev().find(|(name, _)| name == "application_name")
        && !name.is_empty()
    {
        message.push_str(&format!(" application_name={name}"));
    }
    if let Some((version, cipher)) = encryption {
        message.push_str(&format!(" SSL enabled (protocol={version}, cipher={cipher})"));
    }
    message
}
