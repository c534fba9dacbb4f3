//! The `cohort` program.

mod control;
mod memory;
mod serve;
mod test_fsync;
mod waldump;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// A transactional database engine whose subject is the commit path.
#[derive(Parser)]
#[command(name = "cohort", version, about, disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve a data folder to PostgreSQL clients; creates it if it is new.
    ///
    /// SIGTERM stops the server after running statements. SIGINT, or a second SIGTERM, interrupts them; SIGQUIT ends the process without
    /// a checkpoint. SIGHUP reads DIR/cohort.conf again.
    Serve(serve::ServeArguments),
    /// Repeat the five experiments of PostgreSQL's commit path on this machine.
    Lab(lab::command::LabArguments),
    /// Print the records of a data folder's write-ahead log.
    Waldump(waldump::WaldumpArguments),
    /// Print a data folder's control file.
    Control {
        /// The data folder.
        directory: PathBuf,
    },
    /// Measure how long this disk takes to make writes durable, by each method.
    TestFsync(test_fsync::TestFsyncArguments),
}

fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::Lab(arguments) => lab::command::run(&arguments),
        Command::Serve(arguments) => serve::run(&arguments).map(|()| ExitCode::SUCCESS),
        Command::Waldump(arguments) => waldump::run(&arguments).map(|()| ExitCode::SUCCESS),
        Command::Control { directory } => control::run(&directory).map(|()| ExitCode::SUCCESS),
        Command::TestFsync(arguments) => test_fsync::run(&arguments).map(|()| ExitCode::SUCCESS),
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            eprintln!("cohort: {}", error.message());
            for (label, text) in [("detail", &error.fields().detail), ("hint", &error.fields().hint)] {
                if let Some(text) = text {
                    eprintln!("  {label}: {text}");
                }
            }
            ExitCode::FAILURE
        }
    }
}
