//! `auto_explain`: plans of statements that took long, for the log.

use std::time::{Duration, Instant};

use base::Result;
use base::report::Level;
use base::settings::{Id, SessionSettings, Value as Setting};
use engine::PageMeter;
use plan::DEPTH_IN_COROUTINES_MAX;
use syntax::parser::no_stack;
use types::Value;

use super::nodes::Explainer;
use super::render::{Summary, document, text};
use super::{Format, Options};
use crate::session::{Planned, SessionState, query_plan};
use executor::Measurements;

/// The settings `auto_explain.*`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AutoExplain {
    least: Duration,
    sample_rate: f64,
    options: Options,
    pub(crate) level: Level,
}

/// A statement whose plan may be logged.
pub(crate) struct Watched {
    settings: AutoExplain,
    begun: Instant,
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
        let options = Options {
            analyze,
            verbose: is_on(Id::AutoExplainLogVerbose),
            costs: true,
            timing: analyze && is_on(Id::AutoExplainLogTiming),
            summary: false,
            buffers: analyze && is_on(Id::AutoExplainLogBuffers),
            format: match settings.get(Id::AutoExplainLogFormat).as_word() {
                Some(1) => Format::Xml,
                Some(2) => Format::Json,
                Some(3) => Format::Yaml,
                _ => Format::Text,
            },
        };
        let level = match settings.get(Id::AutoExplainLogLevel).as_word() {
            // The words leave out `error`, which stands before `log` among the levels.
            Some(place @ 0..8) => Level::of_word(place),
            _ => Level::Log,
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

impl Watched {
    /// The message about a statement that has ended, and its level; nothing if it was quick.
    ///
    /// # Errors
    /// 54001 if there is no stack for a deep plan.
    pub(crate) fn message(
        &self,
        state: &SessionState,
        planned: &Planned,
        values: &[Value],
        query: &str,
    ) -> Result<Option<(Level, String)>> {
        let took = self.begun.elapsed();
        if took < self.settings.least {
            return Ok(None);
        }
        let options = self.settings.options;
        let (view, plan) = (state.catalog(), query_plan(planned)?);
        let measured = self.measurements.as_ref();
        let mut explainer = Explainer::new(state, &view, &planned.statement, options, values, measured);
        let mut shown = || {
            let node = explainer.explain(plan);
            let summary = Summary { planning: None, execution: None };
            match options.format {
                Format::Text => format!("Query Text: {query}\n{}", text(&node, options, &summary).join("\n")),
                format => with_query(&document(&node, options, &summary, format), format, query),
            }
        };
        let is_deep = plan.depth > DEPTH_IN_COROUTINES_MAX;
        let shown = if is_deep { sync::on_further_stack(shown).map_err(|_| no_stack())? } else { shown() };
        let micros = took.as_micros();
        let message = format!("duration: {}.{:03} ms  plan:\n{shown}", micros / 1000, micros % 1000);
        Ok(Some((self.settings.level, message)))
    }
}

/// The document of EXPLAIN, a list of one plan, as that plan alone with the query's text before it.
fn with_query(document: &str, format: Format, query: &str) -> String {
    let quoted = serde_json::Value::from(query).to_string();
    let lines: Vec<&str> = document.lines().collect();
    let dedented = |lines: &[&str]| {
        lines.iter().map(|line| line.strip_prefix("  ").unwrap_or(line)).collect::<Vec<_>>().join("\n")
    };
    match format {
        // Around the plan stand the brackets of the list, and its braces.
        Format::Json => {
            let inner = lines.get(2..lines.len().saturating_sub(2)).unwrap_or_default();
            format!("{{\n  \"Query Text\": {quoted},\n{}\n}}", dedented(inner))
        }
        Format::Yaml => {
            let all = document.replacen("- ", "  ", 1);
            format!("Query Text: {quoted}\n{}", dedented(&all.lines().collect::<Vec<_>>()))
        }
        Format::Xml => {
            let inner = lines.get(2..lines.len().saturating_sub(2)).unwrap_or_default();
            let text = query.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
            let head = lines.first().copied().unwrap_or_default();
            format!("{head}\n  <Query-Text>{text}</Query-Text>\n{}\n</explain>", dedented(inner))
        }
        Format::Text => document.to_owned(),
    }
}
