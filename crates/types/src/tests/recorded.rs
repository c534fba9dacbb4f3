//! The answers of a PostgreSQL 15 server to some twelve hundred expressions, recorded once.

use base::Error;

use super::expression::{evaluate, parse, shown};
use crate::PlainContext;
use crate::context::{ByteaOutput, DateOrder, DateStyle, IntervalStyle};
use crate::datetime::TimeZone;

/// An error as the files have it.
fn error_text(error: &Error) -> String {
    let fields = error.fields();
    let mut text = format!("{} {}", fields.sqlstate, fields.message);
    if let Some(detail) = &fields.detail {
        text.push_str(&format!(" | {detail}"));
    }
    if let Some(hint) = &fields.hint {
        text.push_str(&format!(" ? {hint}"));
    }
    text
}

fn set(context: &mut PlainContext, setting: &str) {
    let (name, value) = setting.split_once('=').expect("name=value");
    let value = value.trim_matches('\'');
    let settings = &mut context.settings;
    match name {
        "intervalstyle" => {
            settings.interval_style = match value {
                "postgres" => IntervalStyle::Postgres,
                "postgres_verbose" => IntervalStyle::PostgresVerbose,
                "sql_standard" => IntervalStyle::SqlStandard,
                _ => IntervalStyle::Iso8601,
            }
        }
        "extra_float_digits" => settings.extra_float_digits = value.parse().expect("a number"),
        "bytea_output" => {
            settings.bytea_output = if value == "escape" { ByteaOutput::Escape } else { ByteaOutput::Hex };
        }
        "datestyle" => {
            for part in value.split(", ") {
                match part {
                    "iso" => settings.date_style = DateStyle::Iso,
                    "sql" => settings.date_style = DateStyle::Sql,
                    "postgres" => settings.date_style = DateStyle::Postgres,
                    "german" => settings.date_style = DateStyle::German,
                    "mdy" => settings.date_order = DateOrder::Mdy,
                    "dmy" => settings.date_order = DateOrder::Dmy,
                    _ => settings.date_order = DateOrder::Ymd,
                }
            }
        }
        other => panic!("no setting {other}"),
    }
}

fn check(file: &str, text: &str) {
    let mut context = PlainContext::default();
    context.settings.time_zone = TimeZone::named("America/New_York").expect("the zone is in the database");
    let mut lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with("# "));
    let mut wrong = Vec::new();
    while let Some(line) = lines.next() {
        if let Some(setting) = line.strip_prefix("set ") {
            set(&mut context, setting);
            continue;
        }
        let expected = lines.next().expect("an answer follows");
        let actual = match evaluate(&mut context, &parse(line)) {
            Ok((ty, value)) => format!("= {}", escape(&shown(&context, &value, ty))),
            Err(error) => format!("! {}", escape(&error_text(&error))),
        };
        if actual != expected {
            wrong.push(format!("{line}\n   is    {actual}\n   not   {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{file}: {} differ\n{}", wrong.len(), wrong.join("\n"));
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n")
}

macro_rules! recorded {
    ($($name:ident $file:literal;)*) => {
        $(
            #[test]
            fn $name() {
                check($file, include_str!(concat!("answers/", $file)));
            }
        )*
    };
}

recorded! {
    numbers_are_computed_read_and_shown_as_by_postgresql "numbers.txt";
    dates_are_read_and_shown_as_by_postgresql "datetime_text.txt";
    dates_are_computed_as_by_postgresql "datetime.txt";
    text_and_arrays_are_treated_as_by_postgresql "text.txt";
    values_are_written_and_read_by_a_template_as_by_postgresql "formatting.txt";
    json_and_resolution_are_as_in_postgresql "json.txt";
}
