//! Where functions have called each other: the context of notices and errors.

use std::sync::Arc;

/// Where a function has called something, or the server has run a statement of its own.
pub struct CallPlace {
    /// The function, its line, and what it does there.
    pub place: Option<(Arc<str>, u32, &'static str)>,
    /// The kind of the statement that runs there, and its text.
    pub statement: Option<(&'static str, Arc<str>)>,
}

impl CallPlace {
    /// A statement that the server itself has written.
    pub fn of_server(statement: &Arc<str>) -> CallPlace {
        CallPlace { place: None, statement: Some(("SQL statement", Arc::clone(statement))) }
    }
}

/// The lines of a notice's context that are the callers' of the function it comes from.
pub fn outer_context(calls: &[CallPlace]) -> String {
    let mut context = String::new();
    for call in calls.iter().rev() {
        if let Some((what, text)) = &call.statement {
            context.push_str(&format!("\n{what} \"{text}\""));
        }
        if let Some((function, line, activity)) = &call.place {
            context.push('\n');
            context.push_str(&place_line(function, *line, activity));
        }
    }
    context
}

/// `PL/pgSQL function f() line 3 at RAISE`
pub fn place_line(function: &str, line: u32, activity: &str) -> String {
    let at = if activity.starts_with("during") { "" } else { "at " };
    format!("PL/pgSQL function {function} line {line} {at}{activity}")
}
