//! The objects that there are, as PostgreSQL's catalog tells.

use std::collections::BTreeMap;

use crate::common::wire::Session;

/// A column of a relation or an attribute of a composite type.
#[derive(Clone, Debug)]
pub struct Column {
    pub name: String,
    pub kind: String,
    pub is_generated: bool,
    pub has_default: bool,
    pub is_not_null: bool,
}

/// A table, a view or a composite type.
#[derive(Clone, Debug)]
pub struct Relation {
    pub name: String,
    /// `r`, `v` or `c`.
    pub kind: char,
    pub columns: Vec<Column>,
}

/// A function of one argument or none.
#[derive(Clone, Debug)]
pub struct Function {
    pub name: String,
    pub argument: String,
    pub result: String,
}

#[derive(Default, Debug)]
pub struct Catalog {
    pub relations: Vec<Relation>,
    pub enums: BTreeMap<String, Vec<String>>,
    pub domains: BTreeMap<String, String>,
    pub functions: Vec<Function>,
    /// Constraints with their tables.
    pub constraints: Vec<(String, String)>,
    pub indexes: Vec<String>,
    pub triggers: Vec<(String, String)>,
}

/// The parts of the catalog, each row with its part's name first. No name has the separator ` | `.
const QUESTIONS: &str = "
select 'relation', c.relkind, quote_ident(c.relname), quote_ident(a.attname), format_type(a.atttypid, a.atttypmod), a.attgenerated,
       a.atthasdef and a.attgenerated = '', a.attnotnull
  from pg_class c left join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'v', 'c') order by c.relname, a.attnum;
select 'enum', quote_ident(t.typname), e.enumlabel from pg_enum e join pg_type t on t.oid = e.enumtypid order by t.typname, e.enumsortorder;
select 'domain', quote_ident(typname), format_type(typbasetype, typtypmod) from pg_type
  where typtype = 'd' and typnamespace = 'public'::regnamespace order by typname;
select 'function', quote_ident(proname), pg_get_function_identity_arguments(oid), pg_get_function_result(oid) from pg_proc
  where pronamespace = 'public'::regnamespace and prokind = 'f' order by proname, 3;
select 'constraint', conrelid::regclass, quote_ident(conname) from pg_constraint
  where connamespace = 'public'::regnamespace and conrelid <> 0 order by conrelid::regclass::text, conname;
select 'index', indexrelid::regclass from pg_index join pg_class c on c.oid = indexrelid where c.relnamespace = 'public'::regnamespace
  order by indexrelid::regclass::text;
select 'trigger', tgrelid::regclass, quote_ident(tgname) from pg_trigger where not tgisinternal order by tgrelid::regclass::text, tgname";

impl Catalog {
    /// The catalog as lines, none in a failed block.
    pub fn lines(session: &mut Session) -> Option<Vec<String>> {
        let answer = session.simple(QUESTIONS);
        if answer.contains("ERROR") {
            assert!(answer.contains("25P02"), "{answer}");
            return None;
        }
        Some(answer.lines().filter_map(|line| line.strip_prefix("row ")).map(str::to_owned).collect())
    }

    pub fn read(session: &mut Session) -> Option<Catalog> {
        Some(Catalog::of(&Catalog::lines(session)?))
    }

    pub fn of(lines: &[String]) -> Catalog {
        let mut catalog = Catalog::default();
        for line in lines {
            let parts: Vec<&str> = line.split(" | ").collect();
            match parts[0] {
                "relation" => catalog.add_column(&parts),
                "enum" => catalog.enums.entry(parts[1].to_owned()).or_default().push(parts[2].to_owned()),
                "domain" => _ = catalog.domains.insert(parts[1].to_owned(), parts[2].to_owned()),
                "function" => {
                    // Parameters are called `p`; a trigger function has none.
                    let argument = parts[2].strip_prefix("p ").unwrap_or("").to_owned();
                    catalog.functions.push(Function {
                        name: parts[1].to_owned(),
                        argument,
                        result: parts[3].to_owned(),
                    });
                }
                "constraint" => catalog.constraints.push((parts[1].to_owned(), parts[2].to_owned())),
                "index" => catalog.indexes.push(parts[1].to_owned()),
                "trigger" => catalog.triggers.push((parts[1].to_owned(), parts[2].to_owned())),
                other => panic!("{other}"),
            }
        }
        catalog
    }

    fn add_column(&mut self, parts: &[&str]) {
        if self.relations.last().is_none_or(|relation| relation.name != parts[2]) {
            let kind = parts[1].chars().next().unwrap();
            self.relations.push(Relation { name: parts[2].to_owned(), kind, columns: Vec::new() });
        }
        if parts[3] != "(null)" {
            let column = Column {
                name: parts[3].to_owned(),
                kind: parts[4].to_owned(),
                is_generated: parts[5] == "s",
                has_default: parts[6] == "t",
                is_not_null: parts[7] == "t",
            };
            self.relations.last_mut().unwrap().columns.push(column);
        }
    }

    pub fn of_kind(&self, kind: char) -> Vec<&Relation> {
        self.relations.iter().filter(|relation| relation.kind == kind).collect()
    }

    /// The attributes of a row type.
    pub fn attributes(&self, kind: &str) -> Option<&[Column]> {
        self.relations.iter().find(|relation| relation.name == kind).map(|relation| &*relation.columns)
    }

    /// A type without the domains over it.
    pub fn base<'a>(&'a self, kind: &'a str) -> &'a str {
        let mut kind = kind;
        while let Some(base) = self.domains.get(kind) {
            kind = base;
        }
        kind
    }

    /// Statements whose answers tell the contents of all tables and views, and what defaults and functions make.
    pub fn questions(&self) -> Vec<String> {
        let mut questions = Vec::new();
        for relation in self.relations.iter().filter(|relation| relation.kind != 'c') {
            questions.push(format!("select * from {}", relation.name));
            questions.push(format!("select x::text, x is null from {} x", relation.name));
            for column in &relation.columns {
                if let Some(attributes) = self.attributes(self.base(&column.kind)).filter(|list| !list.is_empty()) {
                    let attributes: Vec<String> =
                        attributes.iter().map(|attribute| format!("({}).{}", column.name, attribute.name)).collect();
                    questions.push(format!("select {} from {}", attributes.join(", "), relation.name));
                }
            }
        }
        for table in self.of_kind('r') {
            // The inserted row goes again.
            questions.push("begin".to_owned());
            questions.push(format!("insert into {} default values returning *", table.name));
            questions.push("rollback".to_owned());
        }
        questions
    }
}
