//! The lab: experiments on the commit path, run on the real engine with the real switches.
//!
//! An [`experiment::Experiment`] names its configurations ("before", "after") and its client counts; a
//! [`driver`] runs one workload under one configuration for a while and counts. Configurations alternate
//! within a run, figures are medians of rounds with their spread, and latencies come from HDR histograms.

pub mod command;
pub mod disk;
pub mod driver;
mod embedded;
pub mod experiment;
pub mod load;
pub mod plot;
pub mod report;
mod wire;
