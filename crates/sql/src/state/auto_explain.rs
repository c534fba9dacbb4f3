//! The settings of `auto_explain`.

use std::time::{Duration, Instant};

use base::report::Level;
use base::settings::words::PlanLevel;
use base::settings::{Id, SessionSettings, Value as Setting};
use engine::PageMeter;
use executor::Measurements;
use planner::explain::ExplainOptions;

/// The settings `auto_explain.*`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AutoExplain {
    pub(crate) least: Duration,
    sample_rate: f64,
    pub(crate) options: ExplainOptions,
    pub(crate) level: Level,
}

/// A statement whose plan may be logged.
pub(crate) struct Watched {
    pub(crate) settings: AutoExplain,
    pub(crate) begun: Instant,
    /// Counts pages, if that is wanted.
    _meter: Option<PageMeter>,
    /// The measurements of its operators, if they are wanted.
    pub(crate) measurements: Option<Measurements>,
}

impl AutoExplain {
    /// As the settings say; nothing if no plan is to be logged.
    pub(crate) fn new(settings: &SessionSettings) -> Option<AutoExplain> {
        let least_ms = u64::try_from(settings.get(Id::AutoExplainLogMinDuration).as_integer()?).ok()?;
        let is_on = |id: Id| settings.get(id).as_bool();
        let analyze = is_on(Id::AutoExplainLogAnalyze);
        let options = ExplainOptions {
            analyze,
            verbose: is_on(Id::AutoExplainLogVerbose),
            costs: true,
            timing: analyze && is_on(Id::AutoExplainLogTiming),
            summary: false,
            buffers: analyze && is_on(Id::AutoExplainLogBuffers),
            format: settings.get(Id::AutoExplainLogFormat).word(),
        };
        let level = match settings.get(Id::AutoExplainLogLevel).word() {
            PlanLevel::Debug5 => Level::Debug5,
            PlanLevel::Debug4 => Level::Debug4,
            PlanLevel::Debug3 => Level::Debug3,
            PlanLevel::Debug2 => Level::Debug2,
            PlanLevel::Debug1 => Level::Debug1,
            PlanLevel::Info => Level::Info,
            PlanLevel::Notice => Level::Notice,
            PlanLevel::Warning => Level::Warning,
            PlanLevel::Log => Level::Log,
        };
        let sample_rate = match settings.get(Id::AutoExplainSampleRate) {
            Setting::Float(rate) => rate,
            _ => 1.0,
        };
        Some(AutoExplain { least: Duration::from_millis(least_ms), sample_rate, options, level })
    }

    /// A statement begins; nothing if it is not in the sample.
    pub(crate) fn watch(self) -> Option<Watched> {
        if self.sample_rate < 1.0 && rand::random::<f64>() >= self.sample_rate {
            return None;
        }
        let meter = self.options.buffers.then(PageMeter::start);
        let measurements = meter.as_ref().map_or_else(Measurements::default, Measurements::with_pages);
        let measurements = self.options.analyze.then_some(measurements);
        Some(Watched { settings: self, begun: Instant::now(), _meter: meter, measurements })
    }
}
