//! Settings in the form in which execution uses them.

use std::sync::Arc;
use std::time::Duration;

use base::settings::words::{ReplicationRole, SynchronousCommit};
use base::settings::{Id, SessionSettings, Value as Setting};
use base::{Error, Result, sqlstate};
use engine::{DelayPolicy, DelaySetting};
use plan::PlannerCosts;
use types::FormatSettings;
use types::context::{DateOrder, DateStyle};
use types::datetime::TimeZone;

/// Settings in the form in which executions use them, good until their generation changes.
pub struct ExecutionSettings {
    pub(super) generation: (u64, u64),
    /// The settings that text input and output depend on.
    pub format: Arc<FormatSettings>,
    pub(super) search_path_text: Arc<str>,
    /// The path that plans are kept by: with the user's name, where it depends on that.
    pub(super) plan_path: Arc<str>,
    /// Settings that change plans, if one of them isn't at its default.
    pub(super) planner_choices: Option<String>,
    pub(super) synchronous_commit: bool,
    /// How long a leader waits for others before it flushes the log.
    pub commit_delay: DelayPolicy,
    pub(super) lock_timeout: Option<Duration>,
    pub(super) deadlock_timeout: Duration,
}

impl ExecutionSettings {
    /// Reads them.
    ///
    /// # Errors
    /// 22023 for a text that is no value; setting one lets no such text through.
    pub fn new(settings: &SessionSettings) -> Result<ExecutionSettings> {
        let delay = match settings.get(Id::CommitDelay) {
            Setting::Integer(0) => DelaySetting::Off,
            Setting::Integer(micros) => DelaySetting::Micros(micros as u32),
            _ => DelaySetting::Auto,
        };
        let siblings = settings.get(Id::CommitSiblings).as_integer().unwrap_or(5) as u32;
        Ok(ExecutionSettings {
            generation: settings.generation(),
            format: Arc::new(format_settings(settings)?),
            search_path_text: Arc::clone(settings.get(Id::SearchPath).as_text()),
            plan_path: Arc::clone(settings.get(Id::SearchPath).as_text()),
            planner_choices: planner_choices(settings),
            synchronous_commit: settings.get(Id::SynchronousCommit).word::<SynchronousCommit>()
                != SynchronousCommit::Off,
            commit_delay: DelayPolicy { delay, siblings },
            lock_timeout: timeout(settings, Id::LockTimeout),
            deadlock_timeout: timeout(settings, Id::DeadlockTimeout).unwrap_or(Duration::from_secs(1)),
        })
    }
}

/// A time limit; none if it is off.
pub fn timeout(settings: &SessionSettings, id: Id) -> Option<Duration> {
    let millis = settings.get(id).as_integer().unwrap_or(0);
    (millis > 0).then(|| Duration::from_millis(millis as u64))
}

/// The settings that the binder and the planner look at, or `None` if all are at their defaults.
fn planner_choices(settings: &SessionSettings) -> Option<String> {
    let methods = [
        Id::EnableSeqscan,
        Id::EnableIndexscan,
        Id::EnableHashjoin,
        Id::EnableMergejoin,
        Id::EnableNestloop,
        Id::EnableSort,
    ];
    let methods = methods.map(|id| settings.get(id).as_bool());
    let costs = PlannerCosts::of(settings);
    let nulls_equal = settings.get(Id::TransformNullEquals).as_bool();
    let in_replica = is_in_replica(settings);
    (methods.contains(&false) || costs != PlannerCosts::default() || nulls_equal || in_replica)
        .then(|| format!("{methods:?} {costs:?} {nulls_equal} {in_replica}"))
}

/// Whether `session_replication_role` is `replica`.
pub(super) fn is_in_replica(settings: &SessionSettings) -> bool {
    settings.get(Id::SessionReplicationRole).word::<ReplicationRole>() == ReplicationRole::Replica
}

fn format_settings(settings: &SessionSettings) -> Result<FormatSettings> {
    let (date_style, date_order) = date_style(settings.get(Id::Datestyle).as_text())?;
    let zone_name = settings.get(Id::Timezone);
    let time_zone =
        TimeZone::named(zone_name.as_text()).ok_or_else(|| invalid_value("TimeZone", zone_name.as_text()))?;
    Ok(FormatSettings {
        date_style,
        date_order,
        interval_style: settings.get(Id::Intervalstyle).word(),
        time_zone,
        extra_float_digits: settings.get(Id::ExtraFloatDigits).as_integer().unwrap_or(1) as i32,
        bytea_output: settings.get(Id::ByteaOutput).word(),
        array_nulls: settings.get(Id::ArrayNulls).as_bool(),
    })
}

/// The error about a setting's value that is none.
pub fn invalid_value(name: &str, text: &str) -> Error {
    Error::new(sqlstate::INVALID_PARAMETER_VALUE, format!("invalid value for parameter \"{name}\": \"{text}\""))
}

/// Reads `DateStyle`: an output style, an order, or both.
fn date_style(text: &str) -> Result<(DateStyle, DateOrder)> {
    let (style, order) = parts_of_date_style(text)?;
    Ok((style.unwrap_or_default(), order.unwrap_or_default()))
}

/// The style and the order that the key words name or bring with them.
///
/// # Errors
/// 22023 for other words, and for two styles or orders.
pub fn parts_of_date_style(text: &str) -> Result<(Option<DateStyle>, Option<DateOrder>)> {
    let (mut style, mut order) = (None, None);
    // They hold if no other word names a style or an order.
    let (mut implied_style, mut implied_order) = (None, None);
    let wrong = |detail: String| invalid_value("DateStyle", text).detail(detail);
    for word in text.split(',').map(|word| word.trim().to_ascii_lowercase()).filter(|word| !word.is_empty()) {
        let (own_style, own_order) = match word.as_str() {
            "iso" => (Some(DateStyle::Iso), None),
            "sql" => (Some(DateStyle::Sql), None),
            "german" => {
                implied_order = Some(DateOrder::Dmy);
                (Some(DateStyle::German), None)
            }
            "ymd" => (None, Some(DateOrder::Ymd)),
            "dmy" => (None, Some(DateOrder::Dmy)),
            "mdy" | "us" => (None, Some(DateOrder::Mdy)),
            "default" => {
                (implied_style, implied_order) = (Some(DateStyle::default()), Some(DateOrder::default()));
                (None, None)
            }
            // Of these, PostgreSQL looks at the beginning only.
            word if word.starts_with("postgres") => (Some(DateStyle::Postgres), None),
            word if word.starts_with("euro") => (None, Some(DateOrder::Dmy)),
            word if word.starts_with("noneuro") => (None, Some(DateOrder::Mdy)),
            _ => return Err(wrong(format!("Unrecognized key word: \"{word}\"."))),
        };
        let differs = own_style.is_some() && style.is_some() && own_style != style
            || own_order.is_some() && order.is_some() && own_order != order;
        if differs {
            return Err(wrong("Conflicting \"datestyle\" specifications.".to_owned()));
        }
        (style, order) = (own_style.or(style), own_order.or(order));
    }
    Ok((style.or(implied_style), order.or(implied_order)))
}
