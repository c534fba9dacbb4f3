//! Scans, and nodes without an input.

use plan::{CteId, CurrentOf, Expr, FunctionScan, FunctionTarget, ScanColumn, SeqScan, SetCall, VirtualScan};
use schema::catalog::TableDef;
use types::reg_types::quote_identifier;
use types::{SqlType, oids};

use super::slots::Slot;
use super::{Explainer, Property, Shown, set_node_type, set_relation};

impl Explainer<'_> {
    pub(super) fn result(&mut self, exprs: &[Expr], condition: Option<&Expr>, shown: &mut Shown) -> Vec<Slot> {
        set_node_type(shown, "Result");
        for expr in exprs {
            self.subplans(shown, expr, &[]);
        }
        if let Some(condition) = condition {
            self.condition(shown, "One-Time Filter", condition, &[], (true, None));
        }
        self.expr_slots(exprs, &[])
    }

    pub(super) fn values(&mut self, rows: &[Vec<Expr>], shown: &mut Shown) -> Vec<Slot> {
        set_node_type(shown, "Values Scan");
        shown.title = "Values Scan on \"*VALUES*\"".to_owned();
        shown.kind.push(("Alias", Property::Text("*VALUES*".to_owned())));
        let first: &[Expr] = rows.first().map_or(&[], Vec::as_slice);
        first
            .iter()
            .enumerate()
            .map(|(number, expr)| self.slot("*VALUES*", &format!("column{}", number + 1), expr.sql_type))
            .collect()
    }

    pub(super) fn seq_scan(&mut self, scan: &SeqScan, shown: &mut Shown) -> Vec<Slot> {
        set_node_type(shown, "Seq Scan");
        shown.title = self.scan_title("Seq Scan", &scan.table, &scan.alias);
        set_relation(shown, &scan.table.name, &scan.alias);
        let slots = self.scan_slots(&scan.table, &scan.alias, &scan.columns);
        self.filter(shown, scan.filter.as_ref(), &slots);
        slots
    }

    pub(super) fn current_of(&mut self, scan: &CurrentOf, shown: &mut Shown) -> Vec<Slot> {
        set_node_type(shown, "Tid Scan");
        shown.title = self.scan_title("Tid Scan", &scan.table, &scan.alias);
        set_relation(shown, &scan.table.name, &scan.alias);
        let cursor = quote_identifier(&scan.cursor.name);
        shown.properties.push(("TID Cond", Property::Text(format!("CURRENT OF {cursor}"))));
        self.scan_slots(&scan.table, &scan.alias, &scan.columns)
    }

    pub(super) fn function_scan(&mut self, scan: &FunctionScan, shown: &mut Shown) -> Vec<Slot> {
        set_node_type(shown, "Function Scan");
        let function = scan.calls.first().map_or("", |call| match &call.function {
            FunctionTarget::Builtin(function) => function.name,
            FunctionTarget::Stored(function) => function.name.as_str(),
        });
        shown.title = match scan.calls.as_slice() {
            [call] => {
                let name = if self.context.options.verbose {
                    format!("{}.{}", self.function_schema(call), quote_identifier(function))
                } else {
                    quote_identifier(function)
                };
                with_alias(&format!("Function Scan on {name}"), function, &scan.alias)
            }
            _ => format!("Function Scan on {}", quote_identifier(&scan.alias)),
        };
        if let [call] = scan.calls.as_slice() {
            shown.kind.push(("Function Name", Property::Text(function.to_owned())));
            if self.context.options.verbose {
                shown.kind.push(("Schema", Property::Text(self.function_schema(call))));
            }
        }
        shown.kind.push(("Alias", Property::Text(scan.alias.to_string())));
        let types = scan.calls.iter().flat_map(|call| call.columns.iter().copied());
        let types = types.chain(scan.ordinality.then_some(SqlType::INT8));
        let slots: Vec<Slot> = scan
            .column_names
            .iter()
            .zip(types)
            .map(|(column, sql_type)| self.slot(&scan.alias, column, sql_type))
            .collect();
        if self.context.options.verbose {
            let names = self.names(&slots, None);
            let deparser = self.deparser(&names);
            let calls = scan.calls.iter().map(|call| deparser.set_call(call)).collect::<Vec<_>>();
            shown.properties.push(("Output", Property::List(self.written(&slots))));
            shown.properties.push(("Function Call", Property::Text(calls.join(", "))));
        }
        self.filter(shown, scan.filter.as_ref(), &slots);
        slots
    }

    /// The schema of a function in FROM.
    fn function_schema(&self, call: &SetCall) -> String {
        let schema = match &call.function {
            FunctionTarget::Builtin(_) => schema::catalog::PG_CATALOG_SCHEMA,
            FunctionTarget::Stored(function) => function.schema,
        };
        quote_identifier(&self.context.view.schema_name(schema))
    }

    pub(super) fn virtual_scan(&mut self, scan: &VirtualScan, shown: &mut Shown) -> Vec<Slot> {
        set_node_type(shown, "Seq Scan");
        let table = quote_identifier(&scan.table.name);
        shown.title = with_alias(&format!("Seq Scan on {table}"), &scan.table.name, &scan.alias);
        set_relation(shown, &scan.table.name, &scan.alias);
        let slots: Vec<Slot> = scan
            .columns
            .iter()
            .map(|place| {
                let column = &scan.table.columns[*place as usize];
                self.slot(&scan.alias, &column.name, column.sql_type)
            })
            .collect();
        self.filter(shown, scan.filter.as_ref(), &slots);
        slots
    }

    pub(super) fn cte_scan(
        &mut self,
        cte: CteId,
        alias: &str,
        filter: Option<&Expr>,
        width: u32,
        shown: &mut Shown,
    ) -> Vec<Slot> {
        set_node_type(shown, "CTE Scan");
        let cte_name = self.ctes.get(&cte.0).cloned().unwrap_or_else(|| alias.to_string());
        shown.title = with_alias(&format!("CTE Scan on {}", quote_identifier(&cte_name)), &cte_name, alias);
        shown.kind.push(("CTE Name", Property::Text(cte_name)));
        shown.kind.push(("Alias", Property::Text(alias.to_string())));
        let slots = self.unnamed_slots(alias, width);
        self.filter(shown, filter, &slots);
        slots
    }

    pub(super) fn work_table_scan(&mut self, cte: CteId, width: u32, shown: &mut Shown) -> Vec<Slot> {
        set_node_type(shown, "WorkTable Scan");
        let cte_name = self.ctes.get(&cte.0).cloned().unwrap_or_default();
        shown.title = format!("WorkTable Scan on {}", quote_identifier(&cte_name));
        shown.kind.push(("CTE Name", Property::Text(cte_name.clone())));
        self.unnamed_slots(&cte_name, width)
    }

    pub(super) fn filter(&mut self, shown: &mut Shown, filter: Option<&Expr>, slots: &[Slot]) {
        if let Some(filter) = filter {
            self.condition(shown, "Filter", filter, slots, (true, Some(self.context.options.verbose)));
        }
    }

    pub(super) fn scan_title(&self, what: &str, table: &TableDef, alias: &str) -> String {
        let name = if self.context.options.verbose {
            let schema = quote_identifier(&self.context.view.schema_name(table.schema));
            format!("{schema}.{}", quote_identifier(&table.name))
        } else {
            quote_identifier(&table.name)
        };
        with_alias(&format!("{what} on {name}"), &table.name, alias)
    }

    /// The slots of a scan of a table.
    pub(super) fn scan_slots(&self, table: &TableDef, alias: &str, columns: &[ScanColumn]) -> Vec<Slot> {
        columns
            .iter()
            .map(|column| {
                let (name, sql_type) = match column {
                    ScanColumn::Column(place) => {
                        let column = &table.columns[*place as usize];
                        (column.name.as_str(), SqlType::with_typmod(column.type_oid, column.typmod))
                    }
                    ScanColumn::Ctid => ("ctid", SqlType::new(oids::TID)),
                    ScanColumn::TableOid => ("tableoid", SqlType::new(oids::OID)),
                    ScanColumn::Xmin => ("xmin", SqlType::new(oids::XID)),
                    ScanColumn::Xmax => ("xmax", SqlType::new(oids::XID)),
                    ScanColumn::Cmin => ("cmin", SqlType::new(oids::CID)),
                    ScanColumn::Cmax => ("cmax", SqlType::new(oids::CID)),
                };
                self.slot(alias, name, sql_type)
            })
            .collect()
    }

    /// A column's slot.
    pub(super) fn slot(&self, alias: &str, name: &str, sql_type: SqlType) -> Slot {
        Slot {
            alias: Some(quote_identifier(alias)),
            text: quote_identifier(name),
            sql_type: Some(sql_type),
            is_computed: false,
        }
    }

    /// The slots of rows whose columns have no names here.
    fn unnamed_slots(&self, alias: &str, width: u32) -> Vec<Slot> {
        (1..=width)
            .map(|number| Slot {
                alias: Some(quote_identifier(alias)),
                text: format!("column{number}"),
                sql_type: None,
                is_computed: false,
            })
            .collect()
    }
}

fn with_alias(title: &str, name: &str, alias: &str) -> String {
    if name == alias { title.to_owned() } else { format!("{title} {}", quote_identifier(alias)) }
}
