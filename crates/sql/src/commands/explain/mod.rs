//! EXPLAIN.

mod auto;

use std::sync::Arc;
use std::time::Instant;

use base::{Error, Result, sqlstate};
use engine::PageMeter;
use plan::{DEPTH_IN_COROUTINES_MAX, Measured, Plan, StatementKind};
use syntax::parser::{character_position, no_stack};
use syntax::tree::{Explain, Statement};
use types::{SqlType, Value};

use super::prepared;
use crate::state::planning::Environment;
use crate::state::{Planned, RelationLocks, SessionState, UtilityOutput, query_plan, refuse_changes};
use base::settings::Id;
use base::settings::words::{PlanCacheMode, PlanFormat, Words};
use executor::client::Client;
use executor::{Locals, Measurements, Run, build_to_run, run_pending_checks};
use planner::binder::{Parameters, VariableNames};
use planner::explain::{ExplainContext, ExplainOptions, Shown, Summary, document, explain, text};

/// EXPLAIN.
pub fn run(
    state: &SessionState,
    explain: &Explain,
    bound: &Planned,
    source: &Arc<str>,
    parameters: &[Value],
    variables: Option<&dyn VariableNames>,
    client: &mut dyn Client,
) -> Result<UtilityOutput> {
    let options = read_options(explain, source)?;
    let types = &bound.statement.parameters;
    let planning = Instant::now();
    let plan_for = |statement: &Statement| -> Result<_> {
        Ok((plan_for(state, source, statement, types, parameters, variables)?, parameters.to_vec()))
    };
    let mut plan = || -> Result<_> {
        Ok(match &explain.statement {
            Statement::Execute(execute) => prepared::plan_of_execute(state, source, execute, client)?,
            Statement::CreateTableAs(create) => {
                if options.analyze {
                    return Err(Error::unsupported("EXPLAIN ANALYZE of this kind of statement is not supported"));
                }
                plan_for(&create.source)?
            }
            Statement::DeclareCursor(declare) => plan_for(&Statement::Select(Box::new(declare.query.clone())))?,
            statement => plan_for(statement)?,
        })
    };
    let mut locks = RelationLocks::default();
    let (planned, values) = loop {
        let (planned, values) = plan()?;
        // A utility statement isn't run.
        if matches!(planned.statement.kind, StatementKind::Utility(_)) || locks.take(state, &planned)? {
            break (planned, values);
        }
    };
    let planning = planning.elapsed();
    if matches!(planned.statement.kind, StatementKind::Utility(_)) {
        let line = match options.format {
            PlanFormat::Text => "Utility statements have no plan structure",
            PlanFormat::Json => "[\n  \"Utility Statement\"\n]",
            PlanFormat::Yaml => "- \"Utility Statement\"",
            PlanFormat::Xml => {
                "<explain xmlns=\"http://www.postgresql.org/2009/explain\">\n  <Utility-Statement />\n</explain>"
            }
        };
        return Ok(output(vec![line.to_owned()]));
    }
    let mut summary = Summary { planning: options.summary.then_some(planning), execution: None };
    let measured = if options.analyze {
        let (measured, took) = measure(state, &planned, &values, options.buffers, client)?;
        summary.execution = options.summary.then_some(took);
        Some(measured)
    } else {
        None
    };
    // A plan that was chosen for all values shows none.
    let is_generic = matches!(explain.statement, Statement::Execute(_))
        && (planned.statement.depends_on_values
            || state.setting(Id::PlanCacheMode).word::<PlanCacheMode>() == PlanCacheMode::ForceGeneric);
    let shown: &[Value] = if is_generic { &[] } else { &values };
    let lines = with_shown(state, &planned, options, shown, measured.as_ref(), |node| match options.format {
        PlanFormat::Text => text(node, options, &summary),
        structured => vec![document(node, options, &summary, structured)],
    })?;
    Ok(output(lines))
}

/// Passes what is shown of a plan to `write`, on a further stack if the plan is deep.
///
/// # Errors
/// 54001 if there is no stack for a deep plan.
fn with_shown<R>(
    state: &SessionState,
    planned: &Planned,
    options: ExplainOptions,
    values: &[Value],
    measurements: Option<&Measurements>,
    write: impl FnOnce(&Shown) -> R,
) -> Result<R> {
    let (plan, view, format) = (query_plan(planned)?, state.catalog(), state.format());
    let of_node = |plan: &Plan| measurements.and_then(|measurements| measurements.of(plan)).unwrap_or_default();
    let context = ExplainContext {
        view: &view,
        statement: &planned.statement,
        format: &format,
        options,
        values,
        measured: measurements.map(|_| &of_node as &dyn Fn(&Plan) -> Measured),
    };
    let shown = || write(&explain(plan, context));
    let is_deep = plan.depth > DEPTH_IN_COROUTINES_MAX;
    if is_deep { sync::on_further_stack(shown).map_err(|_| no_stack()) } else { Ok(shown()) }
}

/// The plan of a statement within EXPLAIN, made for the values that EXPLAIN was given.
fn plan_for(
    state: &SessionState,
    text: &str,
    statement: &Statement,
    types: &[SqlType],
    values: &[Value],
    variables: Option<&dyn VariableNames>,
) -> Result<Arc<Planned>> {
    let view = state.catalog();
    let types = types.iter().map(|sql_type| sql_type.oid).collect::<Vec<_>>();
    let environment = Environment::new(state, &view).with_parameter_values(values).with_variables(variables);
    environment.planned(text, statement, Parameters::declared(&types))
}

fn output(lines: Vec<String>) -> UtilityOutput {
    let rows = lines.into_iter().map(|line| vec![Value::text(line)]).collect();
    UtilityOutput::few("EXPLAIN", rows)
}

/// Runs the plan to its end and throws its rows away.
fn measure(
    state: &SessionState,
    planned: &Arc<Planned>,
    parameters: &[Value],
    counts_pages: bool,
    client: &mut dyn Client,
) -> Result<(Measurements, std::time::Duration)> {
    refuse_changes(state, &planned.statement)?;
    let meter = counts_pages.then(PageMeter::start);
    let measurements = meter.as_ref().map_or_else(Measurements::default, Measurements::with_pages);
    let mut locals = Locals::new(&planned.statement);
    locals.measurements = Some(measurements.clone());
    let started = Instant::now();
    let plan = query_plan(planned)?;
    // The statement may run within another one, whose checks wait.
    let first_check = state.next_check.get();
    state.engine().push_snapshot()?;
    // Its operators go before its snapshot does: helpers may be reading for them.
    let result = build_to_run(plan, &mut locals).and_then(|mut root| {
        let mut run = Run::new(state, client, parameters, &mut locals);
        loop {
            match root.next(&mut run) {
                Ok(true) => {}
                Ok(false) => break Ok(()),
                Err(error) => break Err(error),
            }
        }
    });
    let result = result.and_then(|()| run_pending_checks(state, executor::Due::Statement(first_check), client));
    state.engine().pop_snapshot();
    result.map(|()| (measurements, started.elapsed()))
}

fn read_options(explain: &Explain, source: &str) -> Result<ExplainOptions> {
    let mut options = ExplainOptions::UNASKED;
    let (mut timing, mut summary, mut wal) = (None, None, false);
    for element in &explain.options {
        let at = |error: Error| match character_position(source, element.location) {
            Some(position) => error.at(position),
            None => error,
        };
        let is_on = element
            .boolean()
            .ok_or_else(|| Error::new(sqlstate::SYNTAX_ERROR, format!("{} requires a Boolean value", element.name)));
        match element.name.as_str() {
            "analyze" => options.analyze = is_on?,
            "verbose" => options.verbose = is_on?,
            "costs" => options.costs = is_on?,
            "timing" => timing = Some(is_on?),
            "summary" => summary = Some(is_on?),
            "wal" => wal = is_on?,
            "buffers" => options.buffers = is_on?,
            "settings" => drop(is_on?),
            "format" => {
                let format = element.text().unwrap_or_default().to_ascii_lowercase();
                options.format = PlanFormat::named(&format).ok_or_else(|| {
                    let message = format!("unrecognized value for EXPLAIN option \"format\": \"{format}\"");
                    at(Error::new(sqlstate::INVALID_PARAMETER_VALUE, message))
                })?;
            }
            other => {
                let message = format!("unrecognized EXPLAIN option \"{other}\"");
                return Err(at(Error::new(sqlstate::SYNTAX_ERROR, message)));
            }
        }
    }
    let needs_analyze = |what: &str| {
        let message = format!("EXPLAIN option {what} requires ANALYZE");
        Err(Error::new(sqlstate::INVALID_PARAMETER_VALUE, message))
    };
    if wal && !options.analyze {
        return needs_analyze("WAL");
    }
    if timing == Some(true) && !options.analyze {
        return needs_analyze("TIMING");
    }
    options.timing = timing.unwrap_or(options.analyze);
    options.summary = summary.unwrap_or(options.analyze);
    Ok(options)
}
