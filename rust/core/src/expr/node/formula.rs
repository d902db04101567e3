//! A SQL expression that has a value for each row, as it was written.
//!
//! For what predicates cannot say: values of generated columns, defaults, assignments of an update,
//! constraints with arithmetic in them.

use std::fmt;
use std::sync::Arc;

use sqlparser::ast::Expr;

use crate::error::{Error, Result};

/// Bytes of the longest formula.
const MAX_TEXT: usize = 64 << 10;

/// An expression as it was written, its columns not yet found.
#[derive(Clone)]
pub struct Formula {
    text: String,
    /// Shared: cloning a deep tree takes stack.
    root: Arc<Expr>,
}

/// Formulas of the same text are the same.
impl PartialEq for Formula {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Formula {}

impl fmt::Debug for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Formula({})", self.text)
    }
}

impl Formula {
    /// An expression and the text that it was read from.
    pub(in crate::expr) fn new(text: &str, root: Expr) -> Result<Self> {
        if text.len() > MAX_TEXT {
            let message = format!("an expression may have at most {MAX_TEXT} bytes");
            return Err(Error::invalid("formula.too_long", message));
        }
        Ok(Self {
            text: text.to_owned(),
            root: Arc::new(root),
        })
    }

    /// A part of another formula.
    pub(in crate::expr) fn part(root: &Expr) -> Self {
        Self {
            text: root.to_string(),
            root: Arc::new(root.clone()),
        }
    }

    /// The text.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The expression.
    pub(in crate::expr) fn root(&self) -> &Expr {
        &self.root
    }
}
