//! Encrypted connections: the server's certificate, those of clients, and TLS between a socket and what is said over it.

use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use base::settings::words::LeastTls;
use base::settings::{Id, ServerSettings};
use base::{Error, Result, sqlstate};
use pgwire::api::auth::sasl::scram::ScramServerAuth;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection};
use sync::{Arc, Mutex};

/// Certificate, key and rules of a server's encryption.
pub struct Credentials {
    config: Arc<ServerConfig>,
    /// SCRAM that can bind an exchange to this certificate.
    pub scram: ScramServerAuth,
    /// Clients are asked for a certificate, and those that they have are verified.
    pub verifies_clients: bool,
}

/// A server's credentials, which a reload may change; none where connections are not encrypted.
#[derive(Clone, Default)]
pub struct CurrentCredentials(Arc<Mutex<Option<Arc<Credentials>>>>);

impl CurrentCredentials {
    /// Those that new connections use.
    pub fn get(&self) -> Option<Arc<Credentials>> {
        self.0.lock().clone()
    }

    /// Reads what the settings name, for connections to come. `directory` is the data folder.
    ///
    /// # Errors
    /// F0000 if a file can't be read or used; the earlier credentials stay.
    pub fn load(&self, settings: &ServerSettings, directory: &Path) -> Result<()> {
        let loaded = match settings.get(Id::Ssl).as_bool() {
            true => Some(Arc::new(Credentials::load(settings, directory)?)),
            false => None,
        };
        *self.0.lock() = loaded;
        Ok(())
    }
}

impl Credentials {
    fn load(settings: &ServerSettings, directory: &Path) -> Result<Credentials> {
        let path = |id: Id| directory.join(&**settings.get(id).as_text());
        let (certificate_path, key_path) = (path(Id::SslCertFile), path(Id::SslKeyFile));
        let unusable = |what: &str, path: &PathBuf, why: &dyn std::fmt::Display| {
            Error::new(sqlstate::CONFIG_FILE_ERROR, format!("could not load {what} \"{}\": {why}", path.display()))
        };
        let read = |what: &str, path: &PathBuf| std::fs::read(path).map_err(|error| unusable(what, path, &error));
        let certificates_pem = read("server certificate file", &certificate_path)?;
        check_permissions(&key_path)?;
        let key_pem = read("private key file", &key_path)?;
        let certificates: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(&certificates_pem)
            .collect::<std::result::Result<_, _>>()
            .map_err(|error| unusable("server certificate file", &certificate_path, &error))?;
        if certificates.is_empty() {
            return Err(unusable("server certificate file", &certificate_path, &"it has no certificate in PEM"));
        }
        let key =
            PrivateKeyDer::from_pem_slice(&key_pem).map_err(|error| unusable("private key file", &key_path, &error))?;
        let versions: &[&rustls::SupportedProtocolVersion] = match settings.get(Id::SslMinProtocolVersion).word() {
            LeastTls::Tls13 => &[&rustls::version::TLS13],
            LeastTls::Tls12 => &[&rustls::version::TLS13, &rustls::version::TLS12],
        };
        let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_protocol_versions(versions)
            .map_err(|error| Error::internal(format!("TLS could not be set up: {error}")))?
            .with_client_cert_verifier(client_verifier(settings, directory)?)
            .with_single_cert(certificates, key)
            .map_err(|error| unusable("private key file", &key_path, &error))?;
        let mut scram = ScramServerAuth::new();
        // A certificate whose kind of signature has no hash of its own can't be bound to; clients do without, then.
        if scram.configure_certificate(&certificates_pem).is_err() {
            scram = ScramServerAuth::new();
        }
        let verifies_clients = !settings.get(Id::SslCaFile).as_text().is_empty();
        Ok(Credentials { config: Arc::new(config), scram, verifies_clients })
    }
}

/// The verifier of clients' certificates, by `ssl_ca_file` and `ssl_crl_file`. A client needs a certificate only where the rules demand one.
///
/// # Errors
/// F0000 if a file can't be read or used.
fn client_verifier(settings: &ServerSettings, directory: &Path) -> Result<Arc<dyn ClientCertVerifier>> {
    let named = |id: Id| Some(settings.get(id)).filter(|path| !path.as_text().is_empty());
    let Some(authorities) = named(Id::SslCaFile) else { return Ok(WebPkiClientVerifier::no_client_auth()) };
    let path = directory.join(&**authorities.as_text());
    let unusable = |what: &str, path: &Path, why: &dyn std::fmt::Display| {
        Error::new(sqlstate::CONFIG_FILE_ERROR, format!("could not load {what} \"{}\": {why}", path.display()))
    };
    let no_roots = |why: &dyn std::fmt::Display| unusable("root certificate file", &path, why);
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(&path).map_err(|error| no_roots(&error))? {
        roots.add(certificate.map_err(|error| no_roots(&error))?).map_err(|error| no_roots(&error))?;
    }
    if roots.is_empty() {
        return Err(no_roots(&"it has no certificate in PEM"));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).allow_unauthenticated();
    if let Some(revoked) = named(Id::SslCrlFile) {
        let path = directory.join(&**revoked.as_text());
        let no_list = |why: &dyn std::fmt::Display| unusable("SSL certificate revocation list file", &path, why);
        let lists = CertificateRevocationListDer::pem_file_iter(&path)
            .map_err(|error| no_list(&error))?
            .collect::<std::result::Result<Vec<_>, _>>()
            .map_err(|error| no_list(&error))?;
        verifier = verifier.with_crls(lists).enforce_revocation_expiration();
    }
    verifier.build().map_err(|error| no_roots(&error))
}

/// The common name of a certificate's subject, if it has one that is a text.
pub fn common_name(certificate: &CertificateDer<'_>) -> Option<String> {
    let (_, certificate) = x509_parser::parse_x509_certificate(certificate).ok()?;
    let name = certificate.subject().iter_common_name().next()?.as_str().ok()?;
    Some(name.to_owned()).filter(|name| !name.is_empty() && !name.contains('\0'))
}

/// A private key that others can read protects nothing.
fn check_permissions(path: &Path) -> Result<()> {
    let metadata = std::fs::metadata(path)
        .map_err(|error| Error::io(format!("could not access private key file \"{}\"", path.display()), &error))?;
    let allowed = if metadata.uid() == 0 { 0o740 } else { 0o700 };
    if metadata.permissions().mode() & 0o777 & !allowed == 0 {
        return Ok(());
    }
    let message = format!("private key file \"{}\" has group or world access", path.display());
    Err(Error::new(sqlstate::CONFIG_FILE_ERROR, message).detail(
        "File must have permissions u=rw (0600) or less if owned by the database user, or permissions u=rw,g=r (0640) or \
         less if owned by root.",
    ))
}

/// One connection's encryption.
pub struct Encryption {
    connection: ServerConnection,
    credentials: Arc<Credentials>,
    /// The stream's end has been read.
    ended: bool,
}

impl Encryption {
    /// The server's side of a connection that begins with a handshake.
    ///
    /// # Errors
    /// XX000 when it can't be set up.
    pub fn new(credentials: Arc<Credentials>) -> Result<Encryption> {
        let connection = ServerConnection::new(Arc::clone(&credentials.config))
            .map_err(|error| Error::internal(format!("TLS could not be set up: {error}")))?;
        Ok(Encryption { connection, credentials, ended: false })
    }

    /// The encryption of the connection.
    pub fn credentials(&self) -> &Credentials {
        &self.credentials
    }

    /// The certificate that the client has, which was verified.
    pub fn client_certificate(&self) -> Option<&CertificateDer<'static>> {
        self.connection.peer_certificates()?.first()
    }

    /// Whether a read has come to the stream's end. Such a read may have returned bytes without reporting the end.
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// Whether encrypted bytes wait for the socket to take them.
    pub fn has_unsent(&self) -> bool {
        self.connection.wants_write()
    }

    /// The version and cipher suite, once they are agreed on.
    pub fn agreed(&self) -> Option<(&'static str, &'static str)> {
        let version = match self.connection.protocol_version()? {
            rustls::ProtocolVersion::TLSv1_3 => "TLSv1.3",
            _ => "TLSv1.2",
        };
        Some((version, self.connection.negotiated_cipher_suite()?.suite().as_str().unwrap_or_default()))
    }

    /// Hands encrypted bytes to the socket; the rest stays. Gives how many it took.
    ///
    /// # Errors
    /// Those of the socket.
    pub fn send(&mut self, socket: &mut impl Write) -> io::Result<usize> {
        let mut taken = 0;
        while self.connection.wants_write() {
            match self.connection.write_tls(socket) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => taken += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(taken)
    }

    /// Fills `buffer` as far as anything has arrived: less means that the socket is empty. Answers what the protocol wants
    /// answered.
    ///
    /// # Errors
    /// `WouldBlock` when nothing has arrived, `InvalidData` for what is no TLS, and those of the socket.
    pub fn read(&mut self, socket: &mut (impl Read + Write), buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        loop {
            match self.connection.reader().read(&mut buffer[filled..]) {
                // The end that the protocol has a message for.
                Ok(0) => {
                    self.ended = true;
                    return Ok(filled);
                }
                Ok(count) => {
                    filled += count;
                    if filled == buffer.len() {
                        return Ok(filled);
                    }
                    continue;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) if filled > 0 => return Ok(filled),
                Err(error) => return Err(error),
            }
            match self.connection.read_tls(socket) {
                // The socket's end; the next call finds it again.
                Ok(0) => {
                    self.ended = true;
                    return Ok(filled);
                }
                Ok(_) => {
                    let processed = self.connection.process_new_packets();
                    // An alert may say what was wrong.
                    self.send(socket)?;
                    processed.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if filled > 0 => {
                    self.ended |= error.kind() != io::ErrorKind::WouldBlock;
                    return Ok(filled);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Takes some of `bytes`, if the socket has taken all that was encrypted before.
    ///
    /// # Errors
    /// `WouldBlock` if it hasn't, and those of the socket.
    pub fn write(&mut self, socket: &mut impl Write, bytes: &[u8]) -> io::Result<usize> {
        self.send(socket)?;
        if self.has_unsent() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let count = self.connection.writer().write(bytes)?;
        self.send(socket)?;
        Ok(count)
    }
}
