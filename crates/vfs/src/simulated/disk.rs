//! A simulated disk's state: the tree, the calls counted so far, and what is to go wrong.

use std::collections::BTreeSet;
use std::io::{Error, ErrorKind, Result};
use std::path::Path;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::names::{NodeNumber, Tree};
use super::survival::{Fate, Survival};
use super::{Fault, SimulatedOptions};

/// Everything behind a [`super::SimulatedVfs`].
#[derive(Debug)]
pub(crate) struct Disk {
    tree: Tree,
    seed: u64,
    random: StdRng,
    survival: Survival,
    faults: Vec<Fault>,
    counts: Counts,
    crashed: bool,
    /// Files that somebody has locked.
    locked: BTreeSet<NodeNumber>,
    handles: Handles,
}

/// How many files are open, those that are locked among them.
#[derive(Clone, Copy, Debug)]
struct Handles {
    open: usize,
    /// So many may be.
    open_max: usize,
    /// So many were, at the most.
    most_open: usize,
    /// Calls that were refused with EMFILE.
    refused: u64,
}

/// Calls so far.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    /// All that change the disk or sync it.
    calls: u64,
    writes: u64,
    syncs: u64,
    directory_syncs: u64,
    set_lengths: u64,
    removals: u64,
    reads: u64,
}

/// The file or directory that a call syncs.
#[derive(Clone, Copy)]
pub(crate) enum SyncTarget<'a> {
    File(NodeNumber),
    Directory(&'a Path),
}

fn crashed() -> Error {
    Error::other("the simulated disk has crashed")
}

fn no_space() -> Error {
    Error::new(ErrorKind::StorageFull, "No space left on device (simulated)")
}

fn input_output_error(what: &str) -> Error {
    // Not `ErrorKind::Other`, which a caller could take for something else.
    Error::other(format!("simulated input/output error: {what}"))
}

impl Disk {
    pub(crate) fn new(options: SimulatedOptions, tree: Tree) -> Disk {
        Disk {
            tree,
            seed: options.seed,
            random: StdRng::seed_from_u64(options.seed),
            survival: options.survival,
            faults: options.faults,
            counts: Counts::default(),
            crashed: false,
            locked: BTreeSet::new(),
            handles: Handles { open: 0, open_max: usize::MAX, most_open: 0, refused: 0 },
        }
    }

    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    pub(crate) fn calls(&self) -> u64 {
        self.counts.calls
    }

    pub(crate) fn writes(&self) -> u64 {
        self.counts.writes
    }

    pub(crate) fn syncs(&self) -> u64 {
        self.counts.syncs
    }

    pub(crate) fn directory_syncs(&self) -> u64 {
        self.counts.directory_syncs
    }

    pub(crate) fn set_lengths(&self) -> u64 {
        self.counts.set_lengths
    }

    pub(crate) fn reads(&self) -> u64 {
        self.counts.reads
    }

    pub(crate) fn removals(&self) -> u64 {
        self.counts.removals
    }

    pub(crate) fn is_crashed(&self) -> bool {
        self.crashed
    }

    pub(crate) fn power_off(&mut self) {
        self.crashed = true;
    }

    pub(crate) fn add_fault(&mut self, fault: Fault) {
        self.faults.push(fault);
    }

    pub(crate) fn clear_faults(&mut self) {
        self.faults.clear();
    }

    /// Options for the disk that comes back: a seed that follows from this one's, and nothing that goes wrong.
    pub(crate) fn successor(&mut self) -> SimulatedOptions {
        SimulatedOptions { seed: self.random.random(), survival: self.survival, faults: Vec::new() }
    }

    /// Returns the tree that a crash now would leave.
    pub(crate) fn after_crash(&self, seed: u64, survival: Survival) -> Tree {
        self.tree.after_crash(&mut Fate::new(seed, survival, self.tree.unsynced()))
    }

    /// The tree as readers see it. Looking is no call: nothing is counted, and nothing fails but after a crash.
    pub(crate) fn look(&self) -> Result<&Tree> {
        if self.crashed { Err(crashed()) } else { Ok(&self.tree) }
    }

    /// The tree as readers see it, even after a crash.
    pub(crate) fn tree(&self) -> &Tree {
        &self.tree
    }

    /// For damage from outside.
    pub(crate) fn tree_mut(&mut self) -> &mut Tree {
        &mut self.tree
    }

    /// A call that changes names. If the power fails at it, the change is one of those that may survive.
    pub(crate) fn change_names<R>(&mut self, change: impl FnOnce(&mut Tree) -> Result<R>) -> Result<R> {
        let power_fails = self.begin_call()?;
        let result = change(&mut self.tree);
        self.end_call(power_fails)?;
        result
    }

    /// A call that removes a file's name.
    pub(crate) fn remove_file(&mut self, path: &Path) -> Result<()> {
        self.counts.removals += 1;
        let fails = self.take_fault(Fault::FailRemoval(self.counts.removals));
        self.change_names(|tree| if fails { Err(input_output_error("unlink")) } else { tree.remove_file(path) })
    }

    /// A call that changes a file's length.
    pub(crate) fn set_length(&mut self, node: NodeNumber, length: u64) -> Result<()> {
        let power_fails = self.begin_call()?;
        self.counts.set_lengths += 1;
        if self.take_fault(Fault::FailSetLength(self.counts.set_lengths)) {
            self.end_call(power_fails)?;
            return Err(input_output_error("ftruncate"));
        }
        let (content, number) = self.tree.change_file(node);
        content.set_length(number, length);
        self.end_call(power_fails)
    }

    /// One call that writes: how much of it was written.
    pub(crate) fn write(&mut self, node: NodeNumber, bytes: &[u8], offset: u64, is_synced: bool) -> Result<usize> {
        let power_fails = self.begin_call()?;
        let (taken, failure) = self.write_faults(node, bytes.len() as u64, offset);
        let (content, number) = self.tree.change_file(node);
        content.write(number, &bytes[..taken as usize], offset);
        self.end_call(power_fails)?;
        match failure {
            Some(error) => Err(error),
            None => {
                if is_synced {
                    self.tree.change_file(node).0.sync_range(offset..offset + taken);
                }
                Ok(taken as usize)
            }
        }
    }

    /// One call that writes zeros from a file's end up to `length`: how far it got.
    pub(crate) fn extend_with_zeros(&mut self, node: NodeNumber, length: u64, is_synced: bool) -> Result<u64> {
        let end = self.tree.file(node).bytes().len() as u64;
        let power_fails = self.begin_call()?;
        let (taken, failure) = self.write_faults(node, length.saturating_sub(end), end);
        let (content, number) = self.tree.change_file(node);
        content.extend_with_zeros(number, end + taken);
        self.end_call(power_fails)?;
        match failure {
            Some(error) => Err(error),
            None => {
                if is_synced {
                    self.tree.change_file(node).0.sync_range(end..end + taken);
                }
                Ok(end + taken)
            }
        }
    }

    /// How many of the bytes to be written are, and the error that is returned even so.
    fn write_faults(&mut self, node: NodeNumber, size_bytes: u64, offset: u64) -> (u64, Option<Error>) {
        self.counts.writes += 1;
        let writes = self.counts.writes;
        if self.take_fault(Fault::InterruptedWrite(writes)) {
            return (0, Some(ErrorKind::Interrupted.into()));
        }
        if self.take_fault(Fault::FailWrite(writes)) {
            return (self.random.random_range(0..=size_bytes), Some(input_output_error("write")));
        }
        if self.take_fault(Fault::ShortWrite(writes)) && size_bytes > 1 {
            return (self.random.random_range(1..size_bytes), None);
        }
        let disk_is_full = self.faults.iter().any(|fault| matches!(fault, Fault::NoSpaceFromWrite(n) if *n <= writes));
        let length = self.tree.file(node).bytes().len() as u64;
        if disk_is_full && offset + size_bytes > length {
            return match length.saturating_sub(offset) {
                0 => (0, Some(no_space())),
                fits => (fits, None),
            };
        }
        (size_bytes, None)
    }

    /// A call that syncs. If the power fails at it, nothing is certain yet.
    pub(crate) fn sync(&mut self, target: SyncTarget<'_>) -> Result<()> {
        let power_fails = self.begin_call()?;
        self.end_call(power_fails)?;
        self.counts.syncs += 1;
        let is_directory = matches!(target, SyncTarget::Directory(_));
        self.counts.directory_syncs += u64::from(is_directory);
        let is_full = is_directory && self.take_fault(Fault::NoSpaceForDirectorySync(self.counts.directory_syncs));
        let fails = is_directory && self.take_fault(Fault::FailDirectorySync(self.counts.directory_syncs));
        if is_full || fails || self.take_fault(Fault::FailSync(self.counts.syncs)) {
            let mut fate = Fate::new(self.random.random(), Survival::AnySubset, self.tree.unsynced());
            match target {
                SyncTarget::File(node) => self.tree.change_file(node).0.fail_sync(&mut fate),
                SyncTarget::Directory(path) => self.tree.fail_sync_directory(path, &mut fate)?,
            }
            return Err(if is_full { no_space() } else { input_output_error("sync") });
        }
        match target {
            SyncTarget::File(node) => {
                self.tree.change_file(node).0.sync();
                Ok(())
            }
            SyncTarget::Directory(path) => self.tree.sync_directory(path),
        }
    }

    /// One call that reads: how much was read.
    pub(crate) fn read(&mut self, node: NodeNumber, buffer: &mut [u8], offset: u64) -> Result<usize> {
        self.look()?;
        self.counts.reads += 1;
        if self.take_fault(Fault::InterruptedRead(self.counts.reads)) {
            return Err(ErrorKind::Interrupted.into());
        }
        if self.take_fault(Fault::FailRead(self.counts.reads)) {
            return Err(input_output_error("read"));
        }
        Ok(self.tree.file(node).read(buffer, offset))
    }

    pub(crate) fn open_max(&self) -> usize {
        self.handles.open_max
    }

    pub(crate) fn set_open_max(&mut self, open_max: usize) {
        self.handles.open_max = open_max;
    }

    pub(crate) fn open_files(&self) -> usize {
        self.handles.open
    }

    pub(crate) fn most_open(&self) -> usize {
        self.handles.most_open
    }

    pub(crate) fn opens_refused(&self) -> u64 {
        self.handles.refused
    }

    /// Counts a handle that is about to be opened, of a file or a directory; EMFILE if that would be one too many.
    pub(crate) fn open_handle(&mut self) -> Result<()> {
        self.look()?;
        if self.handles.open >= self.handles.open_max {
            self.handles.refused += 1;
            return Err(rustix::io::Errno::MFILE.into());
        }
        self.handles.open += 1;
        self.handles.most_open = self.handles.most_open.max(self.handles.open);
        Ok(())
    }

    pub(crate) fn close_handle(&mut self) {
        self.handles.open -= 1;
    }

    /// A call on a directory, which is open for as long as it lasts.
    pub(crate) fn with_directory<R>(&mut self, call: impl FnOnce(&mut Disk) -> Result<R>) -> Result<R> {
        self.open_handle()?;
        let result = call(self);
        self.close_handle();
        result
    }

    /// Locks a file; whether nobody else has.
    pub(crate) fn lock(&mut self, node: NodeNumber) -> bool {
        self.locked.insert(node)
    }

    pub(crate) fn unlock(&mut self, node: NodeNumber) {
        self.locked.remove(&node);
    }

    /// Counts a call that changes the disk or syncs it: whether the power fails at it.
    fn begin_call(&mut self) -> Result<bool> {
        self.look()?;
        self.counts.calls += 1;
        Ok(self.take_fault(Fault::CrashAtCall(self.counts.calls)))
    }

    fn end_call(&mut self, power_fails: bool) -> Result<()> {
        self.crashed |= power_fails;
        self.look().map(|_| ())
    }

    /// Whether this was on order; it comes once.
    fn take_fault(&mut self, fault: Fault) -> bool {
        let position = self.faults.iter().position(|other| *other == fault);
        position.map(|position| self.faults.swap_remove(position)).is_some()
    }
}
