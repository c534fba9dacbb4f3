//! The output of EXPLAIN, as text and in PostgreSQL's three structured formats.

use std::fmt::Write as _;
use std::time::Duration;

use base::PageUse;
use base::settings::words::PlanFormat;
use plan::Effort;
use serde_json::Value as Json;

use super::{ExplainOptions, Property, Shown};

/// How long planning and running took, if that is to be told.
pub struct Summary {
    /// Of planning.
    pub planning: Option<Duration>,
    /// Of the run.
    pub execution: Option<Duration>,
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

/// The text form, line by line.
pub fn text(node: &Shown, options: ExplainOptions, summary: &Summary) -> Vec<String> {
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
fn text_node(node: &Shown, mut indent: usize, options: ExplainOptions, lines: &mut Vec<String>) {
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
            Property::Text(text) | Property::Number(text) => text.clone(),
            Property::List(items) => items.join(", "),
        };
        lines.push(format!("{:width$}{key}: {text}", "", width = indent * 2));
    }
    if let Some(effort) = node.measured.and_then(|measured| measured.effort) {
        lines.extend(effort_line(effort).map(|line| format!("{:width$}{line}", "", width = indent * 2)));
    }
    if let Some(used) = node.measured.map(|measured| measured.pages).filter(|_| options.buffers) {
        lines.extend(pages_line(&used).map(|line| format!("{:width$}{line}", "", width = indent * 2)));
    }
    for child in in_order(node) {
        text_node(child, indent, options, lines);
    }
}

/// Temporary files are counted in pages of this size.
const TEMPORARY_BLOCK_BYTES: u64 = 8192;

/// Pages used, in the words of the text form; nothing if there were none.
fn pages_line(used: &PageUse) -> Option<String> {
    let counts = |what: &str, counts: &[(&str, u64)]| {
        let shown = counts.iter().filter(|(_, count)| *count > 0).map(|(name, count)| format!(" {name}={count}"));
        let shown = shown.collect::<String>();
        (!shown.is_empty()).then(|| format!("{what}{shown}"))
    };
    let [read, written] = temporary_blocks(used);
    let shared = [("hit", used.hits), ("read", used.reads), ("dirtied", used.dirtied), ("written", used.written)];
    let parts = [counts("shared", &shared), counts("temp", &[("read", read), ("written", written)])];
    let parts = parts.into_iter().flatten().collect::<Vec<_>>();
    (!parts.is_empty()).then(|| format!("Buffers: {}", parts.join(", ")))
}

fn temporary_blocks(used: &PageUse) -> [u64; 2] {
    [used.temporary_bytes_read, used.temporary_bytes_written].map(|bytes| bytes.div_ceil(TEMPORARY_BLOCK_BYTES))
}

/// The same as fields.
fn page_fields(used: &PageUse) -> Vec<(String, Field)> {
    let [read, written] = temporary_blocks(used);
    let fields = [
        ("Shared Hit Blocks", used.hits),
        ("Shared Read Blocks", used.reads),
        ("Shared Dirtied Blocks", used.dirtied),
        ("Shared Written Blocks", used.written),
        ("Local Hit Blocks", 0),
        ("Local Read Blocks", 0),
        ("Local Dirtied Blocks", 0),
        ("Local Written Blocks", 0),
        ("Temp Read Blocks", read),
        ("Temp Written Blocks", written),
    ];
    fields.into_iter().map(|(key, count)| (key.to_owned(), Field::Plain(count.to_string()))).collect()
}

/// Returns the children in the order in which they are shown: init plans, then inputs, then subplans.
fn in_order(node: &Shown) -> impl Iterator<Item = &Shown> {
    let rank = |child: &&Shown| match child.relationship {
        "InitPlan" => 0,
        "SubPlan" => 2,
        _ => 1,
    };
    (0..3).flat_map(move |wanted| node.children.iter().filter(move |child| rank(child) == wanted))
}

/// A structured form, in PostgreSQL's layout.
pub fn document(node: &Shown, options: ExplainOptions, summary: &Summary, format: PlanFormat) -> String {
    let mut fields = vec![("Plan".to_owned(), Field::Object(node_fields(node, options)))];
    if options.buffers {
        // The catalog lies in memory: planning uses no pages.
        fields.push(("Planning".to_owned(), Field::Object(page_fields(&PageUse::default()))));
    }
    if let Some(planning) = summary.planning {
        fields.push(("Planning Time".to_owned(), Field::Plain(format!("{:.3}", milliseconds(planning)))));
    }
    if options.analyze {
        fields.push(("Triggers".to_owned(), Field::Objects(Vec::new())));
    }
    if let Some(execution) = summary.execution {
        fields.push(("Execution Time".to_owned(), Field::Plain(format!("{:.3}", milliseconds(execution)))));
    }
    let mut out = String::new();
    match format {
        PlanFormat::Text | PlanFormat::Json => {
            out.push_str("[\n  {\n");
            write_json(&fields, 4, &mut out);
            out.push_str("\n  }\n]");
        }
        PlanFormat::Yaml => {
            out.push_str("- ");
            write_yaml(&fields, 2, &mut out);
        }
        PlanFormat::Xml => {
            out.push_str("<explain xmlns=\"http://www.postgresql.org/2009/explain\">\n  <Query>\n");
            write_xml(&fields, 4, &mut out);
            out.push_str("  </Query>\n</explain>");
        }
    }
    out
}

/// The value of a field of a structured form.
enum Field {
    /// A number or a truth value.
    Plain(String),
    Text(String),
    Strings(Vec<String>),
    Object(Vec<(String, Field)>),
    /// Plans.
    Objects(Vec<Vec<(String, Field)>>),
}

fn quoted(text: &str) -> String {
    Json::String(text.to_owned()).to_string()
}

fn write_json(fields: &[(String, Field)], indent: usize, out: &mut String) {
    for (number, (key, value)) in fields.iter().enumerate() {
        if number > 0 {
            out.push_str(",\n");
        }
        let _ = write!(out, "{:indent$}{}: ", "", quoted(key));
        match value {
            Field::Plain(text) => out.push_str(text),
            Field::Text(text) => out.push_str(&quoted(text)),
            Field::Strings(items) => {
                let items: Vec<String> = items.iter().map(|item| quoted(item)).collect();
                let _ = write!(out, "[{}]", items.join(", "));
            }
            Field::Object(inner) => {
                out.push_str("{\n");
                write_json(inner, indent + 2, out);
                let _ = write!(out, "\n{:indent$}}}", "");
            }
            Field::Objects(items) => {
                out.push_str("[\n");
                for (number, item) in items.iter().enumerate() {
                    if number > 0 {
                        out.push_str(",\n");
                    }
                    let _ = writeln!(out, "{:width$}{{", "", width = indent + 2);
                    write_json(item, indent + 4, out);
                    let _ = write!(out, "\n{:width$}}}", "", width = indent + 2);
                }
                if !items.is_empty() {
                    out.push('\n');
                }
                let _ = write!(out, "{:indent$}]", "");
            }
        }
    }
}

/// The first field goes on the line that is begun.
fn write_yaml(fields: &[(String, Field)], indent: usize, out: &mut String) {
    for (number, (key, value)) in fields.iter().enumerate() {
        if number > 0 {
            let _ = write!(out, "\n{:indent$}", "");
        }
        let _ = write!(out, "{key}: ");
        match value {
            Field::Plain(text) => out.push_str(text),
            Field::Text(text) => out.push_str(&quoted(text)),
            Field::Strings(items) => {
                for item in items {
                    let _ = write!(out, "\n{:width$}- {}", "", quoted(item), width = indent + 2);
                }
            }
            Field::Object(inner) => {
                let _ = write!(out, "\n{:width$}", "", width = indent + 2);
                write_yaml(inner, indent + 2, out);
            }
            Field::Objects(items) => {
                for item in items {
                    let _ = write!(out, "\n{:width$}- ", "", width = indent + 2);
                    write_yaml(item, indent + 4, out);
                }
            }
        }
    }
}

fn write_xml(fields: &[(String, Field)], indent: usize, out: &mut String) {
    let escaped = |text: &str| {
        let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        text.replace('\r', "&#x0d;")
    };
    for (key, value) in fields {
        let tag = key.replace(|found: char| !found.is_ascii_alphanumeric() && found != '-' && found != '_', "-");
        match value {
            Field::Plain(text) => {
                let _ = writeln!(out, "{:indent$}<{tag}>{text}</{tag}>", "");
            }
            Field::Text(text) => {
                let _ = writeln!(out, "{:indent$}<{tag}>{}</{tag}>", "", escaped(text));
            }
            Field::Strings(items) => {
                let _ = writeln!(out, "{:indent$}<{tag}>", "");
                for item in items {
                    let _ = writeln!(out, "{:width$}<Item>{}</Item>", "", escaped(item), width = indent + 2);
                }
                let _ = writeln!(out, "{:indent$}</{tag}>", "");
            }
            Field::Object(inner) => {
                let _ = writeln!(out, "{:indent$}<{tag}>", "");
                write_xml(inner, indent + 2, out);
                let _ = writeln!(out, "{:indent$}</{tag}>", "");
            }
            Field::Objects(items) => {
                let _ = writeln!(out, "{:indent$}<{tag}>", "");
                for item in items {
                    let _ = writeln!(out, "{:width$}<Plan>", "", width = indent + 2);
                    write_xml(item, indent + 4, out);
                    let _ = writeln!(out, "{:width$}</Plan>", "", width = indent + 2);
                }
                let _ = writeln!(out, "{:indent$}</{tag}>", "");
            }
        }
    }
}

/// The line for what a node tells of itself; none for a MERGE without rows.
fn effort_line(effort: Effort) -> Option<String> {
    Some(match effort {
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
        Effort::Merge { inserted, updated, deleted, skipped } => {
            let counts = [("inserted", inserted), ("updated", updated), ("deleted", deleted), ("skipped", skipped)];
            let counts = counts.iter().filter(|(_, count)| *count > 0).map(|(what, count)| format!(" {what}={count}"));
            let counts = counts.collect::<String>();
            return (!counts.is_empty()).then(|| format!("Tuples:{counts}"));
        }
    })
}

/// The same as fields.
fn effort_fields(effort: Effort) -> Vec<(&'static str, Field)> {
    let number = |number: u64| Field::Plain(number.to_string());
    match effort {
        Effort::Sort { method, kilobytes, on_disk } => vec![
            ("Sort Method", Field::Text(method.to_string())),
            ("Sort Space Used", number(kilobytes)),
            ("Sort Space Type", Field::Text(if on_disk { "Disk" } else { "Memory" }.to_owned())),
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
        Effort::Merge { inserted, updated, deleted, skipped } => vec![
            ("Tuples Inserted", number(inserted)),
            ("Tuples Updated", number(updated)),
            ("Tuples Deleted", number(deleted)),
            ("Tuples Skipped", number(skipped)),
        ],
    }
}

fn node_fields(node: &Shown, options: ExplainOptions) -> Vec<(String, Field)> {
    let mut fields: Vec<(String, Field)> = Vec::new();
    let mut push = |key: &str, value: Field| fields.push((key.to_owned(), value));
    let of_property = |property: &Property| match property {
        Property::Text(text) => Field::Text(text.to_string()),
        Property::List(items) => Field::Strings(items.clone()),
        Property::Number(number) => Field::Plain(number.clone()),
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
        push("Parent Relationship", Field::Text(node.relationship.to_string()));
    }
    if let Some(name) = &node.name {
        push("Subplan Name", Field::Text(name.to_string()));
    }
    push("Parallel Aware", Field::Plain("false".to_owned()));
    push("Async Capable", Field::Plain("false".to_owned()));
    for (key, property) in rest {
        push(key, of_property(property));
    }
    if options.costs {
        push("Startup Cost", Field::Plain(format!("{:.2}", node.startup.min(node.total))));
        push("Total Cost", Field::Plain(format!("{:.2}", node.total)));
        push("Plan Rows", Field::Plain(format!("{:.0}", node.rows)));
        push("Plan Width", Field::Plain(node.width.to_string()));
    }
    if let Some(measured) = node.measured {
        let loops = measured.loops.max(1) as f64;
        if options.timing {
            push("Actual Startup Time", Field::Plain(format!("{:.3}", milliseconds(measured.first) / loops)));
            push("Actual Total Time", Field::Plain(format!("{:.3}", milliseconds(measured.total) / loops)));
        }
        push("Actual Rows", Field::Plain(format!("{:.0}", measured.rows as f64 / loops)));
        push("Actual Loops", Field::Plain(measured.loops.to_string()));
    }
    for (key, property) in &node.properties {
        push(key, of_property(property));
    }
    for (key, value) in node.measured.and_then(|measured| measured.effort).map_or_else(Vec::new, effort_fields) {
        push(key, value);
    }
    if let Some(used) = node.measured.map(|measured| measured.pages).filter(|_| options.buffers) {
        fields.extend(page_fields(&used));
    }
    let mut push = |key: &str, value: Field| fields.push((key.to_owned(), value));
    if !node.children.is_empty() {
        let children = in_order(node).map(|child| node_fields(child, options)).collect();
        push("Plans", Field::Objects(children));
    }
    fields
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

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

    fn options() -> ExplainOptions {
        ExplainOptions { format: PlanFormat::Json, ..ExplainOptions::UNASKED }
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
        expect![[r#"
            Sort  (cost=0.00..1.50 rows=3 width=8)
              InitPlan 1 (returns $0)
                ->  Result  (cost=0.00..1.50 rows=3 width=8)
              ->  Hash Join  (cost=0.00..1.50 rows=3 width=8)
                    ->  Seq Scan on t  (cost=0.00..1.50 rows=3 width=8)
                          Filter: (a > 0)"#]]
        .assert_eq(&text(&top, options(), &NO_SUMMARY).join("\n"));
    }

    #[test]
    fn the_xml_form_escapes_what_it_holds() {
        let mut scan = node("Seq Scan", Vec::new());
        scan.properties.push(("Filter", Property::Text("(b < 'x&y')".to_owned())));
        scan.properties.push(("Sort Key", Property::List(vec!["a".to_owned(), "b DESC".to_owned()])));
        let options = ExplainOptions { costs: false, ..options() };
        let shown = document(&node("Sort", vec![scan]), options, &NO_SUMMARY, PlanFormat::Xml);
        expect![[r#"
            <explain xmlns="http://www.postgresql.org/2009/explain">
              <Query>
                <Plan>
                  <Node-Type>Sort</Node-Type>
                  <Parallel-Aware>false</Parallel-Aware>
                  <Async-Capable>false</Async-Capable>
                  <Plans>
                    <Plan>
                      <Node-Type>Seq Scan</Node-Type>
                      <Parallel-Aware>false</Parallel-Aware>
                      <Async-Capable>false</Async-Capable>
                      <Filter>(b &lt; 'x&amp;y')</Filter>
                      <Sort-Key>
                        <Item>a</Item>
                        <Item>b DESC</Item>
                      </Sort-Key>
                    </Plan>
                  </Plans>
                </Plan>
              </Query>
            </explain>"#]]
        .assert_eq(&shown);
    }

    #[test]
    fn the_json_form_is_json() {
        let mut child = node("Seq Scan", Vec::new());
        child.relationship = "Outer";
        let shown = document(&node("Sort", vec![child]), options(), &NO_SUMMARY, PlanFormat::Json);
        let parsed: Json = serde_json::from_str(&shown).expect("it is JSON");
        assert_eq!(parsed[0]["Plan"]["Plans"][0]["Parent Relationship"], "Outer");
        assert_eq!(parsed[0]["Plan"]["Plan Rows"], 3);
        assert!(shown.starts_with("[\n  {\n    \"Plan\": {\n      \"Node Type\": \"Sort\",\n"));
    }
}
