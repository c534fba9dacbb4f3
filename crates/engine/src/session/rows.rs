//! Rows: insert, update, delete, lock, look up, scan.

use std::ops::ControlFlow;
use std::sync::Arc;

use base::{CommandId, Error, Liveness, Lsn, Oid, Result, Tid, Xid, sqlstate};
use btree::{BTree, Direction, InsertOutcome, KeyRange};
use clog::{Snapshot, TxnCtx};
use heap::{PAYLOAD_MAX_BYTES, PageTuples, UpdateOptions};
use lockmgr::{LockMode, RowLockMode, RowTurn, WaitPolicy};
use smallvec::SmallVec;
use xact::Isolation;

use super::dead_entries::clear_dead_entries;
use super::{Scratch, Session, TurnAtRow};
use crate::key::IndexKeySource;
use crate::large::{self, Moved, ROW_TARGET_BYTES};
use crate::modify::{ConflictOutcome, Modify};
use crate::scan::{IndexScan, TableScan};
use crate::table::Table;
use schema::key::KeyBuffer;
use schema::row::{ColumnSet, Datum, RowBytes, encode_row, has_detached};

impl Session {
    /// Inserts a row and its index entries. Waits where another transaction in progress has a row of the same key.
    ///
    /// # Errors
    /// 23505 for a duplicate; 25006 in a read-only transaction; 54000 for a row or key that is too large; 40P01, 55P03,
    /// 57014 from waiting.
    #[inline]
    pub fn insert(&self, table: &Table, row: &[Datum], keys: &dyn IndexKeySource) -> Result<Tid> {
        self.entering(table, |scratch| self.insert_with(scratch, table, row, keys))
    }

    /// Writes rows. If writing fails, their possible duplicates are forgotten, as the rows are undone.
    #[inline]
    fn entering<T>(&self, table: &Table, enter: impl FnOnce(&mut Scratch) -> Result<T>) -> Result<T> {
        self.begin_write(table)?;
        let mut scratch = self.take_scratch();
        let noted = self.possible_duplicates.borrow().len();
        let entered = enter(&mut scratch);
        if entered.is_err() {
            self.possible_duplicates.borrow_mut().truncate(noted);
        }
        self.put_scratch(scratch);
        entered
    }

    #[inline]
    fn begin_write(&self, table: &Table) -> Result<()> {
        self.lock_table(table, LockMode::RowExclusive)?;
        self.assign_xid_to_write(table)?;
        Ok(())
    }

    fn insert_with(
        &self,
        scratch: &mut Scratch,
        table: &Table,
        row: &[Datum],
        keys: &dyn IndexKeySource,
    ) -> Result<Tid> {
        let tid = self.with_ctx(|ctx| {
            self.encode(ctx, table, row, &[], &mut scratch.payload)?;
            table.heap.insert(ctx, &scratch.payload)
        })?;
        self.wrote_row(table)?;
        self.enter_all(table, row, tid, keys, &mut scratch.key)?;
        table.activity.count_inserts(1);
        Ok(tid)
    }

    /// Inserts many rows, with one log record for each page they fill. `inserted` is told the number and place of each.
    ///
    /// # Errors
    /// As [`Session::insert`].
    pub fn insert_many(
        &self,
        table: &Table,
        rows: &[&[Datum]],
        keys: &dyn IndexKeySource,
        inserted: &mut dyn FnMut(usize, Tid),
    ) -> Result<()> {
        self.entering(table, |scratch| self.insert_many_with(scratch, table, rows, keys, inserted))
    }

    fn insert_many_with(
        &self,
        scratch: &mut Scratch,
        table: &Table,
        rows: &[&[Datum]],
        keys: &dyn IndexKeySource,
        inserted: &mut dyn FnMut(usize, Tid),
    ) -> Result<()> {
        let mut placed = Vec::with_capacity(rows.len());
        self.with_ctx(|ctx| {
            // All rows one after the other in one buffer, and where each ends.
            let mut all = std::mem::take(&mut scratch.old).into_vec();
            all.clear();
            let mut ends = Vec::with_capacity(rows.len());
            for row in rows {
                self.encode(ctx, table, row, &[], &mut scratch.payload)?;
                all.extend_from_slice(&scratch.payload);
                ends.push(all.len());
            }
            let mut start = 0;
            let payloads: Vec<&[u8]> = ends.iter().map(|end| &all[std::mem::replace(&mut start, *end)..*end]).collect();
            table.heap.insert_many(ctx, &payloads, &mut |number, tid| placed.push((number, tid)))
        })?;
        self.wrote_row(table)?;
        for (number, tid) in &placed {
            self.enter_all(table, rows[*number], *tid, keys, &mut scratch.key)?;
            inserted(*number, *tid);
        }
        table.activity.count_inserts(placed.len() as u64);
        Ok(())
    }

    /// Enters a new row in every index.
    fn enter_all(
        &self,
        table: &Table,
        row: &[Datum],
        tid: Tid,
        keys: &dyn IndexKeySource,
        key: &mut KeyBuffer,
    ) -> Result<()> {
        for position in 0..table.indexes.len() {
            key.clear();
            if keys.key(table, position, row, key)? && self.enter(table, position, key, tid, true)?.is_some() {
                return Err(self.duplicate(table, position, row, keys)?);
            }
        }
        Ok(())
    }

    /// Enters a row in one index; `Some` if another row stands in the way.
    fn enter(&self, table: &Table, position: usize, key: &KeyBuffer, tid: Tid, check: bool) -> Result<Option<Tid>> {
        let index = &table.indexes[position];
        let mut unique = check && is_unique(table, position, key);
        self.with_ctx(|ctx| {
            if unique && ctx.watch.is_some() && self.slot.borrow().depth() > 0 {
                // The entry may be undone with its savepoint. The transaction knows then that no other row had the key.
                self.lock_key(index.def.file, key.as_slice());
            }
            let liveness = |other: Tid| table.heap.dirty_status(ctx, other);
            loop {
                let check: Option<&dyn Fn(Tid) -> Result<Liveness>> = if unique { Some(&liveness) } else { None };
                match index.btree.insert(ctx, key.as_slice(), tid, check)? {
                    InsertOutcome::Duplicate(..) | InsertOutcome::WaitFor(_) if index.def.deferrable => {
                        // The row may stay for now. Of two rows with the same key, the insert of the second finds the
                        // first one here. So it is enough that the transaction of the second insert checks the key again.
                        unique = false;
                        let duplicate = PossibleDuplicate { index: index.def.oid, key: key.as_slice().to_vec() };
                        self.possible_duplicates.borrow_mut().push(duplicate);
                    }
                    InsertOutcome::Inserted => {
                        self.wrote_key(index.def.file, key.as_slice())?;
                        self.check_read()?;
                        return Ok(None);
                    }
                    InsertOutcome::Duplicate(other, csn) => {
                        ctx.observe(csn);
                        // If it came from breaking serializability, that is what is to be said: a retry may help.
                        self.wrote_key(index.def.file, key.as_slice())?;
                        self.check_read()?;
                        return Ok(Some(other));
                    }
                    InsertOutcome::WaitFor(xid) => self.wait_for(ctx, xid)?,
                }
            }
        })
    }

    /// Takes the possible duplicates of `table` since the last call: keys that other rows have, or may have, in indexes whose uniqueness is
    /// looked at later. Those of other tables stay, because their rows may not be complete yet.
    pub fn take_possible_duplicates(&self, table: &Table) -> Vec<PossibleDuplicate> {
        let is_of_table = |key: &mut PossibleDuplicate| table.indexes.iter().any(|index| index.def.oid == key.index);
        self.possible_duplicates.borrow_mut().extract_if(.., is_of_table).collect()
    }

    /// Looks whether a key of a unique index has more than one row by now; waits for those who may be about to make or remove one.
    ///
    /// # Errors
    /// 23505 if it has; 40P01, 55P03, 57014 from waiting.
    pub fn check_duplicate(
        &self,
        table: &Table,
        duplicate: &PossibleDuplicate,
        keys: &dyn IndexKeySource,
    ) -> Result<()> {
        let Some(position) = table.indexes.iter().position(|index| index.def.oid == duplicate.index) else {
            return Ok(());
        };
        let mut row = RowBytes::new();
        let is_duplicate = self.with_ctx(|ctx| {
            loop {
                let mut live: SmallVec<[Tid; 2]> = SmallVec::new();
                let mut waits_for = Ok(None);
                table.indexes[position].btree.lookup_latched(&duplicate.key, &mut |root| {
                    match table.heap.dirty_status(ctx, root) {
                        Ok(Liveness::Dead) => {}
                        Ok(Liveness::Live(csn)) => {
                            ctx.observe(csn);
                            live.push(root);
                        }
                        Ok(Liveness::InProgressInsert(xid) | Liveness::InProgressDelete(xid)) => {
                            waits_for = Ok(Some(xid));
                        }
                        Err(error) => waits_for = Err(error),
                    }
                    let goes_on = live.len() < 2 && matches!(waits_for, Ok(None));
                    if goes_on { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
                })?;
                if let [.., root, _] = live.as_slice() {
                    table.heap.read_chain(&current(ctx), *root, |_, bytes| row.copy_from(bytes))?;
                    return Ok::<_, Error>(true);
                }
                match waits_for? {
                    Some(xid) => self.wait_for(ctx, xid)?,
                    None => return Ok(false),
                }
            }
        })?;
        if !is_duplicate {
            return Ok(());
        }
        self.check_read()?;
        self.resolve(table, &mut row)?;
        Err(self.duplicate(table, position, &table.decode(&row), keys)?)
    }

    fn wait_for(&self, ctx: &TxnCtx<'_>, xid: Xid) -> Result<()> {
        self.shared().locks.wait_for_xid(ctx.owner, xid, &self.lock_options(WaitPolicy::Block))?;
        Ok(())
    }

    #[cold]
    fn duplicate(&self, table: &Table, position: usize, row: &[Datum], keys: &dyn IndexKeySource) -> Result<Error> {
        let index = &table.indexes[position].def;
        let constraint = index.constraint_or_name();
        let message = format!("duplicate key value violates unique constraint \"{constraint}\"");
        let error = Error::new(sqlstate::UNIQUE_VIOLATION, message);
        let error = match keys.describe(table, position, row)? {
            Some(key) => error.detail(format!("{key} already exists.")),
            None => error,
        };
        let catalog = self.catalog();
        let schema = catalog.schema(table.def.schema).map_or("", |schema| &schema.name);
        Ok(error.constraint(schema, &table.def.name, constraint))
    }

    /// Inserts a row unless one of `arbiters` (positions of unique indexes; `None`: all of them) has its key already.
    ///
    /// # Errors
    /// As [`Session::insert`]; 23505 for a duplicate in an index that is no arbiter; 40001 at repeatable read when the
    /// row in the way is not visible.
    pub fn insert_on_conflict(
        &self,
        table: &Table,
        row: &[Datum],
        keys: &dyn IndexKeySource,
        arbiters: Option<&[usize]>,
    ) -> Result<ConflictOutcome> {
        let is_arbiter = |position: usize| {
            table.indexes[position].def.unique && arbiters.is_none_or(|arbiters| arbiters.contains(&position))
        };
        self.entering(table, |scratch| self.insert_or_find(scratch, table, row, keys, &is_arbiter))
    }

    fn insert_or_find(
        &self,
        scratch: &mut Scratch,
        table: &Table,
        row: &[Datum],
        keys: &dyn IndexKeySource,
        is_arbiter: &dyn Fn(usize) -> bool,
    ) -> Result<ConflictOutcome> {
        let noted = self.possible_duplicates.borrow().len();
        'again: loop {
            for position in (0..table.indexes.len()).filter(|position| is_arbiter(*position)) {
                scratch.key.clear();
                if keys.key(table, position, row, &mut scratch.key)?
                    && is_unique(table, position, &scratch.key)
                    && let Some(tid) = self.find_conflict(table, position, scratch.key.as_slice())?
                {
                    return Ok(ConflictOutcome::Conflict { index_position: position, tid });
                }
            }
            let (tid, moved): (Tid, Moved) = self.with_ctx(|ctx| -> Result<_> {
                let moved = self.encode(ctx, table, row, &[], &mut scratch.payload)?;
                Ok((table.heap.insert(ctx, &scratch.payload)?, moved))
            })?;
            self.wrote_row(table)?;
            // Every session enters indexes in this order, so that two who insert the same row don't wait for each other.
            for position in 0..table.indexes.len() {
                scratch.key.clear();
                if !keys.key(table, position, row, &mut scratch.key)? {
                    continue;
                }
                if self.enter(table, position, &scratch.key, tid, true)?.is_some() {
                    if !is_arbiter(position) {
                        return Err(self.duplicate(table, position, row, keys)?);
                    }
                    // Somebody came in between. The row was never there; entries made so far lead nowhere.
                    self.possible_duplicates.borrow_mut().truncate(noted);
                    self.with_ctx(|ctx| {
                        table.heap.take_back(ctx, tid)?;
                        self.take_back(ctx, table, &moved)
                    })?;
                    continue 'again;
                }
            }
            table.activity.count_inserts(1);
            return Ok(ConflictOutcome::Inserted(tid));
        }
    }

    /// The row that has this key, as things stand, its newest version. Waits for those who may be about to make or remove
    /// one. A row that is there after the statement's snapshot was taken keeps its place; that it is the entry's row, the latch says.
    fn find_conflict(&self, table: &Table, position: usize, key: &[u8]) -> Result<Option<Tid>> {
        self.with_ctx(|ctx| {
            loop {
                let mut found = Ok(None);
                table.indexes[position].btree.lookup_latched(key, &mut |root| {
                    found = table.heap.dirty_status(ctx, root).map(|liveness| match liveness {
                        Liveness::Dead => None,
                        other => Some((root, other)),
                    });
                    if matches!(found, Ok(None)) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
                })?;
                match found? {
                    None | Some((_, Liveness::Dead)) => return Ok(None),
                    Some((root, Liveness::Live(csn))) => {
                        ctx.observe(csn);
                        if csn > ctx.snapshot.csn && self.isolation() != Isolation::ReadCommitted {
                            return Err(concurrent("update"));
                        }
                        if let Some(tid) = table.heap.read_chain(&current(ctx), root, |tid, _| tid)? {
                            return Ok(Some(tid));
                        }
                        // Gone in between: look again.
                    }
                    Some((_, Liveness::InProgressInsert(xid) | Liveness::InProgressDelete(xid))) => {
                        self.wait_for(ctx, xid)?;
                    }
                }
            }
        })
    }

    /// Updates the version `tid` to `row`, of which the columns in `changed` were assigned. Waits for others that hold
    /// the row.
    ///
    /// # Errors
    /// As [`Session::insert`]; 40001 at repeatable read when somebody else has changed the row.
    pub fn update(
        &self,
        table: &Table,
        tid: Tid,
        row: &[Datum],
        changed: &ColumnSet,
        keys: &dyn IndexKeySource,
    ) -> Result<Modify> {
        self.entering(table, |scratch| self.update_with(scratch, table, tid, row, changed, keys))
    }

    fn update_with(
        &self,
        scratch: &mut Scratch,
        table: &Table,
        tid: Tid,
        row: &[Datum],
        changed: &ColumnSet,
        keys: &dyn IndexKeySource,
    ) -> Result<Modify> {
        let replaced = tid;
        let old_values = self.old_large_values(table, tid, scratch)?;
        let mut new_keys: SmallVec<[bool; 8]> = SmallVec::new();
        let mut mode = RowLockMode::NoKeyUpdate;
        if changed.intersects(&table.indexed_columns) {
            new_keys = self.changed_keys(scratch, table, tid, row, changed, keys)?;
            let key_changed =
                |(index, changed): (&Arc<crate::table::Index>, &bool)| *changed && index.def.may_be_referenced();
            if changed.intersects(&table.key_columns) && table.indexes.iter().zip(&new_keys).any(key_changed) {
                mode = RowLockMode::Update;
            }
        }
        let kept: Vec<_> = old_values.iter().filter(|(column, _)| !changed.contains(*column)).cloned().collect();
        let turn = self.take_turn_at(table, tid);
        let (outcome, hot) = self.with_ctx(|ctx| {
            let moved = self.encode(ctx, table, row, &kept, &mut scratch.payload)?;
            let options = UpdateOptions {
                indexed_columns_changed: new_keys.contains(&true),
                mode,
                wait: WaitPolicy::Block,
                turn,
            };
            let outcome = table.heap.update(ctx, tid, &scratch.payload, options)?;
            let (outcome, hot) = self.outcome(ctx, table, outcome)?;
            if !matches!(outcome, Modify::Done { .. }) {
                self.take_back(ctx, table, &moved)?;
            } else if old_values.len() > kept.len() {
                let gone = old_values.iter().filter(|(column, _)| changed.contains(*column)).map(|(_, value)| value);
                table.activity.count_erased_values(large::erase(self.overflow(table)?, ctx, gone)?);
            }
            Ok::<_, Error>((outcome, hot))
        })?;
        let Modify::Done { tid } = outcome else { return Ok(outcome) };
        self.wrote_tuple(table, replaced)?;
        table.activity.count_update(hot);
        if !hot {
            self.hurry_pruning(&new_keys);
            for position in 0..table.indexes.len() {
                scratch.key.clear();
                if !keys.key(table, position, row, &mut scratch.key)? {
                    continue;
                }
                // An entry whose key is the old version's can't be a duplicate of another row's, unless duplicates may stay for a while.
                let changed = new_keys.get(position).is_some_and(|changed| *changed);
                if !changed {
                    clear_dead_entries(table, position, scratch.key.as_slice())?;
                }
                let check = changed || table.indexes[position].def.deferrable;
                if self.enter(table, position, &scratch.key, tid, check)?.is_some() {
                    return Err(self.duplicate(table, position, row, keys)?);
                }
            }
        }
        Ok(outcome)
    }

    /// A row updated again and again without anybody waiting for the disk fills its page with versions that can't be pruned
    /// before they are durable: see to it that they soon are.
    #[cold]
    fn hurry_pruning(&self, new_keys: &[bool]) {
        if !new_keys.contains(&true) && !self.synchronous_commit.get() && self.shared().options.background {
            self.shared().wal.request_flush(self.observed(), self.delay.get());
        }
    }

    /// For each index, whether the row's key in it changes.
    fn changed_keys(
        &self,
        scratch: &mut Scratch,
        table: &Table,
        tid: Tid,
        row: &[Datum],
        changed: &ColumnSet,
        keys: &dyn IndexKeySource,
    ) -> Result<SmallVec<[bool; 8]>> {
        let Scratch { old, key, old_key, .. } = scratch;
        if table.heap.read_any(tid, |bytes| old.copy_from(bytes))?.is_none() {
            return Err(Error::internal(format!("row version {tid} is gone")));
        }
        self.resolve(table, old)?;
        let old_row = table.decode(old);
        let mut differ = SmallVec::new();
        for (position, index) in table.indexes.iter().enumerate() {
            if !index.columns.intersects(changed) {
                differ.push(false);
                continue;
            }
            key.clear();
            old_key.clear();
            let is_in = keys.key(table, position, row, key)?;
            let was_in = keys.key(table, position, &old_row, old_key)?;
            differ.push(is_in != was_in || (is_in && key.as_slice() != old_key.as_slice()));
        }
        Ok(differ)
    }

    /// Deletes the version `tid`.
    ///
    /// # Errors
    /// As [`Session::update`].
    pub fn delete(&self, table: &Table, tid: Tid) -> Result<Modify> {
        self.begin_write(table)?;
        let mut scratch = self.take_scratch();
        let old_values = self.old_large_values(table, tid, &mut scratch);
        self.put_scratch(scratch);
        let old_values = old_values?;
        let turn = self.take_turn_at(table, tid);
        let outcome = self.with_ctx(|ctx| {
            let outcome = table.heap.delete(ctx, tid, WaitPolicy::Block, turn)?;
            let (outcome, _) = self.outcome(ctx, table, outcome)?;
            if matches!(outcome, Modify::Done { .. }) && !old_values.is_empty() {
                let gone = old_values.iter().map(|(_, value)| value);
                table.activity.count_erased_values(large::erase(self.overflow(table)?, ctx, gone)?);
            }
            Ok::<_, Error>(outcome)
        })?;
        if matches!(outcome, Modify::Done { .. }) {
            self.wrote_tuple(table, tid)?;
            table.activity.count_delete();
        }
        Ok(outcome)
    }

    /// Locks the version `tid` until the transaction ends.
    ///
    /// # Errors
    /// 55P03 with NOWAIT or `lock_timeout`; 40P01, 57014; 40001 at repeatable read.
    pub fn lock_row(&self, table: &Table, tid: Tid, mode: RowLockMode, wait: WaitPolicy) -> Result<Modify> {
        self.lock_table(table, LockMode::RowShare)?;
        self.assign_xid_to_write(table)?;
        let turn = self.take_turn_at(table, tid);
        self.with_ctx(|ctx| Ok(self.outcome(ctx, table, table.heap.lock(ctx, tid, mode, wait, turn)?)?.0))
    }

    /// Returns the outcome of an attempt, and whether an update needs no index entries. Keeps the row's turn for the
    /// retry.
    fn outcome(&self, ctx: &TxnCtx<'_>, table: &Table, outcome: heap::Modify<'_>) -> Result<(Modify, bool)> {
        let serializes = self.isolation() != Isolation::ReadCommitted;
        Ok(match outcome {
            heap::Modify::Done { tid, hot } => (Modify::Done { tid }, hot),
            heap::Modify::SelfModified { command } => (Modify::SelfModified { command }, false),
            heap::Modify::Updated { newest, csn, turn } => {
                ctx.observe(csn);
                if serializes {
                    return Err(concurrent("update"));
                }
                let kept = turn.and_then(RowTurn::keep);
                self.turn.set(kept.map(|turn| TurnAtRow { relation: table.oid(), tid: newest, turn }));
                (Modify::Updated { newest, csn }, false)
            }
            heap::Modify::Deleted { csn } => {
                ctx.observe(csn);
                if serializes {
                    return Err(concurrent("delete"));
                }
                (Modify::Deleted { csn }, false)
            }
            heap::Modify::Skipped => (Modify::Skipped, false),
        })
    }

    /// The turn that came with the last attempt, if this attempt is its retry.
    #[inline]
    fn take_turn_at(&self, table: &Table, tid: Tid) -> Option<RowTurn<'_>> {
        let kept = self.turn.take()?;
        if (kept.relation, kept.tid) == (table.oid(), tid) {
            return Some(self.shared().locks.resume(kept.turn));
        }
        // A turn that went to another row would take those who are queued behind it there.
        self.turn.set(Some(kept));
        self.end_turn();
        None
    }

    /// The row of the last attempt is not tried again, or not now. Those who are queued for it wait for the transaction's end,
    /// as in PostgreSQL, which keeps the lock on such a row.
    pub fn end_turn(&self) {
        let Some(TurnAtRow { tid, turn, .. }) = self.turn.take() else { return };
        let (mode, turn) = (turn.mode(), self.shared().locks.resume(turn));
        turn.updated(tid, self.with_ctx(|ctx| ctx.xid), mode);
    }

    /// Gives the turn up that came with the last attempt. The next one in the row's queue is woken.
    pub(super) fn give_up_turn(&self) {
        drop(self.turn.take().map(|kept| self.shared().locks.resume(kept.turn)));
    }

    /// Copies the newest committed (or own) version that `tid` was updated to, whatever the snapshot sees; `None` if the
    /// row is gone.
    ///
    /// # Errors
    /// XX001, 58030 for pages that can't be read.
    pub fn newest_version(&self, table: &Table, tid: Tid, out: &mut RowBytes) -> Result<Option<Tid>> {
        self.lock_table(table, LockMode::AccessShare)?;
        let found = self.with_ctx(|ctx| {
            table.heap.newest_version(ctx, tid, |tid, bytes| {
                out.copy_from(bytes);
                tid
            })
        })?;
        self.turn_follows(table, tid, found);
        if found.is_some() {
            self.resolve(table, out)?;
        }
        Ok(found)
    }

    /// The retry will be at a newer version than the last attempt has named, or there is none.
    fn turn_follows(&self, table: &Table, from: Tid, to: Option<Tid>) {
        let Some(kept) = self.turn.take() else { return };
        let is_same_row = (kept.relation, kept.tid) == (table.oid(), from);
        match to {
            Some(tid) if is_same_row => self.turn.set(Some(TurnAtRow { tid, ..kept })),
            None if is_same_row => drop(self.shared().locks.resume(kept.turn)),
            _ => self.turn.set(Some(kept)),
        }
    }

    /// The command that made the version `tid`, if this transaction, or a subtransaction of it, did.
    ///
    /// # Errors
    /// XX001, 58030 for pages that can't be read.
    pub fn own_command(&self, table: &Table, tid: Tid) -> Result<Option<CommandId>> {
        let Some(version) = table.version(tid)? else { return Ok(None) };
        self.with_ctx(|ctx| Ok(ctx.is_own(version.xmin).then_some(version.cmin)))
    }

    /// Copies the version `tid` if the snapshot sees it.
    ///
    /// # Errors
    /// XX001, 58030 for pages that can't be read.
    pub fn fetch(&self, table: &Table, tid: Tid, out: &mut RowBytes) -> Result<bool> {
        self.lock_table(table, LockMode::AccessShare)?;
        let found = self.with_ctx(|ctx| table.heap.read(ctx, tid, |bytes| out.copy_from(bytes)))?.is_some();
        self.check_read()?;
        if found {
            self.resolve(table, out)?;
        }
        Ok(found)
    }

    /// The row with this key in an index, if the snapshot sees one; the first if there are several. Allocates nothing.
    ///
    /// # Errors
    /// XX001, 58030 for pages that can't be read.
    #[inline]
    pub fn index_point(
        &self,
        table: &Table,
        index_position: usize,
        key: &[u8],
        out: &mut RowBytes,
    ) -> Result<Option<Tid>> {
        self.lock_table(table, LockMode::AccessShare)?;
        let index = &table.indexes[index_position];
        // Where a unique index shows a row, its lock is enough: another of its key can't come before that row was written.
        if !index.def.unique {
            self.lock_key(index.def.file, key);
        }
        let mut found = self.look_up(table, &index.btree, key, out)?;
        if found.is_none() && index.def.unique && self.lock_key(index.def.file, key) {
            found = self.look_up(table, &index.btree, key, out)?;
        }
        self.check_read()?;
        if found.is_some() {
            self.resolve(table, out)?;
        }
        Ok(found)
    }

    /// As [`Session::index_point`] of a unique index, for a row that is surely updated or deleted next, or the statement fails: writing
    /// it keeps others away, so a serializable transaction needn't note that it was read.
    ///
    /// # Errors
    /// As [`Session::index_point`].
    #[inline]
    pub fn index_point_to_change(
        &self,
        table: &Table,
        index_position: usize,
        key: &[u8],
        out: &mut RowBytes,
    ) -> Result<Option<Tid>> {
        let index = &table.indexes[index_position];
        // A write that is rolled back with its savepoint keeps nobody away any more.
        if index.def.unique && self.slot.borrow().depth() == 0 {
            self.lock_table(table, LockMode::AccessShare)?;
            let found = self.with_ctx(|ctx| look_up(&TxnCtx { watch: None, ..*ctx }, table, &index.btree, key, out))?;
            if found.is_some() {
                self.resolve(table, out)?;
                return Ok(found);
            }
        }
        self.index_point(table, index_position, key, out)
    }

    #[inline]
    fn look_up(&self, table: &Table, btree: &BTree, key: &[u8], out: &mut RowBytes) -> Result<Option<Tid>> {
        self.with_ctx(|ctx| look_up(ctx, table, btree, key, out))
    }

    /// All rows.
    ///
    /// # Errors
    /// 58030 if the file can't be read.
    pub fn scan(&self, table: &Arc<Table>) -> Result<TableScan> {
        self.lock_table(table, LockMode::AccessShare)?;
        self.lock_whole(table.def.file);
        Ok(TableScan {
            blocks: 0..table.heap.block_count()?,
            table: table.clone(),
            page: PageTuples::new(),
            index: 0,
            row: RowBytes::new(),
        })
    }

    /// The rows whose keys lie in a range of an index, in order.
    ///
    /// # Errors
    /// 55P03, 40P01, 57014 from waiting for who is changing the table.
    pub fn index_scan(
        &self,
        table: &Arc<Table>,
        index_position: usize,
        range: KeyRange,
        direction: Direction,
    ) -> Result<IndexScan> {
        self.lock_table(table, LockMode::AccessShare)?;
        let index = &table.indexes[index_position];
        let scan = index.btree.scan(range, direction);
        let (index, number) = (index.def.file, self.next_scan(index.def.file));
        Ok(IndexScan { table: table.clone(), scan, row: RowBytes::new(), index, number })
    }

    /// Puts large values back into a row that was copied out.
    #[inline]
    pub(crate) fn resolve(&self, table: &Table, row: &mut RowBytes) -> Result<()> {
        if has_detached(row) {
            large::resolve(table.overflow.as_ref(), &table.physical, row.vec())?;
        }
        Ok(())
    }

    /// Encodes a row, large values compressed or moved out of it. Returns the values moved out.
    #[inline]
    fn encode(
        &self,
        ctx: &TxnCtx<'_>,
        table: &Table,
        row: &[Datum],
        kept: &[(usize, Vec<u8>)],
        out: &mut Vec<u8>,
    ) -> Result<Moved> {
        out.clear();
        if row.len() != table.physical.len() {
            return Err(Error::internal(format!(
                "row has {} values, table \"{}\" {} columns",
                row.len(),
                table.def.name,
                table.physical.len()
            )));
        }
        encode_row(&table.physical, row, out)?;
        if out.len() <= ROW_TARGET_BYTES && kept.is_empty() {
            return Ok(Moved::new());
        }
        self.encode_large(ctx, table, row, kept, out)
    }

    #[cold]
    fn encode_large(
        &self,
        ctx: &TxnCtx<'_>,
        table: &Table,
        row: &[Datum],
        kept: &[(usize, Vec<u8>)],
        out: &mut Vec<u8>,
    ) -> Result<Moved> {
        let mut moved = Moved::new();
        if let Some(overflow) = &table.overflow {
            let mut number = || {
                let number = self.large_values.get();
                self.large_values.set(number.wrapping_add(1));
                number
            };
            moved = large::shrink(overflow, ctx, &table.physical, row, kept, &mut number, out)?;
        }
        if out.len() > PAYLOAD_MAX_BYTES {
            return Err(Error::new(
                sqlstate::PROGRAM_LIMIT_EXCEEDED,
                format!("row is too big: size {}, maximum size {PAYLOAD_MAX_BYTES}", out.len()),
            ));
        }
        Ok(moved)
    }

    /// The large values that the version `tid` has out of line, if its table has any at all.
    #[inline]
    fn old_large_values(&self, table: &Table, tid: Tid, scratch: &mut Scratch) -> Result<Vec<(usize, Vec<u8>)>> {
        let Some(overflow) = &table.overflow else { return Ok(Vec::new()) };
        if !overflow.is_used()? {
            return Ok(Vec::new());
        }
        scratch.old.vec().clear();
        let old = &mut scratch.old;
        let found = table.heap.read_any(tid, |bytes| {
            if has_detached(bytes) {
                old.copy_from(bytes);
            }
        })?;
        if found.is_none() || !has_detached(old) {
            return Ok(Vec::new());
        }
        Ok(large::detached_values(&table.physical, old))
    }

    fn overflow<'t>(&self, table: &'t Table) -> Result<&'t large::Overflow> {
        table.overflow.as_ref().ok_or_else(|| Error::internal("table has no overflow heap"))
    }

    /// Deletes values that were moved out for a row that was not written after all.
    fn take_back(&self, ctx: &TxnCtx<'_>, table: &Table, moved: &Moved) -> Result<()> {
        if moved.is_empty() { Ok(()) } else { large::take_back(self.overflow(table)?, ctx, moved) }
    }
}

/// The first row with this key that the snapshot shows.
#[inline]
fn look_up(ctx: &TxnCtx<'_>, table: &Table, btree: &BTree, key: &[u8], out: &mut RowBytes) -> Result<Option<Tid>> {
    let mut found = Ok(None);
    btree.lookup(key, &mut |root| {
        found = table.heap.read_chain(ctx, root, |tid, bytes| {
            out.copy_from(bytes);
            tid
        });
        if matches!(found, Ok(None)) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    found
}

/// A key that another row had, or may have had, when a row was entered with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PossibleDuplicate {
    /// The index.
    pub index: Oid,
    /// The key, as the index has it.
    pub key: Vec<u8>,
}

/// Whether the index refuses another row of this key.
#[inline]
fn is_unique(table: &Table, position: usize, key: &KeyBuffer) -> bool {
    let index = &table.indexes[position].def;
    index.unique && (index.nulls_not_distinct || !key.has_null())
}

/// The same context seeing every commit and everything of its own.
fn current<'a>(ctx: &TxnCtx<'a>) -> TxnCtx<'a> {
    TxnCtx { snapshot: Snapshot { csn: Lsn::MAX, command: CommandId::MAX }, ..*ctx }
}

#[cold]
fn concurrent(what: &str) -> Error {
    Error::new(sqlstate::SERIALIZATION_FAILURE, format!("could not serialize access due to concurrent {what}"))
}
