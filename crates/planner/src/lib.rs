//! From statements to plans. [`binder`] looks names up and gives types, [`plan_statement`] makes the plan, [`deparse`] writes expressions and
//! queries as text, [`explain`] shows plans.

// `from_*` speaks of SQL's FROM here. Trees are built once and live behind boxes.
#![allow(clippy::wrong_self_convention, clippy::large_enum_variant, clippy::arc_with_non_send_sync)]
#![allow(clippy::type_complexity)]

pub mod binder;
pub mod deparse;
pub mod explain;
mod planning;

pub use planning::{
    ColumnStatistics, Inlining, TableStatistics, column_default, copy_filter, domain, fold, names, plan, plan_bound,
    plan_statement, routine, table_expressions, volatility,
};
