//! From expressions and queries back to SQL text, in PostgreSQL's form.
//!
//! Two kinds of trees are written:
//! - **bound expressions** ([`Deparser`]): defaults, checks, index expressions, and what EXPLAIN shows. Every literal
//!   carries its type and every operator its parentheses, so that the text means the same when it is read again.
//! - **queries as written** ([`query_text`]): views. Names are completed with their schemas.
//!
//! What is stored is written with [`Qualify::Always`], so that it does not depend on the search path it will be read
//! under; what is shown is written with [`Qualify::WhereNeeded`].

mod bound;
mod call;
mod definition;
mod expr;
mod query;
mod tree_expr;

pub use definition::{
    StoredAs, check_clause, constraint_definition, domain_check_clause, index_column, index_definition,
    stored_expression, stored_value, view_definition,
};
pub use expr::{Deparser, Names, NoNames, Qualify, TableNames, sort_suffix};
pub use query::{KnownLiteral, QueryNames, WrittenNames, query_text};

/// `text` as PostgreSQL writes constants within expressions: backslashes stand as they are.
fn plain_literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
