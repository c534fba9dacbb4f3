//! Plans as text, for tests: one node a line, its expressions behind it, inputs indented.

use std::fmt::Write;

use plan::{
    Expr, ExprKind, FunctionTarget, KeyPart, MergeAction, Node, Plan, Recheck, ScanColumn, SetCall, SetItem, SortKey,
    Statement, StatementKind, SubqueryBody, SubqueryKind,
};
use types::{BuiltinCatalog, FormatSettings, format_type_name, shown_string};

/// The plan of a statement.
pub(super) fn statement(statement: &Statement) -> String {
    let mut out = String::new();
    match &statement.kind {
        StatementKind::Query(plan) => node(plan, 0, &mut out),
        StatementKind::Utility(tree) => {
            let text = format!("{tree:?}");
            let _ = writeln!(out, "Utility {}", text.split(['(', ' ', '{']).next().unwrap_or_default());
        }
    }
    out
}

fn list(exprs: &[Expr]) -> String {
    exprs.iter().map(expr).collect::<Vec<_>>().join(", ")
}

fn keys(keys: &[SortKey]) -> String {
    let shown = keys.iter().map(|key| {
        let direction = if key.descending { " desc" } else { "" };
        let nulls = match (key.descending, key.nulls_first) {
            (false, true) => " nulls first",
            (true, false) => " nulls last",
            _ => "",
        };
        format!("{}{direction}{nulls}", expr(&key.expr))
    });
    shown.collect::<Vec<_>>().join(", ")
}

fn columns(columns: &[ScanColumn], table: &schema::catalog::TableDef) -> String {
    let shown = columns.iter().map(|column| match column {
        ScanColumn::Column(place) => table.columns[*place as usize].name.clone(),
        other => format!("{other:?}").to_lowercase(),
    });
    shown.collect::<Vec<_>>().join(", ")
}

fn filter(filter: &Option<Expr>) -> String {
    filter.as_ref().map_or_else(String::new, |filter| format!(" where {}", expr(filter)))
}

fn call(call: &SetCall) -> String {
    let name = match &call.function {
        FunctionTarget::Builtin(function) => function.name,
        FunctionTarget::Stored(function) => &function.name,
    };
    format!("{name}({})", list(&call.arguments))
}

fn recheck(recheck: &Recheck) -> String {
    match recheck {
        Recheck::Columns { condition: None, .. } => " recheck nothing".to_owned(),
        Recheck::Columns { condition: Some(condition), .. } => format!(" recheck {}", expr(condition)),
        Recheck::Rerun { scans } => format!(" rerun {} scans", scans.len()),
    }
}

fn returning(returning: &Option<Vec<Expr>>) -> String {
    returning.as_ref().map_or_else(String::new, |exprs| format!(" returning {}", list(exprs)))
}

fn node(plan: &Plan, depth: usize, out: &mut String) {
    let mut inputs: Vec<&Plan> = Vec::new();
    let line = match &plan.node {
        Node::Result { exprs, condition } => format!("Result {}{}", list(exprs), filter(condition)),
        Node::Values { rows } => {
            let rows = rows.iter().map(|row| format!("({})", list(row))).collect::<Vec<_>>();
            format!("Values {}", rows.join(", "))
        }
        Node::SeqScan(scan) => {
            format!("SeqScan {} [{}]{}", scan.alias, columns(&scan.columns, &scan.table), filter(&scan.filter))
        }
        Node::IndexPoint(scan) => format!(
            "IndexPoint {} by {} = ({}) [{}]{}",
            scan.alias,
            scan.index.name,
            list(&scan.key),
            columns(&scan.columns, &scan.table),
            filter(&scan.filter)
        ),
        Node::IndexScan(scan) => {
            let mut range = scan.range.equal.iter().map(|key| match key {
                KeyPart::Equal(value) => format!("= {}", expr(value)),
                KeyPart::AnyOf(value) => format!("any {}", expr(value)),
                KeyPart::IsNull => "null".to_owned(),
            });
            let mut range = range.by_ref().collect::<Vec<_>>();
            if let Some((bound, inclusive)) = &scan.range.lower {
                range.push(format!("{} {}", if *inclusive { ">=" } else { ">" }, expr(bound)));
            }
            if let Some((bound, inclusive)) = &scan.range.upper {
                range.push(format!("{} {}", if *inclusive { "<=" } else { "<" }, expr(bound)));
            }
            if scan.range.skip_nulls && scan.range.lower.is_none() && scan.range.upper.is_none() {
                range.push("not null".to_owned());
            }
            format!(
                "IndexScan{} {} by {} ({}) [{}]{}",
                if scan.backward { " backward" } else { "" },
                scan.alias,
                scan.index.name,
                range.join(", "),
                columns(&scan.columns, &scan.table),
                filter(&scan.filter)
            )
        }
        Node::FunctionScan(scan) => format!(
            "FunctionScan {} {}{}{}",
            scan.alias,
            scan.calls.iter().map(call).collect::<Vec<_>>().join(", "),
            if scan.ordinality { " with ordinality" } else { "" },
            filter(&scan.filter)
        ),
        Node::VirtualScan(scan) => {
            let names = scan.columns.iter().map(|column| scan.table.columns[*column as usize].name.as_str());
            let equal = scan
                .equal
                .iter()
                .map(|(column, value)| format!(" {} = {}", scan.table.columns[*column as usize].name, expr(value)));
            let names = names.collect::<Vec<_>>().join(", ");
            format!("VirtualScan {} [{names}]{}{}", scan.alias, equal.collect::<String>(), filter(&scan.filter))
        }
        Node::CteScan { cte, name, filter: condition, .. } => {
            format!("CteScan {} {name}{}", cte.0, filter(condition))
        }
        Node::WorkTableScan { cte } => format!("WorkTableScan {}", cte.0),
        Node::Filter { input, condition } => {
            inputs.push(input);
            format!("Filter {}", expr(condition))
        }
        Node::OneTimeFilter { input, condition } => {
            inputs.push(input);
            format!("OneTimeFilter {}", expr(condition))
        }
        Node::Project { input, exprs } => {
            inputs.push(input);
            format!("Project {}", list(exprs))
        }
        Node::ProjectSet { input, items } => {
            inputs.push(input);
            let items = items.iter().map(|item| match item {
                SetItem::Call(set) => call(set),
                SetItem::Value(value) => expr(value),
            });
            format!("ProjectSet {}", items.collect::<Vec<_>>().join(", "))
        }
        Node::NestedLoop(join) => {
            inputs.extend([&join.left, &join.right]);
            let arguments = join.arguments.iter().map(|(index, value)| format!(" o{index} := {}", expr(value)));
            let arguments = arguments.collect::<String>();
            let kept = if join.keep_right { " kept" } else { "" };
            let condition =
                join.condition.as_ref().map_or_else(String::new, |condition| format!(" on {}", expr(condition)));
            format!("NestedLoop {:?}{kept}{arguments}{condition}", join.kind)
        }
        Node::HashJoin(join) => {
            inputs.extend([&join.left, &join.right]);
            let condition =
                join.condition.as_ref().map_or_else(String::new, |condition| format!(" on {}", expr(condition)));
            format!("HashJoin {:?} ({}) = ({}){condition}", join.kind, list(&join.left_keys), list(&join.right_keys))
        }
        Node::MergeJoin(join) => {
            inputs.extend([&join.left, &join.right]);
            let condition =
                join.condition.as_ref().map_or_else(String::new, |condition| format!(" on {}", expr(condition)));
            format!("MergeJoin {:?} ({}) = ({}){condition}", join.kind, list(&join.left_keys), list(&join.right_keys))
        }
        Node::Sort { input, keys: sort } => {
            inputs.push(input);
            format!("Sort {}", keys(sort))
        }
        Node::Limit { input, limit, offset, ties } => {
            inputs.push(input);
            let part = |name: &str, value: &Option<Expr>| {
                value.as_ref().map_or_else(String::new, |value| format!(" {name} {}", expr(value)))
            };
            let ties = ties.as_ref().map_or_else(String::new, |ties| format!(" ties {}", list(ties)));
            format!("Limit{}{}{ties}", part("limit", limit), part("offset", offset))
        }
        Node::Aggregate(aggregate) => {
            inputs.push(&aggregate.input);
            let calls = aggregate.calls.iter().map(|call| {
                let distinct = if call.distinct { "distinct " } else { "" };
                let order =
                    if call.order.is_empty() { String::new() } else { format!(" order by {}", keys(&call.order)) };
                let condition =
                    call.filter.as_ref().map_or_else(String::new, |filter| format!(" filter {}", expr(filter)));
                format!("{}({distinct}{}{order}){condition}", call.function.name, list(&call.arguments))
            });
            let calls = calls.collect::<Vec<_>>().join(", ");
            if aggregate.groups.is_empty() {
                format!("Aggregate {calls}")
            } else {
                format!("Aggregate by {}: {calls}", list(&aggregate.groups))
            }
        }
        Node::Window(window) => {
            inputs.push(&window.input);
            let calls = window.calls.iter().map(|call| {
                let name = match &call.function {
                    plan::WindowTarget::Window(function) => function.name,
                    plan::WindowTarget::Aggregate(function) => function.name,
                };
                format!("{name}({})", list(&call.arguments))
            });
            let calls = calls.collect::<Vec<_>>().join(", ");
            format!("Window by {} order {}: {calls}", list(&window.partition), keys(&window.order))
        }
        Node::Distinct { input, .. } => {
            inputs.push(input);
            "Distinct".to_owned()
        }
        Node::DistinctOn { input, keys } => {
            inputs.push(input);
            format!("DistinctOn {}", list(keys))
        }
        Node::SetOperation { operation, all, left, right, .. } => {
            inputs.extend([left.as_ref(), right.as_ref()]);
            format!("{operation:?}{}", if *all { " all" } else { "" })
        }
        Node::Append { inputs: appended } => {
            inputs.extend(appended);
            "Append".to_owned()
        }
        Node::With { ctes, input } => {
            inputs.extend(ctes.iter().map(|cte| &cte.plan));
            inputs.push(input);
            let names = ctes.iter().map(|cte| format!("{} {}", cte.id.0, cte.name)).collect::<Vec<_>>();
            format!("With {}", names.join(", "))
        }
        Node::RecursiveUnion(union) => {
            inputs.extend([&union.anchor, &union.recursive]);
            format!("RecursiveUnion {}{}", union.cte.0, if union.all { " all" } else { "" })
        }
        Node::LockRows(lock) => {
            inputs.push(&lock.input);
            let locks = lock
                .locks
                .iter()
                .map(|lock| format!("{} #{} {:?} {:?}", lock.table.name, lock.ctid, lock.mode, lock.wait));
            format!("LockRows {}{}", locks.collect::<Vec<_>>().join(", "), recheck(&lock.recheck))
        }
        Node::Insert(insert) => {
            inputs.push(&insert.input);
            let conflict = insert.on_conflict.as_ref().map_or_else(String::new, |conflict| {
                let update = conflict.update.as_ref().map_or_else(
                    || "nothing".to_owned(),
                    |update| {
                        let set = update
                            .assignments
                            .iter()
                            .map(|assignment| format!("{} = {}", assignment.column, expr(&assignment.value)));
                        format!("update {}{}", set.collect::<Vec<_>>().join(", "), filter(&update.condition))
                    },
                );
                format!(" on conflict {:?} {update}", conflict.arbiters)
            });
            format!("Insert {}{conflict}{}", insert.target.table.name, returning(&insert.returning))
        }
        Node::Update(update) => {
            inputs.push(&update.input);
            let set = update.assignments.iter().map(|assignment| {
                let column = &update.target.table.columns[assignment.column as usize].name;
                format!("{column} = {}", expr(&assignment.value))
            });
            format!(
                "Update {} #{} set {}{}{}",
                update.target.table.name,
                update.ctid,
                set.collect::<Vec<_>>().join(", "),
                recheck(&update.recheck),
                returning(&update.returning)
            )
        }
        Node::Merge(merge) => {
            inputs.push(&merge.input);
            let clauses = merge.clauses.iter().map(|clause| {
                let action = match &clause.action {
                    MergeAction::Update(assignments) => {
                        let set = assignments
                            .iter()
                            .map(|assignment| format!("{} = {}", assignment.column, expr(&assignment.value)));
                        format!("update {}", set.collect::<Vec<_>>().join(", "))
                    }
                    MergeAction::Delete => "delete".to_owned(),
                    MergeAction::Insert(row) => {
                        format!("insert {}", row.iter().map(expr).collect::<Vec<_>>().join(", "))
                    }
                    MergeAction::Nothing => "nothing".to_owned(),
                };
                let not = if clause.matched { "" } else { "not " };
                format!(" {not}matched{}: {action};", filter(&clause.condition))
            });
            let clauses = clauses.collect::<String>();
            format!("Merge {} #{}{clauses}{}", merge.target.table.name, merge.ctid, recheck(&merge.recheck))
        }
        Node::CurrentOf(scan) => {
            format!("CurrentOf {} {} [{}]", scan.alias, scan.cursor.name, columns(&scan.columns, &scan.table))
        }
        Node::ViewChange(change) => {
            inputs.push(&change.input);
            format!("{:?} view {}{}", change.event, change.target.table.name, returning(&change.returning))
        }
        Node::Delete(delete) => {
            inputs.push(&delete.input);
            format!(
                "Delete {} #{}{}{}",
                delete.target.table.name,
                delete.ctid,
                recheck(&delete.recheck),
                returning(&delete.returning)
            )
        }
    };
    let _ = writeln!(out, "{}{}", "  ".repeat(depth), line.trim_end());
    for input in inputs {
        node(input, depth + 1, out);
    }
}

/// An expression: `#n` is a slot, `$n` a parameter, `on` an outer value.
pub(super) fn expr(shown: &Expr) -> String {
    let type_name = |expr: &Expr| format_type_name(&BuiltinCatalog, expr.sql_type.oid);
    match &shown.kind {
        ExprKind::Constant(value) if value.is_null() => "NULL".to_owned(),
        ExprKind::Constant(value) => {
            let text = shown_string(value, shown.sql_type.oid, &FormatSettings::default(), &BuiltinCatalog);
            let plain = matches!(value, types::Value::Int4(_) | types::Value::Bool(_));
            if plain { text } else { format!("'{text}'::{}", type_name(shown)) }
        }
        ExprKind::Parameter(index) => format!("${}", index + 1),
        ExprKind::Column(slot) => format!("#{slot}"),
        ExprKind::Outer(index) => format!("o{index}"),
        ExprKind::Call(call) => {
            let name = match &call.function {
                FunctionTarget::Builtin(function) => function.name.to_owned(),
                FunctionTarget::Stored(function) => function.name.clone(),
            };
            match (call.operator, call.arguments.as_slice()) {
                (Some(operator), [left, right]) => format!("({} {} {})", expr(left), operator.name, expr(right)),
                (Some(operator), [right]) => format!("({} {})", operator.name, expr(right)),
                (_, arguments) => format!("{name}({})", list(arguments)),
            }
        }
        ExprKind::And(parts) => format!("({})", parts.iter().map(expr).collect::<Vec<_>>().join(" and ")),
        ExprKind::Or(parts) => format!("({})", parts.iter().map(expr).collect::<Vec<_>>().join(" or ")),
        ExprKind::Not(input) => format!("(not {})", expr(input)),
        ExprKind::IsNull(input) => format!("({} is null)", expr(input)),
        ExprKind::IsNotNull(input) => format!("({} is not null)", expr(input)),
        ExprKind::IsTruth { input, value, negated } => {
            format!("({} is {}{value:?})", expr(input), if *negated { "not " } else { "" })
        }
        ExprKind::IsDistinct { equal, negated } => {
            let word = if *negated { "is not distinct from" } else { "is distinct from" };
            format!("({} {word} {})", expr(&equal.arguments[0]), expr(&equal.arguments[1]))
        }
        ExprKind::Case { operand, whens, otherwise } => {
            let mut text = "case".to_owned();
            if let Some(operand) = operand {
                let _ = write!(text, " {}", expr(operand));
            }
            for when in whens {
                let _ = write!(text, " when {} then {}", expr(&when.condition), expr(&when.result));
            }
            if let Some(otherwise) = otherwise {
                let _ = write!(text, " else {}", expr(otherwise));
            }
            text + " end"
        }
        ExprKind::CaseOperand => "operand".to_owned(),
        ExprKind::Coalesce(parts) => format!("coalesce({})", list(parts)),
        ExprKind::NullIf(call) => format!("nullif({})", list(&call.arguments)),
        ExprKind::Greatest(parts) => format!("greatest({})", list(parts)),
        ExprKind::Least(parts) => format!("least({})", list(parts)),
        ExprKind::Array { elements, .. } => format!("array[{}]", list(elements)),
        ExprKind::Subscript { input, subscripts, .. } => {
            let shown = subscripts.iter().map(|(low, high)| {
                let low = low.as_ref().map(|low| format!("{}:", expr(low))).unwrap_or_default();
                format!("[{low}{}]", high.as_ref().map(expr).unwrap_or_default())
            });
            format!("{}{}", expr(input), shown.collect::<String>())
        }
        ExprKind::Quantified(quantified) => format!(
            "({} {} {:?} {})",
            expr(&quantified.left),
            quantified.operator.name,
            quantified.quantifier,
            expr(&quantified.array)
        ),
        ExprKind::Subquery(subquery) => {
            let kind = match &subquery.kind {
                SubqueryKind::Scalar => "scalar".to_owned(),
                SubqueryKind::Exists => "exists".to_owned(),
                SubqueryKind::Array { .. } => "array".to_owned(),
                SubqueryKind::Quantified { quantifier, left, comparisons, hashable, .. } => {
                    let hashed = if *hashable { "hashed " } else { "" };
                    format!("{hashed}{quantifier:?} ({}) {}", list(left), list(comparisons))
                }
            };
            let arguments = subquery.arguments.iter().map(|(index, value)| format!(" o{index} := {}", expr(value)));
            let arguments = arguments.collect::<String>();
            let body = match &subquery.body {
                SubqueryBody::Planned(plan) => {
                    let mut text = String::new();
                    node(plan, 0, &mut text);
                    text.trim_end().replace('\n', " /")
                }
                SubqueryBody::Bound(_) => "unplanned".to_owned(),
            };
            let correlated = if subquery.correlated { " correlated" } else { "" };
            format!("<{kind}{correlated}{arguments}: {body}>")
        }
        ExprKind::Row { fields, .. } => format!("row({})", list(fields)),
        ExprKind::Field(access) => format!("({}).{}", expr(&access.input), access.name),
        ExprKind::Cast(cast) => {
            let typmod = shown.sql_type.typmod;
            let typmod = if typmod >= 0 { format!("({typmod})") } else { String::new() };
            format!("{}::{}{typmod}", expr(&cast.input), type_name(shown))
        }
        ExprKind::Session(value) => format!("{value:?}"),
        other => format!("?{other:?}"),
    }
}
