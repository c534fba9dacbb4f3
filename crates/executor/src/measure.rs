//! Counts and times of the nodes of a running plan, for EXPLAIN ANALYZE.

use std::sync::Arc;
use std::time::Instant;

use base::Result;
use engine::{PageMeter, PageReader};
use plan::{Effort, Measured, Plan};
use rustc_hash::FxHashMap;
use sync::Mutex;
use types::Value;

use crate::{BoxOperator, Operator, Run};

/// So many bytes in kilobytes, at least one.
pub(super) fn kilobytes(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(1024).max(1)
}

/// The measurements of a plan's nodes.
#[derive(Clone, Debug, Default)]
pub struct Measurements {
    /// A leaf.
    nodes: Arc<Mutex<FxHashMap<usize, Measured>>>,
    pages: Option<PageReader>,
}

impl Measurements {
    /// With the pages that `meter` counts.
    pub fn with_pages(meter: &PageMeter) -> Measurements {
        Measurements { pages: Some(meter.reader()), ..Measurements::default() }
    }

    /// Whether pages are counted.
    pub fn has_pages(&self) -> bool {
        self.pages.is_some()
    }

    /// The measurements of a node; `None` if it never ran.
    pub fn of(&self, plan: &Plan) -> Option<Measured> {
        self.nodes.lock().get(&key(plan)).copied()
    }
}

/// Plans don't move while they run.
fn key(plan: &Plan) -> usize {
    std::ptr::from_ref(plan) as usize
}

/// `operator` of `plan`, its doings counted.
pub(super) fn measuring<'p>(operator: BoxOperator<'p>, plan: &'p Plan, measurements: &Measurements) -> BoxOperator<'p> {
    Box::new(Measuring { operator, node: key(plan), measurements: measurements.clone(), loop_rows: None })
}

struct Measuring<'p> {
    operator: BoxOperator<'p>,
    node: usize,
    measurements: Measurements,
    /// Rows of the loop under way.
    loop_rows: Option<u64>,
}

impl<'p> Operator<'p> for Measuring<'p> {
    fn next(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        let before = self.measurements.pages.map(PageReader::read);
        let removed_before = run.locals.removed_rows;
        let started = Instant::now();
        let found = self.operator.next(run)?;
        let took = started.elapsed();
        // The nodes below have already subtracted the rows that they removed.
        let removed = run.locals.removed_rows - removed_before;
        run.locals.removed_rows = removed_before;
        let mut all = self.measurements.nodes.lock();
        let measured = all.entry(self.node).or_default();
        let rows = self.loop_rows.get_or_insert_with(|| {
            measured.loops += 1;
            0
        });
        if *rows == 0 {
            measured.first += took;
        }
        if *rows == 0 || !found {
            measured.effort = self.operator.effort();
        }
        measured.total += took;
        measured.removed_rows += removed;
        if let (Some(pages), Some(before)) = (self.measurements.pages, before) {
            measured.pages = measured.pages.plus(&pages.read().since(&before));
        }
        if found {
            *rows += 1;
            measured.rows += 1;
        }
        Ok(found)
    }

    fn row(&self) -> &[Value] {
        self.operator.row()
    }

    fn rescan(&mut self) {
        self.loop_rows = None;
        self.operator.rescan();
    }

    fn set_bound(&mut self, rows: u64) {
        self.operator.set_bound(rows);
    }

    fn effort(&self) -> Option<Effort> {
        self.operator.effort()
    }
}
