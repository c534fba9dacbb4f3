//! Types, operators, and what else is built in.

use std::sync::Arc;

use base::{Oid, Result};
use plan::user_types;
use schema::catalog::{BOOTSTRAP_ROLE, PG_CATALOG_SCHEMA};
use types::cast::{CastContext, CastMethod};
use types::collation::{COLLATIONS, Collation};
use types::context::UserTypeKind;
use types::type_table::TypeFunction;
use types::{
    CatalogLookup, Category, OperatorRole, SqlType, TypeDef, Value, base_type, builtin_type, builtin_types, oids,
    operators, type_functions,
};

use super::rows::{BTREE_METHOD, HEAP_METHOD, NULL, TABLESPACE_OID, Wanted, letter, row, wanted_name, wanted_oid};
use super::{Equal, relations};
use crate::commands::definitions::stored_value;
use crate::operator_classes::{OPERATOR_CLASSES, OPERATOR_FAMILIES, OperatorClass};
use crate::state::session_of;
use crate::system_tables::rule_oid;
use executor::Run;

/// The columns whose values differ between rows of `pg_type`.
struct TypeRow {
    oid: Oid,
    name: String,
    schema: Oid,
    owner: Oid,
    length: i16,
    by_value: bool,
    kind: char,
    category: char,
    preferred: bool,
    relation: Oid,
    subscript: &'static str,
    element: Oid,
    array: Oid,
    /// Input, output, receive, send, modifier input and output, analyze.
    functions: [String; 7],
    align: char,
    storage: char,
    not_null: bool,
    base: SqlType,
    /// The declared number of dimensions of a domain over an array. It is always 1, because Cohort does not keep the number.
    dimensions: i32,
    collation: Oid,
    default: Option<String>,
    /// The default as it reads.
    shown_default: Option<String>,
    acl: Value,
}

impl TypeRow {
    fn values(self) -> Vec<Value> {
        let function = |name: &str| Value::oid(type_functions::oid_of(name).unwrap_or(Oid::INVALID));
        let [input, output, receive, send, modifier_in, modifier_out, analyze] =
            self.functions.each_ref().map(|name| function(name));
        row![
            self.oid,
            self.name,
            self.schema,
            self.owner,
            self.length,
            self.by_value,
            letter(self.kind),
            letter(self.category),
            self.preferred,
            true,
            letter(','),
            self.relation,
            function(self.subscript),
            self.element,
            self.array,
            input,
            output,
            receive,
            send,
            modifier_in,
            modifier_out,
            analyze,
            letter(self.align),
            letter(self.storage),
            self.not_null,
            self.base.oid,
            self.base.typmod,
            self.dimensions,
            self.collation,
            self.default,
            self.shown_default,
            self.acl,
        ]
    }
}

fn builtin_row(def: &TypeDef) -> TypeRow {
    use TypeFunction::{Input, Output, Receive, Send, TypmodInput, TypmodOutput};
    let kinds = [Input, Output, Receive, Send, TypmodInput, TypmodOutput];
    let mut functions: [String; 7] = Default::default();
    for (function, kind) in functions.iter_mut().zip(kinds) {
        *function = def.function_name(kind);
    }
    if def.is_array() {
        functions[6] = "array_typanalyze".to_owned();
    }
    let subscript = match def.oid {
        _ if def.is_array() => "array_subscript_handler",
        oids::INT2VECTOR | oids::OIDVECTOR => "array_subscript_handler",
        oids::NAME => "raw_array_subscript_handler",
        oids::JSONB => "jsonb_subscript_handler",
        _ => "",
    };
    TypeRow {
        oid: def.oid,
        name: def.name.to_owned(),
        schema: PG_CATALOG_SCHEMA,
        owner: BOOTSTRAP_ROLE,
        length: def.length,
        by_value: def.by_value,
        kind: def.type_letter(),
        category: def.category.letter(),
        preferred: def.is_preferred,
        relation: Oid::INVALID,
        subscript,
        element: def.element,
        array: def.array,
        functions,
        align: def.align.letter(),
        storage: def.storage_letter,
        not_null: false,
        base: SqlType::new(Oid::INVALID),
        dimensions: 0,
        collation: def.collation,
        default: None,
        shown_default: None,
        acl: NULL,
    }
}

/// The support functions of a type that a user made.
fn user_functions(stem: &str, receive: bool) -> [String; 7] {
    let name = |suffix: &str| format!("{stem}_{suffix}");
    let binary = |suffix: &str| if receive { name(suffix) } else { String::new() };
    [name("in"), name("out"), binary("recv"), binary("send"), String::new(), String::new(), String::new()]
}

fn user_rows(run: &Run<'_, '_>, oid: Oid) -> Result<Vec<TypeRow>> {
    let Some(described) = user_types::described(&run.catalog, oid) else { return Ok(Vec::new()) };
    let view = &run.catalog;
    let array = described.user_type.array;
    let plain = TypeRow {
        oid,
        name: described.user_type.name.clone(),
        schema: described.schema,
        owner: described.owner,
        length: -1,
        by_value: false,
        kind: 'c',
        category: Category::Composite.letter(),
        preferred: false,
        relation: Oid::INVALID,
        subscript: "",
        element: Oid::INVALID,
        array,
        functions: user_functions("record", true),
        align: 'd',
        storage: 'x',
        not_null: false,
        base: SqlType::new(Oid::INVALID),
        dimensions: 0,
        collation: Oid::INVALID,
        default: None,
        shown_default: None,
        acl: super::objects::acl(view.catalog(), oid),
    };
    let own = match &described.user_type.kind {
        UserTypeKind::Composite(_) if described.relation == Oid::INVALID => TypeRow { relation: oid, ..plain },
        // Privileges on a table are not privileges on its row type.
        UserTypeKind::Composite(_) => TypeRow { relation: described.relation, acl: NULL, ..plain },
        UserTypeKind::Enum(_) => TypeRow {
            length: 4,
            by_value: true,
            kind: 'e',
            category: Category::Enum.letter(),
            functions: user_functions("enum", true),
            align: 'i',
            storage: 'p',
            ..plain
        },
        UserTypeKind::Domain(base) => {
            let row = domain_row(run, plain, *base)?;
            let shown =
                described.default.as_ref().map(|text| stored_value(session_of(run), text, false)).transpose()?;
            TypeRow { not_null: described.not_null, shown_default: shown, default: described.default.clone(), ..row }
        }
        UserTypeKind::Array(_) => return Ok(Vec::new()),
    };
    let array_row = (array != Oid::INVALID).then(|| TypeRow {
        oid: array,
        name: plan::user_types::array_name_of(view.catalog(), oid, &own.name),
        schema: own.schema,
        owner: own.owner,
        length: -1,
        by_value: false,
        kind: 'b',
        category: Category::Array.letter(),
        preferred: false,
        relation: Oid::INVALID,
        subscript: "array_subscript_handler",
        element: oid,
        array: Oid::INVALID,
        functions: {
            let mut functions = user_functions("array", true);
            functions[6] = "array_typanalyze".to_owned();
            functions
        },
        align: if own.align == 'd' { 'd' } else { 'i' },
        storage: 'x',
        not_null: false,
        base: SqlType::new(Oid::INVALID),
        dimensions: 0,
        collation: own.collation,
        default: None,
        shown_default: None,
        acl: NULL,
    });
    Ok(std::iter::once(own).chain(array_row).collect())
}

/// The row of a domain over `base`, without its default: that of the innermost type, but for what is in `plain` and what all domains share.
fn domain_row(run: &Run<'_, '_>, plain: TypeRow, base: SqlType) -> Result<TypeRow> {
    let view = &run.catalog;
    // `innermost` is neither a domain nor an array of this one, so the recursion ends.
    let innermost = base_type(view, base).oid;
    let shape = match builtin_type(innermost) {
        Some(def) => Some(builtin_row(def)),
        None => user_rows(run, user_types::element_of_array(innermost).unwrap_or(innermost))?
            .into_iter()
            .find(|row| row.oid == innermost),
    };
    let mut row = match shape {
        Some(shape) => {
            let TypeRow { oid, array, name, schema, owner, acl, .. } = plain;
            TypeRow { oid, array, name, schema, owner, acl, ..shape }
        }
        None => plain,
    };
    row.kind = 'd';
    row.preferred = false;
    row.relation = Oid::INVALID;
    row.subscript = "";
    row.element = Oid::INVALID;
    row.dimensions = i32::from(types::element_type(view, base.oid).is_some() && base.oid == innermost);
    row.base = base;
    row.collation = user_types::collation_of(view, row.oid);
    row.functions[0] = "domain_in".to_owned();
    row.functions[2] = "domain_recv".to_owned();
    row.functions[4] = String::new();
    row.functions[5] = String::new();
    Ok(row)
}

/// `pg_type`
pub fn pg_type(run: &mut Run<'_, '_>, equal: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let wanted = wanted_oid(equal, 0);
    let name = wanted_name(equal, 1);
    let mut rows: Vec<TypeRow> = match wanted {
        Wanted::Only(oid) => match builtin_type(oid) {
            Some(def) => vec![builtin_row(def)],
            None => user_rows(run, user_types::element_of_array(oid).unwrap_or(oid))?,
        },
        Wanted::Nothing(_) => Vec::new(),
        Wanted::All => {
            let mut rows: Vec<TypeRow> = builtin_types().iter().map(builtin_row).collect();
            for oid in user_types::all(run.catalog.catalog()) {
                rows.extend(user_rows(run, oid)?);
            }
            rows
        }
    };
    rows.retain(|row| wanted.matches(&row.oid) && name.matches(&row.name.as_str()));
    Ok(rows.into_iter().map(TypeRow::values).collect())
}

/// `pg_am`
pub fn pg_am(_: &mut Run<'_, '_>, _: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    Ok(vec![row![HEAP_METHOD, "heap", Oid(3), letter('t')], row![BTREE_METHOD, "btree", Oid(330), letter('i')]])
}

/// `pg_collation`
pub fn pg_collation(_: &mut Run<'_, '_>, _: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let row = |collation: &Collation| {
        let Collation { oid, name, provider, encoding, locale } = *collation;
        row![oid, name, PG_CATALOG_SCHEMA, BOOTSTRAP_ROLE, letter(provider), true, encoding, locale, locale, NULL, NULL,]
    };
    Ok(COLLATIONS.iter().map(row).collect())
}

/// `pg_tablespace`
pub fn pg_tablespace(_: &mut Run<'_, '_>, _: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    Ok(vec![
        row![TABLESPACE_OID, "pg_default", BOOTSTRAP_ROLE, NULL, NULL],
        row![Oid(1664), "pg_global", BOOTSTRAP_ROLE, NULL, NULL],
    ])
}

/// `pg_operator`
pub fn pg_operator(_: &mut Run<'_, '_>, equal: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let wanted = wanted_oid(equal, 0);
    let row = |operator: &'static types::OperatorDef| {
        let is_equality = operator.role == OperatorRole::Equal;
        // PostgreSQL has no hash operator classes for these. Cohort hashes them nevertheless.
        let has_hash_class = !matches!(operator.left, oids::MONEY | oids::BIT | oids::VARBIT);
        row![
            operator.oid,
            operator.name,
            PG_CATALOG_SCHEMA,
            BOOTSTRAP_ROLE,
            letter(if operator.left == Oid::INVALID { 'l' } else { 'b' }),
            is_equality,
            is_equality && has_hash_class,
            operator.left,
            operator.right,
            operator.result,
            operator.commutator,
            operator.negator,
            operator.function,
            Oid::INVALID,
            Oid::INVALID,
        ]
    };
    Ok(operators().filter(|operator| wanted.matches(&operator.oid)).map(row).collect())
}

/// `pg_enum`
pub fn pg_enum(run: &mut Run<'_, '_>, equal: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let wanted = wanted_oid(equal, 1);
    let mut rows = Vec::new();
    for oid in user_types::all(run.catalog.catalog()).into_iter().filter(|oid| wanted.matches(oid)) {
        let Some(user_type) = run.catalog.user_type(oid) else { continue };
        let UserTypeKind::Enum(labels) = &user_type.kind else { continue };
        for (place, label) in labels.iter().enumerate() {
            rows.push(row![Oid(label.key as u32), oid, Value::Float4(place as f32 + 1.0), label.label.as_str(),]);
        }
    }
    Ok(rows)
}

/// The one extension there is.
pub const PLPGSQL_EXTENSION: Oid = Oid(13559);

/// `pg_extension`
pub fn pg_extension(_: &mut Run<'_, '_>, _: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    Ok(vec![row![PLPGSQL_EXTENSION, "plpgsql", BOOTSTRAP_ROLE, PG_CATALOG_SCHEMA, false, "1.0", NULL, NULL]])
}

/// `pg_opclass`
pub fn pg_opclass(_: &mut Run<'_, '_>, _: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let row = |class: &OperatorClass| {
        row![
            Oid(class.oid),
            BTREE_METHOD,
            class.name,
            PG_CATALOG_SCHEMA,
            BOOTSTRAP_ROLE,
            Oid(class.family),
            class.type_oid,
            class.is_default,
            Oid::INVALID,
        ]
    };
    Ok(OPERATOR_CLASSES.iter().map(row).collect())
}

/// `pg_opfamily`
pub fn pg_opfamily(_: &mut Run<'_, '_>, _: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let row = |(oid, name): &(u32, &str)| row![Oid(*oid), BTREE_METHOD, *name, PG_CATALOG_SCHEMA, BOOTSTRAP_ROLE];
    Ok(OPERATOR_FAMILIES.iter().map(row).collect())
}

/// `pg_rewrite`: the rule behind each view.
pub fn pg_rewrite(run: &mut Run<'_, '_>, equal: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let wanted = wanted_oid(equal, 2);
    let views: Vec<Arc<_>> = relations::tables(run.catalog.catalog());
    let rows = views.iter().filter(|table| table.view_query.is_some() && wanted.matches(&table.oid)).map(|view| {
        row![rule_oid(view.oid), "_RETURN", view.oid, letter('1'), letter('O'), true, "<>", view.view_query.as_deref(),]
    });
    Ok(rows.collect())
}

/// The number of the first cast; PostgreSQL's have numbers of this range, which are not the same in all of its versions.
const FIRST_CAST: u32 = 10000;

/// `pg_cast`
pub fn pg_cast(_: &mut Run<'_, '_>, _: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let mut rows = Vec::new();
    for (cast, number) in types::cast::casts().zip(FIRST_CAST..) {
        if builtin_type(cast.source).is_none() || builtin_type(cast.target).is_none() {
            continue;
        }
        let (function, method) = match cast.method {
            CastMethod::Function(function) => (function, 'f'),
            CastMethod::Binary => (Oid::INVALID, 'b'),
            CastMethod::InOut => (Oid::INVALID, 'i'),
        };
        let context = match cast.context {
            CastContext::Implicit => 'i',
            CastContext::Assignment => 'a',
            CastContext::Explicit => 'e',
        };
        rows.push(row![Oid(number), cast.source, cast.target, function, letter(context), letter(method)]);
    }
    Ok(rows)
}
