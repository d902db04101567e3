//! An SQL expression with a value for each row, unbound.
//!
//! For expressions that are not predicates: values of generated columns, defaults, assignments of an
//! update, constraints with arithmetic.

use std::fmt;
use std::sync::Arc;

use sqlparser::ast::Expr;

use crate::error::{Error, Result};

/// The maximum length of a formula in bytes.
const MAX_TEXT: usize = 64 << 10;

/// An expression as it was written; its columns are unresolved.
#[derive(Clone)]
pub struct Formula {
    text: String,
    /// Shared: cloning a deep tree takes stack.
    root: Arc<Expr>,
}

/// Formulas with equal texts are equal.
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
    pub(in crate::expr) fn new(text: &str, root: Expr) -> Self {
        Self {
            text: text.to_owned(),
            root: Arc::new(root),
        }
    }

    /// Refuses a text that is too long for a formula.
    pub(in crate::expr) fn check_length(text: &str) -> Result<()> {
        if text.len() > MAX_TEXT {
            let message = format!("an expression may have at most {MAX_TEXT} bytes");
            return Err(Error::invalid("formula.too_long", message));
        }
        Ok(())
    }

    /// Creates a formula from a part of another one.
    pub(in crate::expr) fn part(root: &Expr) -> Self {
        Self {
            text: root.to_string(),
            root: Arc::new(root.clone()),
        }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(in crate::expr) fn root(&self) -> &Expr {
        &self.root
    }
}
