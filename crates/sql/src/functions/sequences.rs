//! Sequences.

use std::sync::Arc;

use base::lock_mode::{LockMode, WaitPolicy};
use base::{Error, Oid, Result, missing, sqlstate};
use plan::privileges::Privileges;
use types::{RecordShape, RecordValue, SqlType, Value, function};

use super::{Bodies, Found, boolean, integer, oid, relation, relation_name, relation_named, text};
use executor::Run;

pub(super) const FUNCTIONS: Bodies = &[
    (1574, |run, args| {
        let sequence = allowed_sequence(run, oid(args, 0)?, Privileges::USAGE | Privileges::UPDATE)?;
        Ok(Value::Int8(run.engine().nextval(sequence)?))
    }),
    // Of an identity column: nobody needs a privilege on its sequence.
    (9303, |run, args| {
        let sequence = sequence(run, oid(args, 0)?)?;
        Ok(Value::Int8(run.engine().nextval(sequence)?))
    }),
    (1575, |run, args| {
        let sequence = allowed_sequence(run, oid(args, 0)?, Privileges::USAGE | Privileges::SELECT)?;
        Ok(Value::Int8(run.engine().currval(sequence)?))
    }),
    (1576, |run, args| setval(run, args, true)),
    (1765, |run, args| setval(run, args, boolean(args, 2)?)),
    (2559, |run, _| {
        if let Some(sequence) = run.engine().last_sequence() {
            lock_and_require(run, sequence, Privileges::USAGE | Privileges::SELECT)?;
        }
        Ok(Value::Int8(run.engine().lastval()?))
    }),
    (1665, serial_sequence),
    (4032, last_value),
    (3078, parameters),
];

/// Sees to it that the relation is a sequence: 42809 if it is not, 42P01 if it is gone.
fn sequence(run: &Run<'_, '_>, oid: Oid) -> Result<Oid> {
    match relation(run, oid) {
        Some(Found::Sequence(sequence)) => {
            run.state.refuse_foreign_temporary(sequence.schema, "access")?;
            Ok(oid)
        }
        Some(_) => {
            let message = format!("\"{}\" is not a sequence", relation_name(run, oid));
            Err(Error::new(sqlstate::WRONG_OBJECT_TYPE, message))
        }
        // Made by this very statement's transaction, perhaps: the engine knows best.
        None => Ok(oid),
    }
}

/// The sequence, locked until the transaction ends: 42501 if the role has none of the privileges then.
fn allowed_sequence(run: &Run<'_, '_>, oid: Oid, any_of: Privileges) -> Result<Oid> {
    let sequence = sequence(run, oid)?;
    lock_and_require(run, sequence, any_of)?;
    Ok(sequence)
}

/// Asks for the privileges after the lock is granted. The transaction that held it may have taken them away.
fn lock_and_require(run: &Run<'_, '_>, sequence: Oid, any_of: Privileges) -> Result<()> {
    run.engine().lock_relation(sequence, LockMode::RowExclusive, WaitPolicy::Block)?;
    run.state.require(sequence, any_of)
}

fn setval(run: &mut Run<'_, '_>, args: &[Value], is_called: bool) -> Result<Value> {
    let sequence = allowed_sequence(run, oid(args, 0)?, Privileges::UPDATE)?;
    let value = integer(args, 1)?;
    run.engine().setval(sequence, value, is_called)?;
    Ok(Value::Int8(value))
}

/// The sequence that a column owns.
fn serial_sequence(run: &mut Run<'_, '_>, args: &[Value]) -> Result<Value> {
    let (table_name, column_name) = (text(args, 0)?, text(args, 1)?);
    let table = relation_named(run, table_name)?;
    let catalog = Arc::clone(run.catalog.catalog());
    let place = catalog.table(table).and_then(|table| table.column_by_name(column_name));
    let Some(place) = place else {
        let relation = catalog.table(table).map_or(table_name, |table| &table.name);
        return Err(missing::column_of_relation(column_name, relation));
    };
    let owned = catalog.sequences().find(|sequence| sequence.owned_by == Some((table, place)));
    Ok(owned
        .map(|sequence| {
            let schema = types::reg_types::quote_identifier(&run.catalog.schema_name(sequence.schema));
            format!("{schema}.{}", types::reg_types::quote_identifier(&sequence.name))
        })
        .into())
}

fn last_value(run: &mut Run<'_, '_>, args: &[Value]) -> Result<Value> {
    let sequence = allowed_sequence(run, oid(args, 0)?, Privileges::USAGE | Privileges::SELECT)?;
    let (last, is_called) = run.engine().sequence_state(sequence, LockMode::RowExclusive)?;
    Ok(is_called.then_some(last).into())
}

fn parameters(run: &mut Run<'_, '_>, args: &[Value]) -> Result<Value> {
    let oid = sequence(run, oid(args, 0)?)?;
    let Some(Found::Sequence(sequence)) = relation(run, oid) else {
        let message = format!("could not open relation with OID {oid}");
        return Err(Error::new(sqlstate::UNDEFINED_TABLE, message));
    };
    run.state.require(oid, Privileges::USAGE | Privileges::SELECT | Privileges::UPDATE)?;
    let columns = function(Oid(3078)).map_or(&[][..], |def| def.columns);
    let fields = columns.iter().map(|(name, oid)| ((*name).to_owned(), SqlType::new(*oid))).collect();
    Ok(Value::Record(Arc::new(RecordValue {
        shape: Arc::new(RecordShape::without_type(fields)),
        fields: vec![
            Value::Int8(sequence.start),
            Value::Int8(sequence.minimum),
            Value::Int8(sequence.maximum),
            Value::Int8(sequence.increment),
            Value::Bool(sequence.cycle),
            Value::Int8(sequence.cache),
            Value::oid(sequence.type_oid),
        ],
    })))
}
