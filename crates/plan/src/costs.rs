//! The costs that the planner estimates with.

use base::settings::{Id, SessionSettings, Value};

/// The costs that plans are compared by.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(missing_docs, reason = "they are named as the settings")]
pub struct PlannerCosts {
    pub seq_page_cost: f64,
    pub random_page_cost: f64,
    pub cpu_tuple_cost: f64,
    pub cpu_index_tuple_cost: f64,
    pub cpu_operator_cost: f64,
}

impl Default for PlannerCosts {
    fn default() -> Self {
        PlannerCosts {
            seq_page_cost: 1.0,
            random_page_cost: 4.0,
            cpu_tuple_cost: 0.01,
            cpu_index_tuple_cost: 0.005,
            cpu_operator_cost: 0.0025,
        }
    }
}

impl PlannerCosts {
    /// The costs that a session has set.
    pub fn of(settings: &SessionSettings) -> PlannerCosts {
        let cost = |id: Id| match settings.get(id) {
            Value::Float(cost) => cost,
            other => unreachable!("a cost is a number: {other:?}"),
        };
        PlannerCosts {
            seq_page_cost: cost(Id::SeqPageCost),
            random_page_cost: cost(Id::RandomPageCost),
            cpu_tuple_cost: cost(Id::CpuTupleCost),
            cpu_index_tuple_cost: cost(Id::CpuIndexTupleCost),
            cpu_operator_cost: cost(Id::CpuOperatorCost),
        }
    }
}
