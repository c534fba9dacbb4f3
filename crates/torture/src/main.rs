//! The program: one run, and what it found.

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    match cohort_torture::run(cohort_torture::Options::parse()) {
        Ok(summary) => {
            println!("{summary}");
            ExitCode::SUCCESS
        }
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}
