//! `cohort serve`: a data folder for PostgreSQL clients.

use std::path::PathBuf;
use std::sync::mpsc;

use base::settings::{Id, ServerSettings, Source, lookup, show};
use base::{Error, Result, sqlstate};
use clap::Args;
use cohort::dashboard::Dashboard;
use cohort::engine::too_few_descriptors;
use cohort::metrics::MetricsServer;
use cohort::server_log::ServerLog;
use cohort::{
    CurrentCredentials, Database, Instance, OpenOptions, Server, ServerOptions, SocketOptions, StopMode, address_count,
    configuration, worker_threads,
};
use rustix::fs::Access;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;
use sync::{Arc, Mutex};
use vfs::descriptors::{ServerShare, ServerSize};

use crate::memory;

/// Arguments of `cohort serve`.
#[derive(Args)]
pub struct ServeArguments {
    /// The data folder; created if it is new.
    directory: PathBuf,
    /// Host names or addresses to listen on, separated by commas; `*` for all, empty for none. The default is 127.0.0.1, or
    /// listen_addresses in cohort.conf. Clients on other machines are asked for their role's password, unless hba_rules says otherwise.
    #[arg(long, value_name = "H")]
    host: Option<String>,
    /// TCP port, and the number in the Unix sockets' names. The default is 5432, or port in cohort.conf.
    #[arg(long, value_name = "N")]
    port: Option<u16>,
    /// Folders of the Unix sockets, separated by commas; empty for none. The default is the data folder and, where psql looks for a
    /// server, /var/run/postgresql or else /tmp; or unix_socket_directories in cohort.conf.
    #[arg(long, value_name = "DIR")]
    socket_dir: Option<String>,
    /// Host and port on which a page that shows the server at work is served, as in 127.0.0.1:8432; the same as
    /// `-c dashboard_listen=ADDR`. It has no password: listen on a loopback address.
    #[arg(long, value_name = "ADDR")]
    dashboard: Option<String>,
    /// A setting, over what cohort.conf says. May be given several times.
    #[arg(short = 'c', value_name = "NAME=VALUE", value_parser = parse_setting)]
    settings: Vec<(String, String)>,
}

fn parse_setting(text: &str) -> std::result::Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("a setting is given as name=value")?;
    // A value such as that of log_line_prefix may end in a space.
    Ok((name.trim().replace('-', "_"), value.to_owned()))
}

/// Said when the server is started as root, who may do anything to any file.
const ROOT_WARNING: &str = "cohort: warning: the server runs as root; start it as a user of its own, such as postgres, to whom the \
                            data folder belongs (COPY from and to files, and log files elsewhere, are refused unless allow_server_files_as_root is on)";

/// Serves until a signal says to stop.
///
/// # Errors
/// When the folder can't be opened or an address can't be listened on.
pub fn run(arguments: &ServeArguments) -> Result<()> {
    // Watched before anything else, so that no signal ends the process halfway.
    let signals = Signals::new([SIGTERM, SIGINT, SIGQUIT, SIGHUP])
        .map_err(|error| Error::io("could not watch for signals", &error))?;
    // Before files are opened: how many of them are kept open depends on it.
    vfs::descriptors::raise_limit();
    if rustix::process::geteuid().is_root() {
        eprintln!("{ROOT_WARNING}");
    }
    let settings = Arc::new(ServerSettings::new());
    settings.set_at_start("shared_buffers", &memory::suggested_shared_buffers(), Source::Default)?;
    settings.set_at_start("unix_socket_directories", &default_socket_directories(), Source::Default)?;
    configuration::apply(&settings, &arguments.directory)?;
    if let Some(port) = arguments.port.filter(|port| *port > 0) {
        settings.set_at_start("port", &port.to_string(), Source::CommandLine)?;
    }
    if let Some(host) = &arguments.host {
        settings.set_at_start("listen_addresses", host, Source::CommandLine)?;
    }
    if let Some(directories) = &arguments.socket_dir {
        settings.set_at_start("unix_socket_directories", &from_here(directories), Source::CommandLine)?;
    }
    for (name, value) in &arguments.settings {
        settings.set_at_start(name, value, Source::CommandLine)?;
    }
    if let Some(address) = &arguments.dashboard {
        settings.set_at_start("dashboard_listen", address, Source::CommandLine)?;
    }
    let log = ServerLog::start(&settings)?;
    log_panics();
    let result = serve(arguments, &settings, signals, &log);
    log.flush();
    result
}

/// Panics go to the log as other messages do.
fn log_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let thread = std::thread::current();
        log::error!("thread \"{}\" {panic}", thread.name().unwrap_or("<unnamed>"));
        // No session waits for the log. Code that ends the process flushes it.
        if thread.name() == Some("main") {
            log::logger().flush();
        }
    }));
}

fn serve(
    arguments: &ServeArguments,
    settings: &Arc<ServerSettings>,
    signals: Signals,
    log: &Arc<ServerLog>,
) -> Result<()> {
    // Refused before anything is written.
    let share = share_of_descriptors(arguments, settings)?;
    let database = Database::open(OpenOptions {
        settings: Arc::clone(settings),
        files: share.files,
        ..OpenOptions::new(&arguments.directory)
    })?;
    configuration::create(&arguments.directory)?;
    log.collect(&arguments.directory)?;
    let instance = Instance::new(database.clone());
    log.serve(&instance);
    let credentials = CurrentCredentials::default();
    credentials.load(settings, &arguments.directory)?;
    let reload = {
        let (settings, database, directory) = (Arc::clone(settings), database.clone(), arguments.directory.clone());
        let log = Arc::clone(log);
        let (credentials, reloading) = (credentials.clone(), Mutex::new(()));
        Arc::new(move || {
            // From the file to the last setting: a reload that read an older file can't undo what a later one has taken up.
            let _one_at_a_time = reloading.lock();
            let is_well = reload(&settings, &database, &credentials, &directory);
            log.reload(&directory);
            is_well
        })
    };
    instance.set_reload(Arc::clone(&reload) as Arc<dyn Fn() -> bool + Send + Sync>);
    let directory = arguments.directory.clone();
    instance.set_setting_keeper(Box::new(move |setting| configuration::keep(&directory, setting)));
    let metrics =
        listen_where(settings, Id::MetricsListen, |address| MetricsServer::start(address, Arc::clone(&instance)))?;
    let dashboard =
        listen_where(settings, Id::DashboardListen, |address| Dashboard::start(address, Arc::clone(&instance)))?;
    let options = server_options(arguments, settings, credentials, share)?;
    let server = Arc::new(Server::start(Arc::clone(&instance), &options)?);
    if let Some(metrics) = &metrics {
        log::info!("metrics are at http://{}/metrics", metrics.address());
    }
    if let Some(dashboard) = &dashboard {
        log::info!("the dashboard is at http://{}/", dashboard.address());
    }
    // This message must be the last. Programs wait for it, and then read the addresses above.
    log::info!("serving \"{}\" on port {}, ready to accept connections", arguments.directory.display(), server.port());
    obey(signals, Arc::clone(&server), reload)?.recv().map_err(|_| Error::internal("nobody watches for signals"))?;
    server.finish();
    drop((metrics, dashboard));
    database.close()?;
    log::info!("stopped");
    Ok(())
}

/// Does what signals say, on a thread of its own for as long as the process lives. The receiver hears when the server has begun to
/// stop.
fn obey(
    mut signals: Signals,
    server: Arc<Server>,
    reload: Arc<dyn Fn() -> bool + Send + Sync>,
) -> Result<mpsc::Receiver<()>> {
    let (stops, has_begun) = mpsc::channel();
    let mut is_stopping = false;
    let watch = move || {
        for signal in signals.forever() {
            match signal {
                SIGHUP => {
                    reload();
                    continue;
                }
                SIGQUIT => {
                    log::info!("stopping at once; the next start recovers");
                    log::logger().flush();
                    server.remove_sockets();
                    std::process::exit(2);
                }
                SIGTERM if !is_stopping => {
                    log::info!("stopping after running statements");
                    server.begin_stop(StopMode::AfterStatements);
                }
                _ => {
                    log::info!("stopping; running statements are interrupted");
                    server.begin_stop(StopMode::AtOnce);
                }
            }
            is_stopping = true;
            // After the first time nobody may listen any more.
            let _ = stops.send(());
        }
    };
    let thread = std::thread::Builder::new().name("signals".to_owned()).spawn(watch);
    thread.map_err(|error| Error::io("could not start the thread that watches for signals", &error))?;
    Ok(has_begun)
}

/// Starts what listens where this setting says, if anywhere.
fn listen_where<S>(settings: &ServerSettings, setting: Id, start: impl FnOnce(&str) -> Result<S>) -> Result<Option<S>> {
    let value = settings.get(setting);
    let address = value.as_text();
    if address.is_empty() { Ok(None) } else { start(address).map(Some) }
}

fn integer(settings: &ServerSettings, id: Id) -> i64 {
    settings.get(id).as_integer().unwrap_or_default()
}

/// How the descriptors that the system allows are shared out.
///
/// # Errors
/// 53000 if they are too few; an error if a host's name can't be translated.
fn share_of_descriptors(arguments: &ServeArguments, settings: &ServerSettings) -> Result<ServerShare> {
    let monitors = [Id::MetricsListen, Id::DashboardListen];
    let server = ServerSize {
        listeners: address_count(&host(settings))? + socket_directories(arguments, settings).len(),
        workers: worker_threads(integer(settings, Id::WorkerThreads) as usize),
        monitors: monitors.into_iter().filter(|id| !settings.get(*id).as_text().is_empty()).count(),
    };
    ServerShare::of_process(&server).map_err(too_few_descriptors)
}

fn host(settings: &ServerSettings) -> String {
    settings.get(Id::ListenAddresses).as_text().to_string()
}

/// Where psql of Debian looks for a server.
const SYSTEM_SOCKET_DIRECTORY: &str = "/var/run/postgresql";

/// The folders of the Unix sockets, if nothing else is said: the data folder, and the one where psql looks for a server.
fn default_socket_directories() -> String {
    let is_usable = rustix::fs::access(SYSTEM_SOCKET_DIRECTORY, Access::WRITE_OK | Access::EXEC_OK).is_ok();
    format!("., {}", if is_usable { SYSTEM_SOCKET_DIRECTORY } else { "/tmp" })
}

/// The folders of a list, in which those with a comma or a space are quoted.
fn listed(directories: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut is_quoted = false;
    for letter in directories.chars() {
        match letter {
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => found.push(String::new()),
            letter => found.last_mut().expect("it begins with one").push(letter),
        }
    }
    found.iter().map(|directory| directory.trim().to_owned()).filter(|directory| !directory.is_empty()).collect()
}

/// The same list with folders that are relative to where the command is run made absolute.
fn from_here(directories: &str) -> String {
    let absolute =
        |directory: String| std::path::absolute(&directory).map_or(directory, |path| path.display().to_string());
    let quoted = |directory: String| match directory.contains([',', ' ']) {
        true => format!("\"{directory}\""),
        false => directory,
    };
    listed(directories).into_iter().map(absolute).map(quoted).collect::<Vec<_>>().join(", ")
}

/// The folders of the Unix sockets; relative ones lie in the data folder.
fn socket_directories(arguments: &ServeArguments, settings: &ServerSettings) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for directory in listed(settings.get(Id::UnixSocketDirectories).as_text()) {
        let path = if directory == "." { arguments.directory.clone() } else { arguments.directory.join(directory) };
        if !found.contains(&path) {
            found.push(path);
        }
    }
    found
}

fn server_options(
    arguments: &ServeArguments,
    settings: &ServerSettings,
    credentials: CurrentCredentials,
    share: ServerShare,
) -> Result<ServerOptions> {
    let integer = |id: Id| integer(settings, id);
    let port = match arguments.port {
        Some(port) => port,
        None => u16::try_from(integer(Id::Port))
            .map_err(|_| Error::new(sqlstate::INVALID_PARAMETER_VALUE, "port is out of range"))?,
    };
    Ok(ServerOptions {
        host: host(settings),
        port,
        sockets: SocketOptions {
            directories: socket_directories(arguments, settings),
            permissions: integer(Id::UnixSocketPermissions) as u32,
            group: settings.get(Id::UnixSocketGroup).as_text().to_string(),
            data_directory: std::path::absolute(&arguments.directory).unwrap_or_else(|_| arguments.directory.clone()),
        },
        worker_count: integer(Id::WorkerThreads) as usize,
        connections: Some(share.connections),
        max_connections: integer(Id::MaxConnections) as usize,
        superuser_reserved_connections: integer(Id::SuperuserReservedConnections) as usize,
        credentials,
    })
}

/// Reads cohort.conf again; whether that went well.
fn reload(
    settings: &ServerSettings,
    database: &Database,
    credentials: &CurrentCredentials,
    directory: &std::path::Path,
) -> bool {
    let result = configuration::read(directory).and_then(|entries| settings.reload(&entries));
    match result {
        Ok(needing_restart) => {
            for name in needing_restart {
                let value = lookup(name).map(|id| show(id, &settings.get(id))).unwrap_or_default();
                log::info!("parameter \"{name}\" stays at {value} until the server is started again");
            }
            database.reload();
            if let Err(error) = credentials.load(settings, directory) {
                log::error!("connections are encrypted as before: {error}");
            }
            log::info!("cohort.conf was read again");
            true
        }
        Err(error) => {
            log::error!("cohort.conf was not taken up: {error}");
            false
        }
    }
}
