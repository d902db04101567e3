//! The definition of a merge.

use serde::Deserialize;

/// The rows that a clause applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// Pairs of a row of the table and one of the source.
    Matched,
    /// Rows of the source alone.
    NotMatched,
    /// Rows of the table alone.
    NotMatchedBySource,
}

/// The action of a clause.
#[derive(Clone, Debug)]
pub enum Then {
    /// Sets these columns; `None`: all, to the source's of the same names.
    Update(Option<Vec<(String, String)>>),
    /// Deletes the row of the table.
    Delete,
    /// Inserts a row with these columns; `None`: the source's.
    Insert(Option<Vec<(String, String)>>),
}

/// One clause.
#[derive(Clone, Debug)]
pub struct Clause {
    /// The rows that it applies to.
    pub when: When,
    /// A further condition on them: an expression.
    pub condition: Option<String>,
    /// Its action.
    pub then: Then,
}

/// The definition of a merge: clauses and options.
#[derive(Clone, Debug)]
pub struct MergeDefinition {
    /// When a row of the table and one of the source belong together: an expression.
    pub on: String,
    /// The name of the source in expressions.
    pub source_name: String,
    /// The name of the table in expressions.
    pub target_name: String,
    /// In their order.
    pub clauses: Vec<Clause>,
}
