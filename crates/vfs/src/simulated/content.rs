//! The bytes of one simulated file: as a reader sees them, as they are on the disk, and the changes in between.

use std::collections::BTreeMap;
use std::ops::Range;

use super::survival::Fate;

/// The size of a sector, which a disk writes whole or not at all.
pub(crate) const SECTOR_BYTES: u64 = 512;

/// A file's bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Content {
    /// The page cache: the bytes that every reader sees.
    cached: Vec<u8>,
    /// The bytes that are on the disk for certain.
    durable: Vec<u8>,
    /// The changes since then, oldest first.
    unsynced: Vec<Change>,
}

#[derive(Clone, Debug)]
struct Change {
    /// Its place among all changes of the disk.
    number: u64,
    kind: ChangeKind,
}

#[derive(Clone, Debug)]
enum ChangeKind {
    Write {
        offset: u64,
        bytes: Vec<u8>,
    },
    Zeros {
        range: Range<u64>,
    },
    /// Cut or extended to this length.
    Length {
        from: u64,
        to: u64,
    },
}

impl ChangeKind {
    /// The bytes whose value it decides.
    fn range(&self) -> Range<u64> {
        match self {
            ChangeKind::Write { offset, bytes } => *offset..offset + bytes.len() as u64,
            ChangeKind::Zeros { range } => range.clone(),
            ChangeKind::Length { from, to } => *to..(*from).max(*to),
        }
    }

    /// The file's length after it.
    fn length_after(&self, before: u64) -> u64 {
        match self {
            ChangeKind::Length { to, .. } => *to,
            other => before.max(other.range().end),
        }
    }

    /// Applies the part of it that lies in `within`, which `target` covers from its first byte on.
    fn apply(&self, target: &mut [u8], within: Range<u64>) {
        let range = self.range();
        let start = range.start.max(within.start);
        let end = range.end.min(within.end);
        if start >= end {
            return;
        }
        let to = (start - within.start) as usize..(end - within.start) as usize;
        match self {
            ChangeKind::Write { offset, bytes } => {
                target[to].copy_from_slice(&bytes[(start - offset) as usize..(end - offset) as usize]);
            }
            ChangeKind::Zeros { .. } | ChangeKind::Length { .. } => target[to].fill(0),
        }
    }

    /// Applies all of it.
    fn apply_to_file(&self, file: &mut Vec<u8>) {
        let length = self.length_after(file.len() as u64);
        file.resize(length as usize, 0);
        self.apply(file, 0..length);
    }

    /// Returns the parts of this change that are left without the bytes in `gone`.
    fn without(self, gone: &Range<u64>) -> Vec<ChangeKind> {
        let range = self.range();
        if range.end <= gone.start || gone.end <= range.start {
            return vec![self];
        }
        let (before, after) = (range.start..gone.start, gone.end..range.end);
        [before, after]
            .into_iter()
            .filter(|part| part.start < part.end)
            .map(|part| match &self {
                ChangeKind::Write { offset, bytes } => ChangeKind::Write {
                    offset: part.start,
                    bytes: bytes[(part.start - offset) as usize..(part.end - offset) as usize].to_vec(),
                },
                _ => ChangeKind::Zeros { range: part },
            })
            .collect()
    }
}

impl Content {
    /// A file that has these bytes, on the disk as well.
    pub(crate) fn durable(bytes: Vec<u8>) -> Content {
        Content { cached: bytes.clone(), durable: bytes, unsynced: Vec::new() }
    }

    /// The bytes that a reader sees.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.cached
    }

    /// The numbers of the first and the last change that is not durable.
    pub(crate) fn unsynced(&self) -> Option<(u64, u64)> {
        Some((self.unsynced.first()?.number, self.unsynced.last()?.number))
    }

    /// Reads what there is at `offset`; how much.
    pub(crate) fn read(&self, buffer: &mut [u8], offset: u64) -> usize {
        let start = (offset as usize).min(self.cached.len());
        let end = (start + buffer.len()).min(self.cached.len());
        buffer[..end - start].copy_from_slice(&self.cached[start..end]);
        end - start
    }

    pub(crate) fn write(&mut self, number: u64, bytes: &[u8], offset: u64) {
        self.change(number, ChangeKind::Write { offset, bytes: bytes.to_vec() });
    }

    /// Writes zeros from the file's end up to `length`.
    pub(crate) fn extend_with_zeros(&mut self, number: u64, length: u64) {
        self.change(number, ChangeKind::Zeros { range: self.cached.len() as u64..length });
    }

    pub(crate) fn set_length(&mut self, number: u64, length: u64) {
        self.change(number, ChangeKind::Length { from: self.cached.len() as u64, to: length });
    }

    fn change(&mut self, number: u64, kind: ChangeKind) {
        if kind.range().is_empty() && !matches!(kind, ChangeKind::Length { .. }) {
            return;
        }
        kind.apply_to_file(&mut self.cached);
        self.unsynced.push(Change { number, kind });
    }

    /// Makes all changes durable.
    pub(crate) fn sync(&mut self) {
        for change in self.unsynced.drain(..) {
            change.kind.apply_to_file(&mut self.durable);
        }
    }

    /// Makes durable what lies in the sectors that `range` touches, and the length as far as reading them needs it: what
    /// a write to a file opened with O_DSYNC does.
    pub(crate) fn sync_range(&mut self, range: Range<u64>) {
        if self.unsynced.iter().any(|change| matches!(change.kind, ChangeKind::Length { .. })) {
            return self.sync();
        }
        let sectors = range.start / SECTOR_BYTES * SECTOR_BYTES..range.end.next_multiple_of(SECTOR_BYTES);
        let end = sectors.end.min(self.cached.len() as u64);
        if (self.durable.len() as u64) < end {
            self.durable.resize(end as usize, 0);
        }
        let mut left = Vec::new();
        for change in self.unsynced.drain(..) {
            let within = sectors.start..end;
            change.kind.apply(&mut self.durable[within.start as usize..end as usize], within);
            let number = change.number;
            left.extend(change.kind.without(&sectors).into_iter().map(|kind| Change { number, kind }));
        }
        self.unsynced = left;
    }

    /// A sync that fails: some of the changes are durable, the others will never be, though readers see them.
    pub(crate) fn fail_sync(&mut self, fate: &mut Fate) {
        self.durable = self.after_crash(fate);
        self.unsynced.clear();
    }

    /// Returns the bytes that a crash leaves.
    pub(crate) fn after_crash(&self, fate: &mut Fate) -> Vec<u8> {
        // The length first: its history is the file's.
        let lengths_there = fate.of_history(self.unsynced.iter().map(|change| change.number), 0);
        let length = self.unsynced[..lengths_there]
            .iter()
            .fold(self.durable.len() as u64, |length, change| change.kind.length_after(length));

        let mut histories: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for (index, change) in self.unsynced.iter().enumerate() {
            let range = change.kind.range();
            for sector in range.start / SECTOR_BYTES..range.end.div_ceil(SECTOR_BYTES) {
                histories.entry(sector).or_default().push(index);
            }
        }
        let mut left = self.durable.clone();
        left.resize(length as usize, 0);
        for (sector, history) in histories {
            // If a cut is there that frees this sector's bytes, so is what came before it: they never come back.
            let known = history
                .iter()
                .rposition(|&index| {
                    index < lengths_there && matches!(self.unsynced[index].kind, ChangeKind::Length { .. })
                })
                .map_or(0, |position| position + 1);
            let there = fate.of_history(history.iter().map(|&index| self.unsynced[index].number), known);
            let start = sector * SECTOR_BYTES;
            if start >= length {
                continue;
            }
            let within = start..(start + SECTOR_BYTES).min(length);
            let target = &mut left[within.start as usize..within.end as usize];
            for &index in &history[..there] {
                let kind = &self.unsynced[index].kind;
                if index < lengths_there || !matches!(kind, ChangeKind::Length { .. }) {
                    kind.apply(target, within.clone());
                }
            }
        }
        left
    }

    /// Damages one bit everywhere.
    pub(crate) fn flip_bit(&mut self, byte: u64, bit: u8) -> bool {
        let mut flipped = false;
        for copy in [&mut self.cached, &mut self.durable] {
            if let Some(byte) = copy.get_mut(byte as usize) {
                *byte ^= 1 << bit;
                flipped = true;
            }
        }
        flipped
    }
}

#[cfg(test)]
mod tests {
    use super::super::survival::Survival;
    use super::*;

    fn crash(content: &Content, seed: u64, survival: Survival) -> Vec<u8> {
        content.after_crash(&mut Fate::new(seed, survival, content.unsynced()))
    }

    #[test]
    fn sectors_survive_each_for_itself() {
        let mut content = Content::durable(vec![0; 4096]);
        content.write(1, &[1; 4096], 0);
        let mut seen = std::collections::HashSet::new();
        for seed in 0..300 {
            let left = crash(&content, seed, Survival::AnySubset);
            assert_eq!(left.len(), 4096);
            for sector in left.chunks(SECTOR_BYTES as usize) {
                assert!(sector.iter().all(|byte| *byte == sector[0]), "a sector is torn");
            }
            seen.insert(left.chunks(SECTOR_BYTES as usize).map(|sector| sector[0]).collect::<Vec<_>>());
        }
        assert!(seen.len() > 30, "only {} outcomes", seen.len());
        assert!(seen.contains(&vec![0; 8]) && seen.contains(&vec![1; 8]));
    }

    #[test]
    fn a_sector_is_as_it_was_at_one_of_its_moments() {
        let mut content = Content::durable(vec![0; 512]);
        content.write(1, &[1; 100], 0);
        content.write(2, &[2; 100], 50);
        content.write(3, &[3; 100], 100);
        let moments: Vec<Vec<u8>> = (0..=3)
            .map(|there| {
                let mut sector = vec![0; 512];
                for (start, value) in [(0, 1), (50, 2), (100, 3)].into_iter().take(there) {
                    sector[start..start + 100].fill(value);
                }
                sector
            })
            .collect();
        let mut seen = [false; 4];
        for seed in 0..200 {
            let left = crash(&content, seed, Survival::AnySubset);
            let moment = moments.iter().position(|moment| *moment == left).expect("a moment that never was");
            seen[moment] = true;
        }
        assert_eq!(seen, [true; 4]);
    }

    #[test]
    fn what_is_synced_stays() {
        let mut content = Content::default();
        content.write(1, b"one", 0);
        content.sync();
        content.write(2, b"two", 600);
        for seed in 0..100 {
            let left = crash(&content, seed, Survival::Seeded);
            assert_eq!(&left[..3], b"one");
            assert!(left.len() == 3 || left.len() == 603);
        }
        assert_eq!(crash(&content, 0, Survival::Nothing), b"one");
        assert_eq!(crash(&content, 0, Survival::Everything), content.bytes());
    }

    #[test]
    fn bytes_that_were_cut_off_never_come_back() {
        let mut content = Content::durable(vec![7; 1024]);
        content.set_length(1, 0);
        content.write(2, &[1; 10], 0);
        content.set_length(3, 1024);
        for seed in 0..200 {
            let left = crash(&content, seed, Survival::AnySubset);
            match left.len() {
                1024 if left[1023] == 7 => assert!(left[512..].iter().all(|byte| *byte == 7)),
                0 | 10 | 1024 => assert!(left.iter().all(|byte| *byte < 2), "{left:?}"),
                other => panic!("a length that never was: {other}"),
            }
        }
    }

    #[test]
    fn a_prefix_of_the_writes_survives_but_for_the_one_under_way() {
        let mut content = Content::durable(vec![0; 512 * 20]);
        for write in 0..20 {
            content.write(write + 1, &[1; 512], write * 512);
        }
        for seed in 0..100 {
            let left = crash(&content, seed, Survival::Prefix);
            let there: Vec<u8> = left.chunks(512).map(|sector| sector[0]).collect();
            assert!(there.is_sorted_by(|a, b| a >= b), "{there:?}");
        }
    }

    #[test]
    fn a_range_sync_settles_its_sectors_and_leaves_the_others_open() {
        let mut content = Content::durable(vec![0; 2048]);
        content.write(1, &[1; 2048], 0);
        content.write(2, &[2; 10], 700);
        content.sync_range(700..710);
        let nothing = crash(&content, 0, Survival::Nothing);
        assert!(nothing[..512].iter().all(|byte| *byte == 0) && nothing[1024..].iter().all(|byte| *byte == 0));
        assert_eq!((nothing[512], nothing[700], nothing[710], nothing[1023]), (1, 2, 1, 1));
        assert_eq!(crash(&content, 0, Survival::Everything), content.bytes());
    }

    #[test]
    fn a_failed_sync_loses_what_it_did_not_write_for_good() {
        let mut lost = 0;
        for seed in 0..50 {
            let mut content = Content::durable(vec![0; 1024]);
            content.write(1, &[1; 1024], 0);
            content.fail_sync(&mut Fate::new(seed, Survival::AnySubset, content.unsynced()));
            assert_eq!(content.bytes(), &[1; 1024], "readers still see it");
            content.sync();
            lost += usize::from(crash(&content, seed, Survival::Everything) != vec![1; 1024]);
        }
        assert!(lost > 10);
    }
}
