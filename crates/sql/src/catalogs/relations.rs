//! Tables, indexes, sequences and views: `pg_class` and what describes its rows further.

use std::sync::Arc;

use base::{Oid, Result};
use plan::VirtualTable;
use plan::privileges::ColumnAcls;
use schema::catalog::{
    BOOTSTRAP_ROLE, Catalog, ColumnProperties, ConstraintDef, ConstraintKind, CustomDef, ForeignKeyAction,
    ForeignKeyMatch, IndexDef, Object, Persistence, RelationKind, ReplicaIdentity, SequenceDef, TableDef, TriggerDef,
    class,
};
use syntax::parser::{if_readable, parse_expression};
use types::{SqlType, TypeDef, Value, builtin_type, oids};

use super::Equal;
use super::objects::acl_items;
use super::rows::{
    BTREE_METHOD, HEAP_METHOD, NULL, Wanted, column_numbers, int2_vector, letter, oid_vector, row, text_array,
    wanted_name, wanted_oid, xid,
};
use crate::operator_classes::operator_class;
use crate::state::planning::Environment;
use crate::state::session_of;
use crate::system_tables::{SEQUENCE_COLUMNS, SYSTEM_COLUMNS, default_oid, is_not_null, is_shared, is_view};
use executor::Run;
use planner::binder::{DefinitionUse, definition_expression};

/// A row of `pg_class`.
enum Relation {
    Table(Arc<TableDef>),
    Index(Arc<IndexDef>),
    Sequence(Arc<SequenceDef>),
    /// A composite type's columns are those of a relation of the type's own name and number.
    Composite(Arc<CustomDef>, Vec<(String, SqlType)>),
    System(Arc<VirtualTable>),
}

impl Relation {
    fn oid(&self) -> Oid {
        match self {
            Relation::Table(def) => def.oid,
            Relation::Index(def) => def.oid,
            Relation::Sequence(def) => def.oid,
            Relation::Composite(def, _) => def.oid,
            Relation::System(table) => table.oid,
        }
    }

    fn name(&self) -> &str {
        match self {
            Relation::Table(def) => &def.name,
            Relation::Index(def) => &def.name,
            Relation::Sequence(def) => &def.name,
            Relation::Composite(def, _) => &def.name,
            Relation::System(table) => &table.name,
        }
    }
}

/// All relations, or the one that is wanted, by oid.
fn relations(catalog: &Catalog, oid: &Wanted<'_, Oid>) -> Vec<Relation> {
    match oid {
        Wanted::Nothing(_) => Vec::new(),
        Wanted::Only(oid) => {
            let system = super::system_table(*oid).map(Relation::System);
            let table = || catalog.table(*oid).cloned().map(Relation::Table);
            let index = || catalog.index(*oid).cloned().map(Relation::Index);
            let sequence = || catalog.sequence(*oid).cloned().map(Relation::Sequence);
            let composite = || match catalog.object(*oid)? {
                Object::Custom(def) => composite(def),
                _ => None,
            };
            system.or_else(table).or_else(index).or_else(sequence).or_else(composite).into_iter().collect()
        }
        Wanted::All => {
            let mut all: Vec<Relation> = super::system().tables().into_iter().map(Relation::System).collect();
            all.extend(catalog.tables().cloned().map(Relation::Table));
            all.extend(catalog.indexes().cloned().map(Relation::Index));
            all.extend(catalog.sequences().cloned().map(Relation::Sequence));
            all.extend(catalog.customs(class::TYPE).filter_map(composite));
            all.sort_by_key(Relation::oid);
            all
        }
    }
}

/// The relation of a type, if the type is composite.
fn composite(def: &Arc<CustomDef>) -> Option<Relation> {
    plan::user_types::composite_fields(def).map(|fields| Relation::Composite(Arc::clone(def), fields))
}

/// All user tables, views and materialized views, by oid.
pub fn tables(catalog: &Catalog) -> Vec<Arc<TableDef>> {
    let mut all: Vec<Arc<TableDef>> = catalog.tables().cloned().collect();
    all.sort_by_key(|table| table.oid);
    all
}

/// The letter of `relkind`.
pub fn kind_letter(kind: RelationKind) -> char {
    match kind {
        RelationKind::Table => 'r',
        RelationKind::View => 'v',
        RelationKind::MaterializedView => 'm',
    }
}

/// How lasting what has no persistence of its own is in a schema.
fn persistence_in(catalog: &Catalog, schema: Oid) -> Persistence {
    if catalog.is_temporary(schema) { Persistence::Temporary } else { Persistence::Permanent }
}

fn persistence_letter(persistence: Persistence) -> char {
    match persistence {
        Persistence::Permanent => 'p',
        Persistence::Unlogged => 'u',
        Persistence::Temporary => 't',
    }
}

/// The columns whose values differ between rows of `pg_class`.
struct ClassRow<'r> {
    oid: Oid,
    name: &'r str,
    schema: Oid,
    row_type: Oid,
    owner: Oid,
    method: Oid,
    file: Oid,
    pages: i32,
    rows: f32,
    has_index: bool,
    is_shared: bool,
    persistence: Persistence,
    kind: char,
    columns: usize,
    checks: usize,
    has_rules: bool,
    has_triggers: bool,
    acl: Value,
    options: Value,
    is_populated: bool,
    identity: ReplicaIdentity,
}

impl<'r> ClassRow<'r> {
    fn new(oid: Oid, name: &'r str, schema: Oid, kind: char) -> ClassRow<'r> {
        ClassRow {
            oid,
            name,
            schema,
            row_type: Oid::INVALID,
            owner: BOOTSTRAP_ROLE,
            method: Oid::INVALID,
            file: Oid::INVALID,
            pages: 0,
            rows: -1.0,
            has_index: false,
            is_shared: false,
            persistence: Persistence::Permanent,
            kind,
            columns: 0,
            checks: 0,
            has_rules: false,
            has_triggers: false,
            acl: NULL,
            options: NULL,
            is_populated: true,
            identity: ReplicaIdentity::Default,
        }
    }

    fn values(self) -> Vec<Value> {
        let has_rows = matches!(self.kind, 'r' | 'm');
        row![
            self.oid,
            self.name,
            self.schema,
            self.row_type,
            Oid::INVALID,
            self.owner,
            self.method,
            self.file,
            Oid::INVALID,
            self.pages,
            Value::Float4(self.rows),
            0i32,
            Oid::INVALID,
            self.has_index,
            self.is_shared,
            letter(persistence_letter(self.persistence)),
            letter(self.kind),
            self.columns as i16,
            self.checks as i16,
            self.has_rules,
            self.has_triggers,
            false,
            false,
            false,
            self.is_populated,
            letter(match self.identity {
                _ if !has_rows => 'n',
                ReplicaIdentity::Default => 'd',
                ReplicaIdentity::Nothing => 'n',
                ReplicaIdentity::Full => 'f',
                ReplicaIdentity::Index(_) => 'i',
            }),
            false,
            Oid::INVALID,
            xid(if has_rows { 2 } else { 0 }),
            xid(u64::from(has_rows)),
            self.acl,
            self.options,
            NULL,
        ]
    }
}

/// The storage parameters of a table.
fn table_options(table: &TableDef) -> Value {
    let mut options = Vec::new();
    // Older code kept it apart from the others.
    if table.fillfactor != 100 && !table.options.iter().any(|option| option.starts_with("fillfactor=")) {
        options.push(format!("fillfactor={}", table.fillfactor));
    }
    options.extend(table.options.iter().cloned());
    text_array(options)
}

pub fn is_foreign_key(constraint: &ConstraintDef) -> bool {
    matches!(constraint.kind, ConstraintKind::ForeignKey { .. })
}

/// `pg_class`
pub fn pg_class(run: &mut Run<'_, '_>, equal: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let catalog = run.catalog.catalog();
    let name = wanted_name(equal, 1);
    let mut rows = Vec::new();
    for relation in relations(catalog, &wanted_oid(equal, 0)) {
        if !name.matches(&relation.name()) {
            continue;
        }
        let row = match &relation {
            Relation::System(table) => ClassRow {
                method: if is_view(table) { Oid::INVALID } else { HEAP_METHOD },
                rows: if is_view(table) { -1.0 } else { table.estimated_rows as f32 },
                columns: table.columns.len(),
                has_rules: is_view(table),
                is_shared: is_shared(table),
                ..ClassRow::new(table.oid, &table.name, table.schema, if is_view(table) { 'v' } else { 'r' })
            },
            Relation::Table(table) => ClassRow {
                row_type: table.oid,
                owner: table.owner,
                method: if table.kind.has_storage() { HEAP_METHOD } else { Oid::INVALID },
                file: Oid(table.file.0 as u32),
                pages: table.estimated_pages as i32,
                rows: table.estimated_rows as f32,
                has_index: !catalog.indexes_of(table.oid).is_empty(),
                persistence: table.persistence,
                columns: table.columns.len(),
                checks: table.constraints.iter().filter(|c| matches!(c.kind, ConstraintKind::Check { .. })).count(),
                has_rules: table.kind == RelationKind::View,
                has_triggers: !table.triggers.is_empty()
                    || table.constraints.iter().any(is_foreign_key)
                    || catalog.tables_referencing(table.oid).next().is_some(),
                acl: super::objects::acl(catalog, table.oid),
                options: table_options(table),
                is_populated: !table.is_unpopulated,
                identity: table.replica_identity,
                ..ClassRow::new(table.oid, &table.name, table.schema, kind_letter(table.kind))
            },
            Relation::Index(index) => {
                let table = catalog.table(index.table);
                ClassRow {
                    owner: table.map_or(BOOTSTRAP_ROLE, |table| table.owner),
                    method: BTREE_METHOD,
                    file: Oid(index.file.0 as u32),
                    pages: index.estimated_pages as i32,
                    rows: index.estimated_rows as f32,
                    persistence: table.map_or(Persistence::Permanent, |table| table.persistence),
                    columns: index.keys.len() + index.included.len(),
                    options: text_array(&index.options),
                    ..ClassRow::new(index.oid, &index.name, index.schema, 'i')
                }
            }
            Relation::Sequence(sequence) => ClassRow {
                owner: sequence.owner,
                file: Oid(sequence.file.0 as u32),
                pages: 1,
                rows: 1.0,
                columns: 3,
                // It is as lasting as the table whose column it counts.
                persistence: sequence
                    .owned_by
                    .and_then(|(table, _)| catalog.table(table))
                    .map_or_else(|| persistence_in(catalog, sequence.schema), |table| table.persistence),
                acl: super::objects::acl(catalog, sequence.oid),
                ..ClassRow::new(sequence.oid, &sequence.name, sequence.schema, 'S')
            },
            Relation::Composite(def, fields) => ClassRow {
                row_type: def.oid,
                owner: def.owner,
                columns: fields.len(),
                persistence: persistence_in(catalog, def.schema),
                ..ClassRow::new(def.oid, &def.name, def.schema, 'c')
            },
        };
        rows.push(row.values());
    }
    Ok(rows)
}

/// The columns whose values differ between rows of `pg_attribute`.
struct AttributeRow<'r> {
    relation: Oid,
    name: &'r str,
    sql_type: SqlType,
    number: i16,
    not_null: bool,
    has_default: bool,
    has_missing: bool,
    identity: Option<char>,
    generated: bool,
    dropped: bool,
    /// Whether it is a column of a view or a materialized view.
    is_of_query: bool,
    /// Its properties beyond its type.
    properties: ColumnProperties,
    /// The privileges granted on the column.
    granted: Value,
}

impl<'r> AttributeRow<'r> {
    fn new(relation: Oid, name: &'r str, sql_type: SqlType, number: i16) -> AttributeRow<'r> {
        AttributeRow {
            relation,
            name,
            sql_type,
            number,
            not_null: false,
            has_default: false,
            has_missing: false,
            identity: None,
            generated: false,
            dropped: false,
            is_of_query: false,
            properties: ColumnProperties::default(),
            granted: NULL,
        }
    }

    fn values(self, run: &Run<'_, '_>) -> Vec<Value> {
        let shape = TypeShape::of(run, self.sql_type.oid);
        // PostgreSQL stores "nothing" as a zero byte, which reads as an empty text.
        let or_none = |value: Option<char>| Value::Char(value.map_or(0, |letter| letter as u8));
        // How many dimensions were declared: one, as more are not kept. The columns of a query, and those of a domain over arrays, declare none.
        let is_array = !self.is_of_query
            && types::element_type(&run.catalog, self.sql_type.oid).is_some()
            && types::base_type(&run.catalog, self.sql_type).oid == self.sql_type.oid
            && !matches!(self.sql_type.oid, oids::INT2VECTOR | oids::OIDVECTOR);
        row![
            self.relation,
            self.name,
            if self.dropped { Oid::INVALID } else { self.sql_type.oid },
            if self.number < 0 { 0 } else { self.properties.statistics.unwrap_or(-1) },
            shape.length,
            self.number,
            i32::from(is_array),
            -1i32,
            self.sql_type.typmod,
            shape.by_value,
            letter(shape.align),
            self.properties.storage.map_or(letter(shape.storage), Value::Char),
            Value::Char(self.properties.compression.unwrap_or(0)),
            self.not_null,
            self.has_default,
            self.has_missing,
            or_none(self.identity),
            or_none(self.generated.then_some('s')),
            self.dropped,
            true,
            0i32,
            self.properties.collation.unwrap_or(shape.collation),
            self.granted,
            NULL,
            NULL,
            NULL,
        ]
    }
}

/// The properties of a column's type that `pg_attribute` repeats.
struct TypeShape {
    length: i16,
    by_value: bool,
    align: char,
    storage: char,
    collation: Oid,
}

impl TypeShape {
    fn of(run: &Run<'_, '_>, oid: Oid) -> TypeShape {
        let base = types::base_type(&run.catalog, SqlType::new(oid)).oid;
        let is_enum =
            || matches!(types::type_shape(&run.catalog, base).map(|shape| shape.kind), Some(types::TypeKind::Enum));
        let collation = plan::user_types::collation_of(&run.catalog, oid);
        match builtin_type(base) {
            Some(def) => TypeShape { collation, ..TypeShape::of_builtin(def) },
            None if is_enum() => TypeShape { length: 4, by_value: true, align: 'i', storage: 'p', collation },
            None => {
                let element = plan::user_types::element_of_array(base).map(|element| TypeShape::of(run, element));
                let align = if element.is_some_and(|element| element.align != 'd') { 'i' } else { 'd' };
                TypeShape { length: -1, by_value: false, align, storage: 'x', collation }
            }
        }
    }

    fn of_builtin(def: &TypeDef) -> TypeShape {
        TypeShape {
            length: def.length,
            by_value: def.by_value,
            align: def.align.letter(),
            storage: def.storage_letter,
            collation: def.collation,
        }
    }
}

/// `pg_attribute`
pub fn pg_attribute(run: &mut Run<'_, '_>, equal: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let catalog = Arc::clone(run.catalog.catalog());
    let mut rows = Vec::new();
    for relation in relations(&catalog, &wanted_oid(equal, 0)) {
        let oid = relation.oid();
        let lists = ColumnAcls::stored(&catalog, oid);
        let granted = |number: i16| match lists.0.get(&i32::from(number)) {
            Some(acl) => acl_items(&catalog, acl),
            None => NULL,
        };
        match &relation {
            Relation::System(table) => {
                for (place, column) in table.columns.iter().enumerate() {
                    let attribute = AttributeRow::new(oid, &column.name, column.sql_type, place as i16 + 1);
                    let not_null = is_not_null(table, &column.name);
                    rows.push(AttributeRow { not_null, ..attribute }.values(run));
                }
            }
            Relation::Table(table) => {
                if table.kind.has_storage() {
                    for (name, type_oid, number) in SYSTEM_COLUMNS {
                        let attribute = AttributeRow {
                            not_null: true,
                            granted: granted(*number),
                            ..AttributeRow::new(oid, name, SqlType::new(*type_oid), *number)
                        };
                        rows.push(attribute.values(run));
                    }
                }
                for (place, column) in table.columns.iter().enumerate() {
                    let number = place as i16 + 1;
                    let dropped_name = format!("........pg.dropped.{number}........");
                    let sql_type = SqlType::with_typmod(column.type_oid, column.typmod);
                    let name = if column.dropped { &dropped_name } else { &column.name };
                    let attribute = AttributeRow {
                        not_null: column.not_null && !column.dropped,
                        has_default: (column.default.is_some() || column.generated.is_some()) && !column.dropped,
                        has_missing: column.missing_default.is_some() && !column.dropped,
                        identity: column.identity.map(|identity| if identity.always { 'a' } else { 'd' }),
                        generated: column.generated.is_some(),
                        dropped: column.dropped,
                        is_of_query: table.kind != RelationKind::Table,
                        properties: table.properties_of(place),
                        granted: granted(number),
                        ..AttributeRow::new(oid, name, sql_type, number)
                    };
                    rows.push(attribute.values(run));
                }
            }
            Relation::Index(index) => {
                let Some(table) = catalog.table(index.table) else { continue };
                let columns = index_columns(run, table, index)?;
                for (place, (name, sql_type)) in columns.iter().enumerate() {
                    let properties = index_column_properties(run, table, index, place)?;
                    let attribute = AttributeRow::new(oid, name, *sql_type, place as i16 + 1);
                    rows.push(AttributeRow { properties, ..attribute }.values(run));
                }
            }
            Relation::Composite(def, fields) => {
                let collations = plan::user_types::field_collations(def);
                for (place, (name, sql_type)) in fields.iter().enumerate() {
                    let collation = collations.get(place).copied().flatten();
                    let properties = ColumnProperties { place, collation, ..ColumnProperties::default() };
                    let attribute = AttributeRow::new(oid, name, *sql_type, place as i16 + 1);
                    rows.push(AttributeRow { properties, ..attribute }.values(run));
                }
            }
            Relation::Sequence(_) => {
                for (place, (name, type_oid)) in SEQUENCE_COLUMNS.iter().enumerate() {
                    let number = place as i16 + 1;
                    let attribute = AttributeRow {
                        not_null: true,
                        granted: granted(number),
                        ..AttributeRow::new(oid, name, SqlType::new(*type_oid), number)
                    };
                    rows.push(attribute.values(run));
                }
            }
        }
    }
    Ok(rows)
}

/// The names and types of an index's own columns.
fn index_columns(run: &Run<'_, '_>, table: &Arc<TableDef>, index: &IndexDef) -> Result<Vec<(String, SqlType)>> {
    let names = planner::names::stored_index_columns(table, &index.keys)?;
    let column_type = |place: usize| SqlType::with_typmod(table.columns[place].type_oid, table.columns[place].typmod);
    let mut columns = Vec::with_capacity(names.len() + index.included.len());
    for (key, name) in index.keys.iter().zip(names) {
        let key_type = match (key.column, &key.expression) {
            (Some(place), _) => column_type(place),
            (None, Some(text)) => expression_type(run, table, text)?,
            (None, None) => SqlType::TEXT,
        };
        columns.push((name, key_type));
    }
    columns.extend(index.included.iter().map(|place| (table.columns[*place].name.clone(), column_type(*place))));
    Ok(columns)
}

/// The properties of an index's column, and of the table's column that it is.
fn index_column_properties(
    run: &Run<'_, '_>,
    table: &Arc<TableDef>,
    index: &IndexDef,
    place: usize,
) -> Result<ColumnProperties> {
    let Some(key) = index.keys.get(place) else { return Ok(ColumnProperties::default()) };
    let said = index.properties_of(place);
    let of_column = key.column.map(|place| table.properties_of(place)).unwrap_or_default();
    Ok(ColumnProperties {
        place,
        collation: Some(key_collation(run, table, index, place)?),
        statistics: said.statistics,
        storage: of_column.storage,
        compression: of_column.compression,
    })
}

/// The collation of an index's key; invalid where its type has none.
fn key_collation(run: &Run<'_, '_>, table: &Arc<TableDef>, index: &IndexDef, place: usize) -> Result<Oid> {
    let of_column = |place: usize| {
        let own = || plan::user_types::collation_of(&run.catalog, table.columns[place].type_oid);
        table.properties_of(place).collation.unwrap_or_else(own)
    };
    let key = &index.keys[place];
    let sql_type = match (key.column, &key.expression) {
        (Some(column), _) => return Ok(index.properties_of(place).collation.unwrap_or_else(|| of_column(column))),
        (None, Some(text)) => expression_type(run, table, text)?,
        (None, None) => SqlType::TEXT,
    };
    if let Some(said) = index.properties_of(place).collation {
        return Ok(said);
    }
    let own = plan::user_types::collation_of(&run.catalog, sql_type.oid);
    if own == Oid::INVALID {
        return Ok(own);
    }
    // An expression has the collation that the columns in it agree on.
    let read = match &key.expression {
        Some(text) => read_columns(run, table, text, DefinitionUse::IndexKey)?,
        None => Vec::new(),
    };
    let mut found: Vec<Oid> = read.into_iter().map(of_column).filter(|oid| *oid != Oid::INVALID).collect();
    found.sort_unstable();
    found.dedup();
    Ok(if let [only] = found.as_slice() { *only } else { own })
}

/// The type of an index's expression; `text` if it can't be told any more.
fn expression_type(run: &Run<'_, '_>, table: &Arc<TableDef>, text: &str) -> Result<SqlType> {
    let Some(expr) = if_readable(parse_expression(text))? else { return Ok(SqlType::TEXT) };
    let bound = Environment::new(session_of(run), run.catalog.for_stored_text())
        .with_context(text, |context| definition_expression(context, Some(table), &expr, DefinitionUse::IndexKey));
    Ok(if_readable(bound)?.map_or(SqlType::TEXT, |bound| bound.sql_type))
}

/// `pg_attrdef`
pub fn pg_attrdef(run: &mut Run<'_, '_>, equal: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let wanted = wanted_oid(equal, 1);
    let mut rows = Vec::new();
    for table in tables(run.catalog.catalog()).iter().filter(|table| wanted.matches(&table.oid)) {
        for (place, column) in table.columns.iter().enumerate().filter(|(_, column)| !column.dropped) {
            if let Some(text) = column.generated.as_ref().or(column.default.as_ref()) {
                rows.push(row![default_oid(table.oid, place + 1), table.oid, place as i16 + 1, text.as_str()]);
            }
        }
    }
    Ok(rows)
}

/// `pg_index`
pub fn pg_index(run: &mut Run<'_, '_>, equal: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let catalog = Arc::clone(run.catalog.catalog());
    let mut indexes: Vec<Arc<IndexDef>> = match (wanted_oid(equal, 0), wanted_oid(equal, 1)) {
        (Wanted::Only(oid), _) => catalog.index(oid).cloned().into_iter().collect(),
        (_, Wanted::Only(table)) => catalog.indexes_of(table).to_vec(),
        (Wanted::Nothing(_), _) | (_, Wanted::Nothing(_)) => Vec::new(),
        _ => catalog.indexes().cloned().collect(),
    };
    indexes.sort_by_key(|index| index.oid);
    let mut rows = Vec::new();
    for index in indexes {
        let Some(table) = catalog.table(index.table) else { continue };
        let constraint = table.constraints.iter().find(|constraint| {
            matches!(constraint.kind, ConstraintKind::PrimaryKey { index: oid } | ConstraintKind::Unique { index: oid } if oid == index.oid)
        });
        let types: Vec<SqlType> =
            index_columns(run, table, &index)?.into_iter().map(|(_, sql_type)| sql_type).collect();
        let keys = &types[..index.keys.len()];
        let collations: Vec<Oid> =
            (0..keys.len()).map(|place| key_collation(run, table, &index, place)).collect::<Result<_>>()?;
        let numbers = index.keys.iter().map(|key| key.column.map_or(0, |place| place as i16 + 1));
        let included = index.included.iter().map(|place| *place as i16 + 1);
        let expressions: Vec<&str> = index.keys.iter().filter_map(|key| key.expression.as_deref()).collect();
        rows.push(row![
            index.oid,
            index.table,
            types.len() as i16,
            keys.len() as i16,
            index.unique,
            index.nulls_not_distinct,
            index.primary,
            false,
            constraint.is_none_or(|constraint| !constraint.deferrable),
            table.clustered_on == Some(index.oid),
            true,
            false,
            true,
            true,
            table.replica_identity == ReplicaIdentity::Index(index.oid),
            int2_vector(numbers.chain(included)),
            oid_vector(collations),
            oid_vector(keys.iter().enumerate().map(|(place, key)| {
                let said = index.properties_of(place).operator_class;
                said.unwrap_or_else(|| operator_class(&run.catalog, key.oid))
            })),
            int2_vector(index.keys.iter().map(|key| i16::from(key.descending) | i16::from(key.nulls_first) << 1)),
            (!expressions.is_empty()).then(|| expressions.join(", ")),
            index.predicate.as_deref(),
        ]);
    }
    Ok(rows)
}

fn action_letter(action: ForeignKeyAction) -> char {
    match action {
        ForeignKeyAction::NoAction => 'a',
        ForeignKeyAction::Restrict => 'r',
        ForeignKeyAction::Cascade => 'c',
        ForeignKeyAction::SetNull => 'n',
        ForeignKeyAction::SetDefault => 'd',
    }
}

/// Every constraint with its table, by oid.
pub fn constraints(catalog: &Catalog) -> Vec<(Arc<TableDef>, ConstraintDef)> {
    let mut all: Vec<_> = catalog
        .tables()
        .flat_map(|table| table.constraints.iter().map(|constraint| (Arc::clone(table), constraint.clone())))
        .collect();
    all.sort_by_key(|(_, constraint)| constraint.oid);
    all
}

/// The places of the columns that an index is on.
pub fn index_places(catalog: &Catalog, index: Oid) -> Vec<usize> {
    catalog.index(index).map(|index| index.keys.iter().filter_map(|key| key.column).collect()).unwrap_or_default()
}

/// The row of `pg_constraint` of a constraint trigger, which has the trigger's number.
fn of_trigger(table: &TableDef, def: &TriggerDef) -> Vec<Value> {
    let (none, blank) = (Oid::INVALID, || letter(' '));
    let mut row = row![
        def.oid,
        table.constraint_name_of(def),
        table.schema,
        letter('t'),
        def.deferrable,
        def.initially_deferred,
        true,
        table.oid,
        none,
        none,
        none,
        none,
        blank(),
        blank(),
        blank(),
        true,
        0i32,
        true
    ];
    row.resize(CONSTRAINT_COLUMNS, NULL);
    row
}

/// How many columns `pg_constraint` has.
const CONSTRAINT_COLUMNS: usize = 26;

/// `pg_constraint`
pub fn pg_constraint(run: &mut Run<'_, '_>, equal: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let catalog = Arc::clone(run.catalog.catalog());
    let (wanted, relation) = (wanted_oid(equal, 0), wanted_oid(equal, 7));
    let mut rows = Vec::new();
    for (table, constraint) in constraints(&catalog) {
        if !wanted.matches(&constraint.oid) || !relation.matches(&table.oid) {
            continue;
        }
        let blank = || letter(' ');
        let mut foreign = [Value::oid(Oid::INVALID), blank(), blank(), blank()];
        let (mut index, mut referenced, mut operators) = (Oid::INVALID, NULL, NULL);
        let mut condition = NULL;
        let mut no_inherit = true;
        let (kind, columns) = match &constraint.kind {
            ConstraintKind::PrimaryKey { index: oid } => {
                index = *oid;
                ('p', column_numbers(&index_places(&catalog, *oid)))
            }
            ConstraintKind::Unique { index: oid } => {
                index = *oid;
                ('u', column_numbers(&index_places(&catalog, *oid)))
            }
            ConstraintKind::Check { expression, no_inherit: not_inherited } => {
                condition = Value::text(expression);
                no_inherit = *not_inherited;
                ('c', column_numbers(&check_columns(run, &table, expression)?))
            }
            ConstraintKind::ForeignKey {
                columns,
                referenced_table,
                referenced_columns,
                referenced_index,
                on_update,
                on_delete,
                matching,
            } => {
                index = *referenced_index;
                referenced = column_numbers(referenced_columns);
                operators = Value::array(
                    oids::OID,
                    columns.iter().map(|place| equality_operator(run, table.columns[*place].type_oid)).collect(),
                );
                foreign = [
                    Value::oid(*referenced_table),
                    letter(action_letter(*on_update)),
                    letter(action_letter(*on_delete)),
                    letter(if *matching == ForeignKeyMatch::Full { 'f' } else { 's' }),
                ];
                ('f', column_numbers(columns))
            }
        };
        let [referenced_table, on_update, on_delete, matching] = foreign;
        rows.push(row![
            constraint.oid,
            constraint.name.as_str(),
            table.schema,
            letter(kind),
            constraint.deferrable,
            constraint.initially_deferred,
            constraint.validated,
            table.oid,
            Oid::INVALID,
            index,
            Oid::INVALID,
            referenced_table,
            on_update,
            on_delete,
            matching,
            true,
            0i32,
            no_inherit,
            columns,
            referenced,
            operators.clone(),
            operators.clone(),
            operators,
            table.delete_set_columns_of(constraint.oid).map_or(NULL, column_numbers),
            NULL,
            condition,
        ]);
    }
    for table in tables(&catalog).into_iter().filter(|table| relation.matches(&table.oid)) {
        let made = table.triggers.iter().filter(|def| def.is_constraint && wanted.matches(&def.oid));
        rows.extend(made.map(|def| of_trigger(&table, def)));
    }
    if matches!(relation, Wanted::All) {
        rows.extend(
            super::domains::constraints(&catalog)
                .into_iter()
                .filter(|row| row[0].as_i64().is_none_or(|oid| wanted.matches(&Oid(oid as u32)))),
        );
    }
    Ok(rows)
}

fn equality_operator(run: &Run<'_, '_>, type_oid: Oid) -> Value {
    let base = types::base_type(&run.catalog, SqlType::new(type_oid)).oid;
    let operator = types::ordering_operator(base, types::OperatorRole::Equal);
    Value::oid(operator.map_or(Oid::INVALID, |operator| operator.oid))
}

/// The places of the columns a check reads.
fn check_columns(run: &Run<'_, '_>, table: &Arc<TableDef>, text: &str) -> Result<Vec<usize>> {
    read_columns(run, table, text, DefinitionUse::Check)
}

/// The places of the columns that a stored expression reads; none if it can't be read any more.
fn read_columns(
    run: &Run<'_, '_>,
    table: &Arc<TableDef>,
    text: &str,
    used_for: DefinitionUse<'_>,
) -> Result<Vec<usize>> {
    let Some(expr) = if_readable(parse_expression(text))? else { return Ok(Vec::new()) };
    let bound = Environment::new(session_of(run), run.catalog.for_stored_text())
        .with_context(text, |context| definition_expression(context, Some(table), &expr, used_for));
    Ok(if_readable(bound)?.map(|bound| planner::binder::named_columns(&bound, table)).unwrap_or_default())
}

/// The name of a role.
pub fn role_name(catalog: &Catalog, oid: Oid) -> String {
    catalog.role(oid).map_or_else(|| format!("unknown (OID={oid})"), |role| role.name.clone())
}
