//! Index entries that lead to nothing any more, taken out between two vacuums.
//!
//! A vacuum may come between the look at a line pointer and the removal of its entry: it takes the entry out, frees the line
//! pointer, and a new row of the same key comes to lie there, with an entry that looks the same. So the line
//! pointer is looked at again under the latch of the entry's page. If it is dead then, nobody can have used it again: a
//! vacuum frees it after its entries are gone, and this one is still there.

use std::ops::ControlFlow;

use base::{Result, Tid};
use smallvec::SmallVec;

use crate::table::Table;

/// How many entries of a key are looked at before one more is made.
const ENTRIES_LOOKED_AT: usize = 64;

/// Before another entry is made for a key: takes out those that lead to nothing any more. Else a row that is updated
/// many times between two vacuums, and now and then leaves its page, would gather entries that every look-up follows.
pub(super) fn clear_dead_entries(table: &Table, position: usize, key: &[u8]) -> Result<()> {
    for root in dead_roots(table, position, key)? {
        take_out(table, position, key, root)?;
    }
    Ok(())
}

/// Where entries of the key lead to nothing, or did a moment ago.
fn dead_roots(table: &Table, position: usize, key: &[u8]) -> Result<SmallVec<[Tid; 16]>> {
    let mut roots: SmallVec<[Tid; 16]> = SmallVec::new();
    table.indexes[position].btree.lookup(key, &mut |root| {
        roots.push(root);
        if roots.len() < ENTRIES_LOOKED_AT { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    let mut dead = SmallVec::new();
    // One is the version that was just updated.
    if roots.len() > 1 {
        for root in roots {
            if table.heap.is_dead_root(root)? {
                dead.push(root);
            }
        }
    }
    Ok(dead)
}

/// Takes an entry out if it leads to nothing still.
fn take_out(table: &Table, position: usize, key: &[u8], root: Tid) -> Result<()> {
    table.indexes[position].btree.delete_entry(key, root, &|root| table.heap.is_dead_now(root))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use vfs::{SimulatedVfs, Vfs};

    use super::*;
    use crate::{Database, OpenOptions, Session, TransactionOptions, VacuumOptions};
    use schema::catalog::{BOOTSTRAP_ROLE, IndexDef, PUBLIC_SCHEMA, TableDef};
    use schema::key::{KeyBuffer, PlainKeys};
    use schema::row::{Datum, PhysicalType, RowBytes};

    fn run<R>(session: &mut Session, f: impl FnOnce(&Session) -> Result<R>) -> R {
        session.begin(TransactionOptions::default()).unwrap();
        session.begin_statement().unwrap();
        let result = f(session).unwrap();
        session.end_statement();
        session.commit_and_wait().unwrap();
        result
    }

    // invariants: row 16
    #[test]
    fn an_entry_whose_place_was_freed_and_used_again_since_it_was_looked_at_stays() {
        let vfs: Arc<dyn Vfs> = Arc::new(SimulatedVfs::new(1));
        let options = OpenOptions { vfs, background: false, segment_size_bytes: 64 << 10, ..OpenOptions::new("/data") };
        let database = Database::open(options).unwrap();
        let mut session = database.session().unwrap();
        let oid = run(&mut session, |session| {
            let def = TableDef::new(session.allocate_oid(), PUBLIC_SCHEMA, "t", BOOTSTRAP_ROLE)
                .column("id", PhysicalType::I32);
            let index = IndexDef::new(session.allocate_oid(), &def, "t_pkey", &[0], true);
            let oid = def.oid;
            session.create_object(def)?;
            session.create_object(index)?;
            Ok(oid)
        });
        let table = session.open_table(oid).unwrap();
        let insert =
            |session: &mut Session| run(session, |session| session.insert(&table, &[Datum::I32(1)], &PlainKeys));
        let delete = |session: &mut Session, tid| run(session, |session| session.delete(&table, tid).map(drop));
        let mut key = KeyBuffer::new();
        key.push_i32(1);

        let first = insert(&mut session);
        delete(&mut session, first);
        let second = insert(&mut session);
        assert_ne!(first, second);
        database.tidy();
        let dead = dead_roots(&table, 0, key.as_slice()).unwrap();
        assert_eq!(dead[..], [first]);
        // Here somebody else comes in between.
        session.vacuum(&table, VacuumOptions::default()).unwrap();
        delete(&mut session, second);
        assert_eq!(insert(&mut session), first, "the place is used again");
        take_out(&table, 0, key.as_slice(), first).unwrap();

        let mut row = RowBytes::new();
        let found = run(&mut session, |session| session.index_point(&table, 0, key.as_slice(), &mut row));
        assert_eq!(found, Some(first), "the new row's entry is there");

        // An entry that still leads to nothing goes.
        delete(&mut session, first);
        let third = insert(&mut session);
        database.tidy();
        let dead = dead_roots(&table, 0, key.as_slice()).unwrap();
        assert!(dead.contains(&first), "{dead:?}");
        dead.iter().for_each(|root| take_out(&table, 0, key.as_slice(), *root).unwrap());
        let mut left = Vec::new();
        table.indexes[0]
            .btree
            .lookup(key.as_slice(), &mut |root| {
                left.push(root);
                ControlFlow::Continue(())
            })
            .unwrap();
        assert_eq!(left, [third]);
    }
}
