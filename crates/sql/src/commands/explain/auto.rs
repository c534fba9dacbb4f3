//! `auto_explain`: plans of statements that took long, for the log.

use base::Result;
use base::report::Level;
use types::Value;

use super::with_shown;
use crate::state::auto_explain::Watched;
use crate::state::{Planned, SessionState};
use base::settings::words::PlanFormat;
use planner::explain::{Summary, document, text};

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
        let summary = Summary { planning: None, execution: None };
        let shown =
            with_shown(state, planned, options, values, self.measurements.as_ref(), |node| match options.format {
                PlanFormat::Text => format!("Query Text: {query}\n{}", text(node, options, &summary).join("\n")),
                format => with_query(&document(node, options, &summary, format), format, query),
            })?;
        let micros = took.as_micros();
        let message = format!("duration: {}.{:03} ms  plan:\n{shown}", micros / 1000, micros % 1000);
        Ok(Some((self.settings.level, message)))
    }
}

/// The document of EXPLAIN, a list of one plan, as that plan alone with the query's text before it.
fn with_query(document: &str, format: PlanFormat, query: &str) -> String {
    let quoted = serde_json::Value::from(query).to_string();
    let lines: Vec<&str> = document.lines().collect();
    let dedented = |lines: &[&str]| {
        lines.iter().map(|line| line.strip_prefix("  ").unwrap_or(line)).collect::<Vec<_>>().join("\n")
    };
    match format {
        // Around the plan stand the brackets of the list, and its braces.
        PlanFormat::Json => {
            let inner = lines.get(2..lines.len().saturating_sub(2)).unwrap_or_default();
            format!("{{\n  \"Query Text\": {quoted},\n{}\n}}", dedented(inner))
        }
        PlanFormat::Yaml => {
            let all = document.replacen("- ", "  ", 1);
            format!("Query Text: {quoted}\n{}", dedented(&all.lines().collect::<Vec<_>>()))
        }
        PlanFormat::Xml => {
            let inner = lines.get(2..lines.len().saturating_sub(2)).unwrap_or_default();
            let text = query.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
            let head = lines.first().copied().unwrap_or_default();
            format!("{head}\n  <Query-Text>{text}</Query-Text>\n{}\n</explain>", dedented(inner))
        }
        PlanFormat::Text => document.to_owned(),
    }
}
