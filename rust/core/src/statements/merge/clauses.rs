//! The definition of a merge.

use serde::Deserialize;

/// The rows that a clause applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// Pairs of a target row and a source row.
    Matched,
    /// Source rows without a target row.
    NotMatched,
    /// Target rows without a source row.
    NotMatchedBySource,
}

/// The action of a clause. Each pair is a column and the expression of its new value.
#[derive(Clone, Debug)]
pub enum Then {
    /// Sets these columns; `None` sets all columns to those of the source with the same name.
    Update(Option<Vec<(String, String)>>),
    /// Deletes the target row.
    Delete,
    /// Inserts a row with these columns; `None` inserts the columns of the source that the table has.
    Insert(Option<Vec<(String, String)>>),
}

/// One clause.
#[derive(Clone, Debug)]
pub struct Clause {
    /// The rows that it applies to.
    pub when: When,
    /// An additional condition: an expression.
    pub condition: Option<String>,
    /// Its action.
    pub then: Then,
}

/// The definition of a merge: the join condition, the aliases and the clauses.
#[derive(Clone, Debug)]
pub struct MergeDefinition {
    /// The join condition: an expression.
    pub on: String,
    /// The alias of the source in expressions.
    pub source_name: String,
    /// The alias of the table in expressions.
    pub target_name: String,
    /// The clauses, in order.
    pub clauses: Vec<Clause>,
}
