//! Experiments. [`EXPERIMENTS`] lists them, [`Experiment::run`] runs one.

mod list;
mod outcome;
mod run;
mod verdict;

use engine::TwophaseState;

use crate::disk::Disk;
use crate::driver::{Switches, Workload};

pub use list::EXPERIMENTS;
pub use outcome::{
    ClogLatch, Comparison, Effect, Figure, LatencyUs, Outcome, PublishedFigure, RoundFigure, rounds_effect,
};
pub use run::{Against, Options};

/// One experiment.
pub struct Experiment {
    /// Its name on the command line.
    pub name: &'static str,
    /// The subject of the experiment, in a sentence.
    pub about: &'static str,
    /// The published result, in a sentence.
    pub published: &'static str,
    /// The published result in numbers.
    pub published_figures: &'static [Published],
    /// The configurations to compare, "before" first.
    pub configurations: &'static [Configuration],
    /// Which configurations are set beside each other; the first stands for the experiment.
    pub pairs: &'static [Pair],
    /// The workloads to run.
    pub workloads: &'static [Workload],
    /// Client counts at full length.
    pub clients: &'static [usize],
    /// Client counts in a quick run.
    pub quick_clients: &'static [usize],
    /// Disks at full length.
    pub disks: &'static [Disk],
    /// Disks in a quick run.
    pub quick_disks: &'static [Disk],
    /// The disk nearest to the published one.
    pub headline_disk: Disk,
    /// How many of the workloads, and of the configurations, a quick run takes; the first ones.
    pub quick_workloads: usize,
    /// See [`Experiment::quick_workloads`].
    pub quick_configurations: usize,
    /// The question that the verdict answers.
    pub question: Question,
}

/// The question of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// How much faster the last configuration is than the first.
    Gain,
    /// How much of the first configuration's throughput the second ("before") and the third ("after") keep.
    Cost(CostWords),
    /// How much less the commit log's latch is taken and waited for under the second and third configuration than under the
    /// first, and what that gains.
    Latch,
}

/// How the answer to [`Question::Cost`] is put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CostWords {
    /// The thing whose cost is measured.
    pub what: &'static str,
    /// The thing it is compared with.
    pub of: &'static str,
    /// How it was done before.
    pub before: &'static str,
    /// How it is done since.
    pub after: &'static str,
}

/// One side of a comparison.
pub struct Configuration {
    /// The name in reports.
    pub name: &'static str,
    /// Its switches.
    pub switches: Switches,
}

/// Two configurations that are set beside each other.
pub struct Pair {
    /// The one without the improvement.
    pub before: &'static str,
    /// The one with it.
    pub after: &'static str,
}

/// Figures that were published.
pub struct Published {
    /// Of what.
    pub what: &'static str,
    /// Under which conditions they were obtained, where the source says so.
    pub conditions: &'static str,
    /// In which unit.
    pub unit: &'static str,
    /// The figure without the improvement, if there is a number for it.
    pub before: Option<f64>,
    /// The figure with it.
    pub after: Option<f64>,
    /// The second over the first where they are known, else what the source calls the gain.
    pub ratio: Option<f64>,
    /// The other end, where the source gives a range of ratios.
    pub ratio_up_to: Option<f64>,
    /// The comparisons here that it stands beside.
    pub beside: Option<Beside>,
}

/// Which comparisons a published figure stands beside.
#[derive(Clone, Copy)]
pub struct Beside {
    /// The place of the pair of configurations.
    pub pair: usize,
    /// The workload.
    pub workload: Workload,
    /// The client counts.
    pub clients: (usize, usize),
}

/// Rows of `sli_test`, and in a quick run.
const SLI_ROWS: i32 = 10_000_000;
const QUICK_SLI_ROWS: i32 = 100_000;
impl Experiment {
    /// Client counts to run with.
    fn clients(&self, options: &Options) -> Vec<usize> {
        let own = if options.quick { self.quick_clients } else { self.clients };
        options.clients.clone().unwrap_or_else(|| own.to_vec())
    }

    fn disks(&self, options: &Options) -> Vec<Disk> {
        match (options.disk, &options.against) {
            (Some(disk), _) => vec![disk],
            // Another server's disk is what it is.
            (None, Some(_)) => vec![Disk::Real],
            (None, None) => if options.quick { self.quick_disks } else { self.disks }.to_vec(),
        }
    }

    fn workloads(&self, options: &Options) -> &'static [Workload] {
        if options.quick { &self.workloads[..self.quick_workloads] } else { self.workloads }
    }

    fn configurations(&self, options: &Options) -> Vec<&'static Configuration> {
        let count = if options.quick { self.quick_configurations } else { self.configurations.len() };
        // `auto` is no delay there, which is there already.
        let has_no_delay = self
            .configurations
            .iter()
            .any(|of| of.switches == Switches { commit_delay_us: Some(0), ..Switches::DEFAULT });
        // How a server that is no Cohort gathers commits, scans, sets status bits, or keeps what is prepared can't be switched.
        let is_ours_alone = |switches: &Switches| {
            self.question == Question::Latch
                || !switches.group_commit
                || switches.delay_each
                || switches.commit_delay_us.is_none() && has_no_delay
                || switches.scan_locks_per_tuple
                || switches.clog_update != Switches::DEFAULT.clog_update
                || switches.two_phase.is_some_and(|state| state != TwophaseState::Memory)
        };
        let has_switches = options.against.as_ref().is_none_or(|server| server.kind.has_switches);
        let is_possible = |of: &&Configuration| has_switches || !is_ours_alone(&of.switches);
        self.configurations[..count].iter().filter(is_possible).collect()
    }

    /// Rows of `sli_test`; none where it is not used.
    fn sli_rows(&self, options: &Options) -> i32 {
        match (self.workloads.contains(&Workload::ReadUpdate), options.quick) {
            (false, _) => 0,
            (true, false) => SLI_ROWS,
            (true, true) => QUICK_SLI_ROWS,
        }
    }

    /// How many rounds a run takes.
    pub fn round_count(&self, options: &Options) -> usize {
        self.clients(options).len()
            * self.disks(options).len()
            * self.workloads(options).len()
            * self.configurations(options).len()
            * options.rounds
    }
}
