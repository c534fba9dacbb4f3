//! From expressions and queries back to SQL text, in PostgreSQL's form.
//!
//! Two kinds of trees are written:
//! - **bound expressions** ([`Deparser`]): defaults, checks, index expressions, and expressions in EXPLAIN. Every literal
//!   carries its type and every operator its parentheses, so that the text means the same when it is read again.
//! - **stored queries** ([`query_text`]): those of views. The clauses are laid out as they were written, and their contents come from the
//!   bound query. Tables and columns are called by the names that they have now.
//!
//! Text that is stored is written with [`Qualify::Always`], so that it does not depend on the search path under which it will be read.
//! Text that is only shown is written with [`Qualify::WhereNeeded`].

mod bound;
mod call;
mod composite;
mod expr;
mod from;
mod naming;
mod query;
mod tree_expr;

pub use bound::Bound;
pub use expr::{Deparser, Names, NoNames, Qualify, TableNames, sort_suffix};
pub use naming::Catalogs;
pub use query::{KnownLiteral, QueryNames, TableText, visit_names};
pub use query::{dotted, query_text, written, written_type};

/// `text` as PostgreSQL writes constants within expressions: backslashes stand as they are.
fn plain_literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
