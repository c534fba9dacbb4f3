//! `cohort serve`: a data folder for PostgreSQL clients.

use std::path::PathBuf;
use std::sync::mpsc;

use base::settings::{Id, ServerSettings, Source, lookup, show};
use base::{Error, Result, sqlstate};
use clap::Args;
use cohort::dashboard::Dashboard;
use cohort::engine::too_few_descriptors;
use cohort::metrics::MetricsServer;
use cohort::{
    CurrentCredentials, Database, Instance, OpenOptions, Server, ServerOptions, StopMode, address_count, configuration,
    worker_threads,
};
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
    /// Host names or addresses to listen on, separated by commas; `*` for all, empty for none. Clients on other machines
    /// are asked for their role's password, unless hba_rules in cohort.conf says otherwise.
    #[arg(long, value_name = "H")]
    host: Option<String>,
    /// TCP port, and the number in the Unix socket's name.
    #[arg(long, value_name = "N")]
    port: Option<u16>,
    /// Folder of the Unix socket; the data folder if not given.
    #[arg(long, value_name = "DIR")]
    socket_dir: Option<PathBuf>,
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
    Ok((name.trim().replace('-', "_"), value.trim().to_owned()))
}

/// Said when the server is started as root, who may do anything to any file.
const ROOT_WARNING: &str = "cohort: warning: the server runs as root; start it as a user of its own, such as postgres, to whom the \
                            data folder belongs (COPY from and to files is refused unless allow_server_files_as_root is on)";

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
    configuration::apply(&settings, &arguments.directory)?;
    for (name, value) in &arguments.settings {
        settings.set_at_start(name, value, Source::CommandLine)?;
    }
    if let Some(address) = &arguments.dashboard {
        settings.set_at_start("dashboard_listen", address, Source::CommandLine)?;
    }
    // Refused before anything is written.
    let share = share_of_descriptors(arguments, &settings)?;
    let database = Database::open(OpenOptions {
        settings: Arc::clone(&settings),
        files: share.files,
        ..OpenOptions::new(&arguments.directory)
    })?;
    configuration::create(&arguments.directory)?;
    let instance = Instance::new(database.clone());
    let credentials = CurrentCredentials::default();
    credentials.load(&settings, &arguments.directory)?;
    let reload = {
        let (settings, database, directory) = (Arc::clone(&settings), database.clone(), arguments.directory.clone());
        let (credentials, reloading) = (credentials.clone(), Mutex::new(()));
        Arc::new(move || {
            // From the file to the last setting: a reload that read an older file can't undo what a later one has taken up.
            let _one_at_a_time = reloading.lock();
            reload(&settings, &database, &credentials, &directory)
        })
    };
    instance.set_reload(Arc::clone(&reload) as Arc<dyn Fn() -> bool + Send + Sync>);
    let directory = arguments.directory.clone();
    instance.set_setting_keeper(Box::new(move |setting| configuration::keep(&directory, setting)));
    let metrics =
        listen_where(&settings, Id::MetricsListen, |address| MetricsServer::start(address, Arc::clone(&instance)))?;
    let dashboard =
        listen_where(&settings, Id::DashboardListen, |address| Dashboard::start(address, Arc::clone(&instance)))?;
    let options = server_options(arguments, &settings, credentials, share)?;
    let server = Arc::new(Server::start(Arc::clone(&instance), &options)?);
    eprintln!(
        "cohort: serving \"{}\" on port {}, ready to accept connections",
        arguments.directory.display(),
        server.port()
    );
    if let Some(metrics) = &metrics {
        eprintln!("cohort: metrics are at http://{}/metrics", metrics.address());
    }
    if let Some(dashboard) = &dashboard {
        eprintln!("cohort: the dashboard is at http://{}/", dashboard.address());
    }
    obey(signals, Arc::clone(&server), reload)?.recv().map_err(|_| Error::internal("nobody watches for signals"))?;
    server.finish();
    drop((metrics, dashboard));
    database.close()?;
    eprintln!("cohort: stopped");
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
                    eprintln!("cohort: stopping at once; the next start recovers");
                    std::process::exit(2);
                }
                SIGTERM if !is_stopping => {
                    eprintln!("cohort: stopping after running statements");
                    server.begin_stop(StopMode::AfterStatements);
                }
                _ => {
                    eprintln!("cohort: stopping; running statements are interrupted");
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
        // The Unix socket is one more.
        listeners: address_count(&host(arguments, settings))? + 1,
        workers: worker_threads(integer(settings, Id::WorkerThreads) as usize),
        monitors: monitors.into_iter().filter(|id| !settings.get(*id).as_text().is_empty()).count(),
    };
    ServerShare::of_process(&server).map_err(too_few_descriptors)
}

fn host(arguments: &ServeArguments, settings: &ServerSettings) -> String {
    arguments.host.clone().unwrap_or_else(|| settings.get(Id::ListenAddresses).as_text().to_string())
}

fn server_options(
    arguments: &ServeArguments,
    settings: &ServerSettings,
    credentials: CurrentCredentials,
    share: ServerShare,
) -> Result<ServerOptions> {
    let integer = |id: Id| integer(settings, id);
    let text = |id: Id| settings.get(id).as_text().to_string();
    let socket_directory = match (&arguments.socket_dir, text(Id::UnixSocketDirectories)) {
        (Some(directory), _) => directory.clone(),
        (None, directory) if directory.is_empty() => arguments.directory.clone(),
        (None, directory) => PathBuf::from(directory),
    };
    let port = match arguments.port {
        Some(port) => port,
        None => u16::try_from(integer(Id::Port))
            .map_err(|_| Error::new(sqlstate::INVALID_PARAMETER_VALUE, "port is out of range"))?,
    };
    Ok(ServerOptions {
        host: host(arguments, settings),
        port,
        socket_directory: Some(socket_directory),
        socket_permissions: integer(Id::UnixSocketPermissions) as u32,
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
                eprintln!("cohort: parameter \"{name}\" stays at {value} until the server is started again");
            }
            database.reload();
            if let Err(error) = credentials.load(settings, directory) {
                eprintln!("cohort: connections are encrypted as before: {error}");
            }
            eprintln!("cohort: cohort.conf was read again");
            true
        }
        Err(error) => {
            eprintln!("cohort: cohort.conf was not taken up: {error}");
            false
        }
    }
}
