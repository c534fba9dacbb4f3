//! A server in this process, on a disk of the test's choice.
#![allow(dead_code)]

use std::path::PathBuf;
use std::sync::Arc;

use base::settings::{ServerSettings, Source};
use cohort_server::{CurrentCredentials, Server, ServerOptions, SocketOptions};
use engine::{Database, OpenOptions};
use postgres::{Client, NoTls};
use sql::Instance;
use vfs::Vfs;

/// Stopped when dropped.
pub struct TestServer {
    pub database: Database,
    pub instance: Arc<Instance>,
    server: Option<Server>,
    folder: tempfile::TempDir,
    port: u16,
}

impl TestServer {
    /// A server with `worker_count` workers on a new database.
    pub fn start(vfs: Arc<dyn Vfs>, settings: &[(&str, &str)], worker_count: usize) -> TestServer {
        let folder = tempfile::tempdir().unwrap();
        let server_settings = ServerSettings::new();
        for (name, value) in settings {
            server_settings.set_at_start(name, value, Source::CommandLine).unwrap();
        }
        let database = Database::open(OpenOptions {
            vfs,
            settings: Arc::new(server_settings),
            ..OpenOptions::new(folder.path().join("data"))
        })
        .unwrap();
        let options = ServerOptions {
            host: "127.0.0.1".to_owned(),
            port: 0,
            sockets: SocketOptions::in_directory(folder.path(), 0o700),
            worker_count,
            connections: None,
            max_connections: 100,
            superuser_reserved_connections: 3,
            credentials: CurrentCredentials::default(),
        };
        let instance = Instance::new(database.clone());
        let server = Server::start(Arc::clone(&instance), &options).unwrap();
        let port = server.port();
        TestServer { database, instance, server: Some(server), folder, port }
    }

    pub fn connect(&self) -> Client {
        self.connect_as("postgres")
    }

    pub fn connect_as(&self, user: &str) -> Client {
        let url = format!("host={} port={} user={user} dbname=postgres", self.folder.path().display(), self.port);
        Client::connect(&url, NoTls).unwrap()
    }

    /// How often a session has gone to another worker.
    pub fn moved_sessions(&self) -> u64 {
        self.server.as_ref().map_or(0, Server::moved_sessions)
    }

    /// Where drivers connect to.
    pub fn url(&self) -> String {
        format!("host={} port={} user=postgres dbname=postgres", self.folder.path().display(), self.port)
    }

    /// Where its Unix socket is.
    pub fn socket(&self) -> PathBuf {
        self.folder.path().join(format!(".s.PGSQL.{}", self.port))
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            server.stop(cohort_server::StopMode::AtOnce);
        }
    }
}

/// One figure of `cohort_stat_commit`.
pub fn commit_figure(client: &mut Client, name: &str) -> f64 {
    client.query_one("select value from cohort_stat_commit where name = $1", &[&name]).unwrap().get(0)
}
