//! Tests of types as a whole: answers recorded from PostgreSQL, tables against each other, properties.

mod expression;
mod float_text;
mod numeric_by_definition;
mod properties;
mod recorded;
mod registries;
mod resolution;
mod rows;
