//! Definitions, and changes of what is defined.

use crate::catalog::{Catalog, Column, Relation};
use crate::script::Script;

impl Script {
    pub fn composite(&mut self, catalog: &Catalog) -> String {
        let name = self.name("c");
        format!("create type {name} as ({})", self.columns(catalog, 3).join(", "))
    }

    /// Columns with their types.
    fn columns(&mut self, catalog: &Catalog, most: usize) -> Vec<String> {
        let start = self.below(3);
        (0..1 + self.below(most))
            .map(|place| format!("{} {}", crate::script::COLUMNS[(start + place) % 6], self.kind(catalog)))
            .collect()
    }

    pub fn enumeration(&mut self) -> String {
        format!("create type {} as enum ('q', 'r')", self.name("e"))
    }

    pub fn domain(&mut self, catalog: &Catalog) -> String {
        let (name, kind) = (self.name("d"), self.kind(catalog));
        let mut text = format!("create domain {name} as {kind}");
        let base = catalog.base(&kind).to_owned();
        if self.chance(40) {
            let condition = match catalog.attributes(&base) {
                Some(attributes) if !attributes.is_empty() => {
                    let attribute = self.pick(attributes).clone();
                    format!("(value).{} is distinct from {}", attribute.name, self.value(catalog, &attribute.kind))
                }
                _ => format!("value is distinct from {}", self.value(catalog, &kind)),
            };
            text.push_str(&format!(" check ({condition})"));
        }
        text
    }

    pub fn table(&mut self, catalog: &Catalog) -> String {
        let name = self.name("t");
        let mut columns = self.columns(catalog, 4);
        for column in &mut columns {
            if self.chance(30) {
                let kind = column.rsplit_once(' ').map_or("", |(_, kind)| kind).to_owned();
                // A name with a blank is no type's whole name.
                if !kind.ends_with(['"', ')']) {
                    column.push_str(&format!(" default {}", self.value(catalog, &kind)));
                }
            }
        }
        format!("create table {name} ({})", columns.join(", "))
    }

    /// ALTER TYPE of a composite type or an enum, ALTER DOMAIN.
    pub fn change_of_type(&mut self, catalog: &Catalog) -> String {
        let composites = catalog.of_kind('c');
        if !catalog.enums.is_empty() && self.chance(15) {
            let name = self.pick(&catalog.enums.keys().collect::<Vec<_>>()).to_string();
            let labels = &catalog.enums[&name];
            let label = self.pick(labels).clone();
            return match self.below(4) {
                0 => format!("alter type {name} add value 'l{}'", self.below(9)),
                1 => format!("alter type {name} add value 'l{}' before '{label}'", self.below(9)),
                2 => format!("alter type {name} rename value '{label}' to 'l{}'", self.below(9)),
                _ => format!("alter type {name} rename to {}", self.name("e")),
            };
        }
        if !catalog.domains.is_empty() && self.chance(15) {
            let name = self.pick(&catalog.domains.keys().collect::<Vec<_>>()).to_string();
            let base = catalog.domains[&name].clone();
            return match self.below(5) {
                0 => format!("alter domain {name} rename to {}", self.name("d")),
                1 => format!("alter domain {name} set default {}", self.value(catalog, &base)),
                2 => format!("alter domain {name} drop default"),
                3 => format!("alter domain {name} add check (value is distinct from {})", self.value(catalog, &base)),
                _ => format!("alter domain {name} {} not null", ["set", "drop"][self.below(2)]),
            };
        }
        if composites.is_empty() {
            return self.composite(catalog);
        }
        let relation = (*self.pick(&composites)).clone();
        let name = &relation.name;
        let cascade = if self.chance(25) { " cascade" } else { "" };
        let attribute = (!relation.columns.is_empty()).then(|| self.pick(&relation.columns).name.clone());
        match (self.below(8), attribute) {
            (0..=2, _) => {
                format!("alter type {name} add attribute {} {}{cascade}", self.column_name(), self.kind(catalog))
            }
            (3, Some(attribute)) => {
                format!("alter type {name} drop attribute {attribute}{cascade}")
            }
            (4, Some(attribute)) => {
                format!("alter type {name} rename attribute {attribute} to {}{cascade}", self.column_name())
            }
            (5, Some(attribute)) => {
                format!("alter type {name} alter attribute {attribute} type {}{cascade}", self.kind(catalog))
            }
            (6, Some(attribute)) => format!(
                "alter type {name} drop attribute {attribute}, add attribute {} {}",
                self.column_name(),
                self.kind(catalog)
            ),
            _ => format!("alter type {name} rename to {}", self.name("c")),
        }
    }

    pub fn change_of_table(&mut self, catalog: &Catalog, table: &Relation) -> String {
        let name = &table.name;
        let Some(column) = (!table.columns.is_empty()).then(|| self.pick(&table.columns).clone()) else {
            return format!("alter table {name} add column a integer");
        };
        let cascade = if self.chance(20) { " cascade" } else { "" };
        let change = match self.below(20) {
            0..=4 => self.added_column(catalog, table),
            5..=6 => format!("drop column {}{cascade}", column.name),
            7..=8 => format!("rename column {} to {}", column.name, self.column_name()),
            9..=11 => self.other_type(catalog, table, &column),
            12..=13 => format!("alter column {} set default {}", column.name, self.value(catalog, &column.kind)),
            14 if column.has_default => format!("alter column {} drop default", column.name),
            15 => format!("alter column {} {} not null", column.name, if column.is_not_null { "drop" } else { "set" }),
            16 => match catalog.constraints.iter().find(|(of, _)| of == name) {
                Some((_, constraint)) => format!("drop constraint {constraint}"),
                None => format!("add check ({})", self.condition(catalog, table, "")),
            },
            17 => format!("rename to {}", self.name("t")),
            18 => format!("drop column {}, add column {} {}", column.name, self.column_name(), self.kind(catalog)),
            _ => format!("add check ({})", self.condition(catalog, table, "")),
        };
        format!("alter table {name} {change}")
    }

    fn added_column(&mut self, catalog: &Catalog, table: &Relation) -> String {
        let (name, kind) = (self.column_name(), self.kind(catalog));
        match self.below(5) {
            0 => format!("add column {name} {kind} default {}", self.value(catalog, &kind)),
            1 => {
                let value = self.expression(catalog, &kind, table, "");
                format!("add column {name} {kind} generated always as ({value}) stored")
            }
            2 => {
                format!("add column {name} {kind} check ({name} is not null or {})", self.condition(catalog, table, ""))
            }
            _ => format!("add column {name} {kind}"),
        }
    }

    fn other_type(&mut self, catalog: &Catalog, table: &Relation, column: &Column) -> String {
        let kind = self.kind(catalog);
        let using = match self.below(4) {
            0 => String::new(),
            1 => format!(" using {}::text::{kind}", column.name),
            2 => " using null".to_owned(),
            _ => format!(" using {}", self.expression(catalog, &kind, table, "")),
        };
        format!("alter column {} type {kind}{using}", column.name)
    }

    pub fn view(&mut self, catalog: &Catalog) -> String {
        let views = catalog.of_kind('v');
        if views.len() > 4 {
            let view = self.pick(&views).name.clone();
            return match self.below(3) {
                0 => format!("alter view {view} rename to {}", self.name("v")),
                1 => format!("drop view {view}"),
                _ => format!("create or replace view {view} as {}", self.query(catalog)),
            };
        }
        format!("create view {} as {}", self.name("v"), self.query(catalog))
    }

    pub fn index(&mut self, catalog: &Catalog, table: &Relation) -> String {
        if !catalog.indexes.is_empty() && self.chance(10) {
            return format!("drop index {}", self.pick(&catalog.indexes));
        }
        let mut kind = self.kind(catalog);
        // An index whose key is a row keeps PostgreSQL from changing the row's type, which Cohort does.
        while holds_rows(catalog, &kind) {
            kind = self.kind(catalog);
        }
        let key = self.expression(catalog, &kind, table, "");
        let unique = if self.chance(40) { "unique " } else { "" };
        let condition = match self.chance(30) {
            true => format!(" where {}", self.condition(catalog, table, "")),
            false => String::new(),
        };
        format!("create {unique}index on {} (({key})){condition}", table.name)
    }

    pub fn function(&mut self, catalog: &Catalog) -> String {
        if catalog.functions.len() > 5 {
            let function = self.pick(&catalog.functions).name.clone();
            return match self.below(3) {
                0 => format!("alter function {function} rename to {}", self.name("f")),
                1 => format!("drop function {function}"),
                _ => format!("drop function {function} cascade"),
            };
        }
        let (name, argument) = (self.name("f"), self.kind(catalog));
        let result = if self.chance(40) { argument.clone() } else { self.kind(catalog) };
        // PostgreSQL calls others than volatile ones while it plans, and fails there although no row would need the call.
        let (language, volatility) = match self.below(4) {
            0 => ("sql", ["immutable", "volatile", "stable"][self.below(3)]),
            1 => ("set", "volatile"),
            _ => ("plpgsql", "volatile"),
        };
        let parameter = parameter(&argument);
        self.makes_no_rows = true;
        let value = self.expression(catalog, &result, &parameter, "");
        let changes = self.assignments(catalog, "r", &result);
        self.makes_no_rows = false;
        match language {
            "sql" => format!(
                "create function {name}(p {argument}) returns {result} language sql {volatility} as $$ select {value} $$"
            ),
            "set" => {
                let tables = catalog.of_kind('r');
                let table = (*self.pick(&tables)).clone();
                format!(
                    "create function {name}(p {argument}) returns setof {0} language sql as $$ select * from {0} $$",
                    table.name
                )
            }
            _ => {
                format!(
                    "create function {name}(p {argument}) returns {result} language plpgsql {volatility} as $$ declare r {result} := {value}; begin {changes} return r; end $$"
                )
            }
        }
    }

    /// Statements in PL/pgSQL that change fields of a variable.
    fn assignments(&mut self, catalog: &Catalog, variable: &str, kind: &str) -> String {
        let mut text = String::new();
        if let Some(attributes) = catalog.attributes(catalog.base(kind)).filter(|list| !list.is_empty()) {
            for _ in 0..self.below(3) {
                let attribute = self.pick(attributes).clone();
                let value = self.value(catalog, &attribute.kind);
                text.push_str(&format!("{variable}.{} := {value}; ", attribute.name));
            }
        }
        text
    }

    /// A DO block whose variables are used before and after a change.
    pub fn block_of_code(&mut self, catalog: &Catalog, table: &Relation) -> String {
        let relations: Vec<&Relation> = catalog.relations.iter().filter(|relation| relation.kind != 'v').collect();
        let kind = self.pick(&relations).name.clone();
        let value = self.value(catalog, &kind);
        let (before, after) = (self.assignments(catalog, "v", &kind), self.assignments(catalog, "v", &kind));
        let columns: Vec<Column> =
            table.columns.iter().filter(|column| column.kind == kind && !column.is_generated).cloned().collect();
        let store = match columns.is_empty() {
            true => "perform v::text;".to_owned(),
            false => format!("insert into {} ({}) values (v);", table.name, self.pick(&columns).name),
        };
        let is_composite = catalog.of_kind('c').iter().any(|composite| composite.name == kind);
        let (name, is_new_value) = (self.name("n").replace('"', ""), self.chance(50));
        let change = match self.below(4) {
            0 if is_composite => {
                format!(
                    "execute 'alter type {kind} add attribute \"{name}\" integer'; v := null; v.\"{name}\" := 4; {store}"
                )
            }
            // The variable keeps its value.
            1 if is_composite => format!("execute 'alter type {kind} add attribute \"{name}\" integer'; {store}"),
            2 if is_composite => format!(
                "begin execute 'alter type {kind} add attribute \"{name}\" integer'; {store} raise exception 'back'; \
                 exception when raise_exception then perform v::text; end;"
            ),
            _ if is_new_value => "v := null;".to_owned(),
            _ => String::new(),
        };
        format!("do $$ declare v {kind} := {value}; begin {before} {store} {change} {after} {store} end $$")
    }

    /// A composite type with more than one attribute, the place of one that goes, and one that stays.
    fn type_to_change(&mut self, catalog: &Catalog) -> Option<(Relation, usize, Column)> {
        let composites: Vec<&Relation> =
            catalog.of_kind('c').into_iter().filter(|composite| composite.columns.len() > 1).collect();
        if composites.is_empty() {
            return None;
        }
        let composite = (*self.pick(&composites)).clone();
        let gone = self.below(composite.columns.len());
        let stays = composite.columns[(gone + 1) % composite.columns.len()].clone();
        Some((composite, gone, stays))
    }

    /// The actions of an ALTER TYPE of a type whose rows a block holds.
    fn change_of_rows(&mut self, composite: &Relation, gone: usize, new_name: &str) -> String {
        let Column { name, kind, .. } = &composite.columns[gone];
        let (add, drop) = (format!("add attribute \"{new_name}\" integer"), format!("drop attribute {name}"));
        match self.below(5) {
            0 => add,
            1 => format!("{drop}, {add}"),
            // A field of the same name and type that is another one.
            2 => format!("{drop}, add attribute {name} {kind}"),
            _ => drop,
        }
    }

    /// A DO block with one statement that changes a type while it holds rows of it, and gives them to functions. It ends with an error that shows
    /// what they saw.
    pub fn rows_within_a_statement(&mut self, catalog: &Catalog) -> String {
        let Some((composite, gone, Column { name: stays, kind: stays_kind, .. })) = self.type_to_change(catalog) else {
            return self.query(catalog);
        };
        let kind = &composite.name;
        let new_name = self.name("n").replace('"', "");
        let change = self.change_of_rows(&composite, gone, &new_name);
        let (first, second) = (self.value(catalog, kind), self.value(catalog, kind));
        let field = self.value(catalog, &stays_kind);
        format!(
            "do $$ declare t text; begin \
             create function pg_temp.changed() returns int language plpgsql as \
             $f$ begin execute $e$alter type {kind} {change}$e$; return 1; end $f$; \
             create function pg_temp.made() returns {kind} language plpgsql as \
             $f$ declare r {kind}; begin r.{stays} := {field}; return r; end $f$; \
             create function pg_temp.seen(x {kind}, y {kind}[]) returns text language plpgsql as \
             $f$ declare r {kind} := y[2]; begin \
             return concat_ws('/', (x).{stays}, (y[1]).{stays}, r.{stays}, x, r, y[2]); end $f$; \
             execute $e$select concat_ws('/', (x).{stays}, pg_temp.changed(), pg_temp.seen(x, y), \
             (pg_temp.made()).{stays}, (x).{stays}, (y[2]).{stays}) \
             from (select {first} as x, array[{first}, {second}] as y offset 0) u$e$ into t; \
             raise exception '%', t; end $$"
        )
    }

    /// A DO block with rows of a type within arrays and records, which it uses after it has changed the type. It ends with an error that shows
    /// them, or stores them.
    pub fn block_with_rows_in_values(&mut self, catalog: &Catalog, table: &Relation) -> String {
        let Some((composite, gone, Column { name: stays, .. })) = self.type_to_change(catalog) else {
            return self.block_of_code(catalog, table);
        };
        let kind = &composite.name;
        let name = self.name("n").replace('"', "");
        let change = self.change_of_rows(&composite, gone, &name);
        let (first, second) = (self.value(catalog, kind), self.value(catalog, kind));
        let made = match self.below(3) {
            // The array comes from a table.
            0 => format!(
                "execute 'create table \"{name}\" as select array[{}] as w'; execute 'select w from \"{name}\"' into w;",
                format!("{first}, {second}").replace('\'', "\'\'")
            ),
            _ => format!("w := array[{first}, {second}];"),
        };
        let columns: Vec<String> = table
            .columns
            .iter()
            .filter(|column| !column.is_generated)
            .filter_map(|column| match &column.kind {
                own if own == kind => Some(format!("insert into {} ({}) values (w[2]);", table.name, column.name)),
                own if own.strip_suffix("[]") == Some(kind) => {
                    Some(format!("insert into {} ({}) values (w);", table.name, column.name))
                }
                _ => None,
            })
            .collect();
        // Another function may make the change.
        let change = format!("'alter type {kind} {change}'");
        let (function, change) = match self.below(3) {
            0 => (String::new(), format!("execute {change};")),
            _ => (
                "execute 'create or replace function pg_temp.below(t text) returns int language plpgsql as \
                 $f$ begin execute t; return 1; end $f$';"
                    .to_owned(),
                format!("perform pg_temp.below({change});"),
            ),
        };
        let in_loop =
            format!("if t = '' then {change} end if; t := t || l::text || coalesce((w[1]).{stays}::text, '');");
        let end = match self.below(6) {
            0 => format!(
                "for l in select u as x, array[u] as y from unnest(w) u loop {in_loop} end loop; raise exception '%', t;"
            ),
            1 => format!("foreach l in array w loop {in_loop} end loop; raise exception '%', t;"),
            2 => format!(
                "open c; {change} loop fetch c into l; exit when not found; t := t || l::text; end loop; \
                 raise exception '%', t;"
            ),
            3 if !columns.is_empty() => format!("{change} {}", self.pick(&columns)),
            _ => format!(
                "{change} raise exception '% % % % %', v, w, r, (w[1]).{stays}, \
                 (select count(*) from unnest(w) u where u = v);"
            ),
        };
        format!(
            "do $$ declare v {kind} := {first}; w {kind}[]; r record; l record; t text := ''; \
             c cursor for select u as x, array[u] as y from unnest(w) u; \
             begin {made} r := row(v, w, w[2]); {function} {end} end $$"
        )
    }

    pub fn trigger(&mut self, catalog: &Catalog, table: &Relation) -> String {
        let of_triggers: Vec<_> = catalog.functions.iter().filter(|function| function.result == "trigger").collect();
        if of_triggers.is_empty() || self.chance(35) {
            let name = self.name("g");
            self.makes_no_rows = true;
            let changes = self.assignments(catalog, "new", &table.name);
            self.makes_no_rows = false;
            return format!(
                "create function {name}() returns trigger language plpgsql as $$ begin {changes} return new; end $$"
            );
        }
        if let Some((of, trigger)) = catalog.triggers.iter().find(|(of, _)| *of == table.name)
            && self.chance(40)
        {
            return format!("drop trigger {trigger} on {of}");
        }
        let function = self.pick(&of_triggers).name.clone();
        let columns: Vec<Column> = table.columns.iter().filter(|column| !column.is_generated).cloned().collect();
        let condition = match self.chance(70) {
            true => {
                let seen = Relation { columns, ..table.clone() };
                format!(" when ({})", self.condition(catalog, &seen, "new."))
            }
            false => String::new(),
        };
        let name = self.name("g");
        format!(
            "create trigger {name} before insert or update on {} for each row{condition} execute function {function}()",
            table.name
        )
    }

    /// Drops something.
    pub fn removal(&mut self, catalog: &Catalog) -> String {
        let cascade = if self.chance(50) { " cascade" } else { "" };
        let is_to_stay = |relation: &&Relation| self.has_empty_arrays && relation.kind != 'v';
        let relations: Vec<&Relation> = catalog.relations.iter().filter(|relation| !is_to_stay(relation)).collect();
        if relations.is_empty() {
            return self.query(catalog);
        }
        let relation = (*self.pick(&relations)).clone();
        let what = match relation.kind {
            'r' => "table",
            'v' => "view",
            _ => "type",
        };
        format!("drop {what} {}{cascade}", relation.name)
    }
}

/// Whether values of this type are rows, or arrays of rows.
fn holds_rows(catalog: &Catalog, kind: &str) -> bool {
    catalog.attributes(catalog.base(catalog.base(kind).trim_end_matches("[]"))).is_some()
}

/// The parameter of a function, as the one column of a relation.
fn parameter(kind: &str) -> Relation {
    let column = Column {
        name: "p".to_owned(),
        kind: kind.to_owned(),
        is_generated: false,
        has_default: false,
        is_not_null: false,
    };
    Relation { name: String::new(), kind: 'c', columns: vec![column] }
}
