//! What a merge is asked to do.

use serde::Deserialize;

/// Which rows a clause speaks of.
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

/// What a clause does.
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
    /// Which rows.
    pub when: When,
    /// Which of them: an expression.
    pub condition: Option<String>,
    /// What becomes of them.
    pub then: Then,
}

/// What is merged, and how.
#[derive(Clone, Debug)]
pub struct MergeDefinition {
    /// When a row of the table and one of the source belong together: an expression.
    pub on: String,
    /// How expressions call the source.
    pub source_name: String,
    /// How expressions call the table.
    pub target_name: String,
    /// In their order.
    pub clauses: Vec<Clause>,
}
