//! What is shown of a plan, as text and as JSON.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::Value as Json;

use super::Options;
use super::nodes::{Property, Shown};
use crate::executor::Effort;

/// How long planning and running took, if that is to be told.
pub(super) struct Summary {
    pub planning: Option<Duration>,
    pub execution: Option<Duration>,
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

/// The text form, line by line.
pub(super) fn text(node: &Shown, options: Options, summary: &Summary) -> Vec<String> {
    let mut lines = Vec::new();
    text_node(node, 0, options, &mut lines);
    if let Some(planning) = summary.planning {
        lines.push(format!("Planning Time: {:.3} ms", milliseconds(planning)));
    }
    if let Some(execution) = summary.execution {
        lines.push(format!("Execution Time: {:.3} ms", milliseconds(execution)));
    }
    lines
}

/// `indent` counts steps of two blanks.
fn text_node(node: &Shown, mut indent: usize, options: Options, lines: &mut Vec<String>) {
    if let Some(name) = &node.name {
        lines.push(format!("{:width$}{name}", "", width = indent * 2));
        indent += 1;
    }
    let mut line = String::new();
    if indent > 0 {
        let _ = write!(line, "{:width$}->  ", "", width = indent * 2);
        indent += 2;
    }
    line.push_str(&node.title);
    if options.costs {
        let _ = write!(
            line,
            "  (cost={:.2}..{:.2} rows={:.0} width={})",
            node.startup.min(node.total),
            node.total,
            node.rows,
            node.width
        );
    }
    if let Some(measured) = node.measured {
        if measured.loops == 0 {
            line.push_str(" (never executed)");
        } else {
            let loops = measured.loops as f64;
            let rows = measured.rows as f64 / loops;
            if options.timing {
                let first = milliseconds(measured.first) / loops;
                let total = milliseconds(measured.total) / loops;
                let _ = write!(line, " (actual time={first:.3}..{total:.3} rows={rows:.0} loops={})", measured.loops);
            } else {
                let _ = write!(line, " (actual rows={rows:.0} loops={})", measured.loops);
            }
        }
    }
    lines.push(line);
    indent += 1;
    for (key, property) in &node.properties {
        let text = match property {
            Property::Text(text) => text.clone(),
            Property::List(items) => items.join(", "),
        };
        lines.push(format!("{:width$}{key}: {text}", "", width = indent * 2));
    }
    if let Some(effort) = node.measured.and_then(|measured| measured.effort) {
        lines.push(format!("{:width$}{}", "", effort_line(effort), width = indent * 2));
    }
    for child in in_order(node) {
        text_node(child, indent, options, lines);
    }
}

/// What runs first comes first, and subplans last.
fn in_order(node: &Shown) -> impl Iterator<Item = &Shown> {
    let rank = |child: &&Shown| match child.relationship {
        "InitPlan" => 0,
        "SubPlan" => 2,
        _ => 1,
    };
    (0..3).flat_map(move |wanted| node.children.iter().filter(move |child| rank(child) == wanted))
}

/// The JSON form, in PostgreSQL's layout.
pub(super) fn json(node: &Shown, options: Options, summary: &Summary) -> String {
    let mut out = String::from("[\n  {\n");
    let mut fields = vec![("Plan".to_owned(), JsonValue::Object(json_node(node, options)))];
    if let Some(planning) = summary.planning {
        fields.push(("Planning Time".to_owned(), JsonValue::Raw(format!("{:.3}", milliseconds(planning)))));
    }
    if options.analyze {
        fields.push(("Triggers".to_owned(), JsonValue::Raw("[\n    ]".to_owned())));
    }
    if let Some(execution) = summary.execution {
        fields.push(("Execution Time".to_owned(), JsonValue::Raw(format!("{:.3}", milliseconds(execution)))));
    }
    write_fields(&fields, 4, &mut out);
    out.push_str("\n  }\n]");
    out
}

enum JsonValue {
    Raw(String),
    Strings(Vec<String>),
    Object(Vec<(String, JsonValue)>),
    Objects(Vec<Vec<(String, JsonValue)>>),
}

fn quoted(text: &str) -> String {
    Json::String(text.to_owned()).to_string()
}

fn write_fields(fields: &[(String, JsonValue)], indent: usize, out: &mut String) {
    for (number, (key, value)) in fields.iter().enumerate() {
        if number > 0 {
            out.push_str(",\n");
        }
        let _ = write!(out, "{:indent$}{}: ", "", quoted(key));
        match value {
            JsonValue::Raw(text) => out.push_str(text),
            JsonValue::Strings(items) => {
                let items: Vec<String> = items.iter().map(|item| quoted(item)).collect();
                let _ = write!(out, "[{}]", items.join(", "));
            }
            JsonValue::Object(inner) => {
                out.push_str("{\n");
                write_fields(inner, indent + 2, out);
                let _ = write!(out, "\n{:indent$}}}", "");
            }
            JsonValue::Objects(items) => {
                out.push_str("[\n");
                for (number, item) in items.iter().enumerate() {
                    if number > 0 {
                        out.push_str(",\n");
                    }
                    let _ = writeln!(out, "{:width$}{{", "", width = indent + 2);
                    write_fields(item, indent + 4, out);
                    let _ = write!(out, "\n{:width$}}}", "", width = indent + 2);
                }
                let _ = write!(out, "\n{:indent$}]", "");
            }
        }
    }
}

fn effort_line(effort: Effort) -> String {
    match effort {
        Effort::Sort { method, kilobytes, on_disk } => {
            let space = if on_disk { "Disk" } else { "Memory" };
            format!("Sort Method: {method}  {space}: {kilobytes}kB")
        }
        Effort::Groups { batches, kilobytes, disk_kilobytes } => {
            let disk = if batches > 1 { format!("  Disk Usage: {disk_kilobytes}kB") } else { String::new() };
            format!("Batches: {batches}  Memory Usage: {kilobytes}kB{disk}")
        }
        Effort::Hash { buckets, batches, kilobytes } => {
            format!("Buckets: {buckets}  Batches: {batches}  Memory Usage: {kilobytes}kB")
        }
    }
}

/// The same as fields.
fn effort_fields(effort: Effort) -> Vec<(&'static str, JsonValue)> {
    let number = |number: u64| JsonValue::Raw(number.to_string());
    match effort {
        Effort::Sort { method, kilobytes, on_disk } => vec![
            ("Sort Method", JsonValue::Raw(quoted(method))),
            ("Sort Space Used", number(kilobytes)),
            ("Sort Space Type", JsonValue::Raw(quoted(if on_disk { "Disk" } else { "Memory" }))),
        ],
        Effort::Groups { batches, kilobytes, disk_kilobytes } => vec![
            ("Planned Partitions", number(0)),
            ("HashAgg Batches", number(batches)),
            ("Peak Memory Usage", number(kilobytes)),
            ("Disk Usage", number(disk_kilobytes)),
        ],
        Effort::Hash { buckets, batches, kilobytes } => vec![
            ("Hash Buckets", number(buckets)),
            ("Original Hash Buckets", number(buckets)),
            ("Hash Batches", number(batches)),
            ("Original Hash Batches", number(batches)),
            ("Peak Memory Usage", number(kilobytes)),
        ],
    }
}

fn json_node(node: &Shown, options: Options) -> Vec<(String, JsonValue)> {
    let mut fields: Vec<(String, JsonValue)> = Vec::new();
    let mut push = |key: &str, value: JsonValue| fields.push((key.to_owned(), value));
    let of_property = |property: &Property| match property {
        Property::Text(text) => JsonValue::Raw(quoted(text)),
        Property::List(items) => JsonValue::Strings(items.clone()),
    };
    let mut kind = node.kind.iter();
    if let Some((key, property)) = kind.next() {
        push(key, of_property(property));
    }
    let (operations, rest): (Vec<_>, Vec<_>) =
        kind.partition(|(key, _)| matches!(*key, "Operation" | "Strategy" | "Partial Mode" | "Command"));
    for (key, property) in operations {
        push(key, of_property(property));
    }
    if !node.relationship.is_empty() {
        push("Parent Relationship", JsonValue::Raw(quoted(node.relationship)));
    }
    if let Some(name) = &node.name {
        push("Subplan Name", JsonValue::Raw(quoted(name)));
    }
    push("Parallel Aware", JsonValue::Raw("false".to_owned()));
    push("Async Capable", JsonValue::Raw("false".to_owned()));
    for (key, property) in rest {
        push(key, of_property(property));
    }
    if options.costs {
        push("Startup Cost", JsonValue::Raw(format!("{:.2}", node.startup.min(node.total))));
        push("Total Cost", JsonValue::Raw(format!("{:.2}", node.total)));
        push("Plan Rows", JsonValue::Raw(format!("{:.0}", node.rows)));
        push("Plan Width", JsonValue::Raw(node.width.to_string()));
    }
    if let Some(measured) = node.measured {
        let loops = measured.loops.max(1) as f64;
        if options.timing {
            push("Actual Startup Time", JsonValue::Raw(format!("{:.3}", milliseconds(measured.first) / loops)));
            push("Actual Total Time", JsonValue::Raw(format!("{:.3}", milliseconds(measured.total) / loops)));
        }
        push("Actual Rows", JsonValue::Raw(format!("{:.0}", measured.rows as f64 / loops)));
        push("Actual Loops", JsonValue::Raw(measured.loops.to_string()));
    }
    for (key, property) in &node.properties {
        push(key, of_property(property));
    }
    for (key, value) in node.measured.and_then(|measured| measured.effort).map_or_else(Vec::new, effort_fields) {
        push(key, value);
    }
    if !node.children.is_empty() {
        let children = in_order(node).map(|child| json_node(child, options)).collect();
        push("Plans", JsonValue::Objects(children));
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(title: &str, children: Vec<Shown>) -> Shown {
        Shown {
            title: title.to_owned(),
            kind: vec![("Node Type", Property::Text(title.to_owned()))],
            total: 1.5,
            rows: 3.0,
            width: 8,
            children,
            ..Shown::default()
        }
    }

    fn options() -> Options {
        Options { analyze: false, verbose: false, costs: true, timing: true, summary: false, json: false }
    }

    const NO_SUMMARY: Summary = Summary { planning: None, execution: None };

    #[test]
    fn nodes_are_indented_as_postgresql_does() {
        let mut scan = node("Seq Scan on t", Vec::new());
        scan.properties.push(("Filter", Property::Text("(a > 0)".to_owned())));
        let mut init = node("Result", Vec::new());
        init.name = Some("InitPlan 1 (returns $0)".to_owned());
        init.relationship = "InitPlan";
        let top = node("Sort", vec![node("Hash Join", vec![scan]), init]);
        assert_eq!(
            text(&top, options(), &NO_SUMMARY),
            [
                "Sort  (cost=0.00..1.50 rows=3 width=8)",
                "  InitPlan 1 (returns $0)",
                "    ->  Result  (cost=0.00..1.50 rows=3 width=8)",
                "  ->  Hash Join  (cost=0.00..1.50 rows=3 width=8)",
                "        ->  Seq Scan on t  (cost=0.00..1.50 rows=3 width=8)",
                "              Filter: (a > 0)",
            ]
        );
    }

    #[test]
    fn the_json_form_is_json() {
        let mut child = node("Seq Scan", Vec::new());
        child.relationship = "Outer";
        let shown = json(&node("Sort", vec![child]), options(), &NO_SUMMARY);
        let parsed: Json = serde_json::from_str(&shown).expect("it is JSON");
        assert_eq!(parsed[0]["Plan"]["Plans"][0]["Parent Relationship"], "Outer");
        assert_eq!(parsed[0]["Plan"]["Plan Rows"], 3);
        assert!(shown.starts_with("[\n  {\n    \"Plan\": {\n      \"Node Type\": \"Sort\",\n"));
    }
}
