//! Formulas: SQL expressions that have a value for each row.
//!
//! For what predicates cannot say: values of generated columns, defaults, assignments of an update,
//! constraints with arithmetic in them. Types follow from the columns as in Spark's ANSI mode: overflow,
//! division by zero and texts that are no number are errors. What is not known is refused by name when a
//! formula is bound, before a row is seen.

mod cast;
mod chars;
mod equalities;
mod evaluate;
mod functions;
mod moments;
mod operators;
mod order;
mod patterns;
mod shown;

use std::fmt;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions, new_null_array};
use arrow_schema::{DataType, Field, Fields, Schema};
use sqlparser::ast::Expr;

use crate::error::{Error, Result};

pub(super) use cast::named_type;

pub(crate) use cast::cast_value;
pub(crate) use equalities::{Equality, Side, equalities};
pub(crate) use evaluate::spread;
pub(crate) use operators::common as common_type;
use patterns::Patterns;

/// Bytes of the longest formula.
const MAX_TEXT: usize = 64 << 10;

/// An expression as it was written, its columns not yet found.
#[derive(Clone)]
pub struct Formula {
    text: String,
    root: Expr,
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
    pub(super) fn new(text: &str, root: Expr) -> Result<Self> {
        if text.len() > MAX_TEXT {
            let message = format!("an expression may have at most {MAX_TEXT} bytes");
            return Err(Error::invalid("formula.too_long", message));
        }
        Ok(Self {
            text: text.to_owned(),
            root,
        })
    }

    /// The text.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The expression.
    pub(super) fn root(&self) -> &Expr {
        &self.root
    }

    /// Whether this one has no value.
    pub(crate) fn is_null(&self) -> Self {
        Self {
            text: format!("({}) IS NULL", self.text),
            root: Expr::IsNull(Box::new(Expr::Nested(Box::new(self.root.clone())))),
        }
    }

    /// Finds the columns, and the type of the values.
    ///
    /// # Errors
    ///
    /// Invalid argument: `formula.column`, `formula.type`, `formula.unsupported` with the name of what is
    /// not known.
    pub fn bind(&self, fields: &Fields) -> Result<BoundFormula> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let micros = since.map_or(0, |since| since.as_micros());
        let mut bound = BoundFormula {
            formula: self.clone(),
            context: Arc::new(Context {
                now: i64::try_from(micros).unwrap_or(i64::MAX),
                patterns: Patterns::default(),
            }),
            data_type: DataType::Null,
        };
        // one row of nothing shows the types, and what is not known
        let fields = fields
            .iter()
            .map(|field| Field::clone(field).with_nullable(true));
        let schema = Arc::new(Schema::new(fields.collect::<Fields>()));
        let nulls = schema.fields().iter();
        let nulls = nulls
            .map(|field| new_null_array(field.data_type(), 1))
            .collect();
        let options = RecordBatchOptions::new().with_row_count(Some(1));
        let row = RecordBatch::try_new_with_options(schema, nulls, &options).map_err(failed)?;
        bound.data_type = bound.evaluate(&row)?.data_type().clone();
        Ok(bound)
    }

    /// As [`Formula::bind`], for a formula whose values are answers.
    ///
    /// # Errors
    ///
    /// As [`Formula::bind`]; `formula.type` where they are none.
    pub fn bind_condition(&self, fields: &Fields) -> Result<BoundFormula> {
        let bound = self.bind(fields)?;
        match bound.data_type {
            DataType::Boolean | DataType::Null => Ok(bound),
            _ => Err(mistyped(&format!("{} is not a condition", self.text))),
        }
    }
}

/// A formula whose columns are known.
#[derive(Clone, Debug)]
pub struct BoundFormula {
    formula: Formula,
    context: Arc<Context>,
    data_type: DataType,
}

/// What stays the same for all rows.
#[derive(Debug)]
struct Context {
    /// What `current_timestamp()` gives: microseconds since the epoch.
    now: i64,
    patterns: Patterns,
}

impl BoundFormula {
    /// The text.
    pub fn text(&self) -> &str {
        &self.formula.text
    }

    /// The type of the values.
    pub fn data_type(&self) -> &DataType {
        &self.data_type
    }

    /// One value for each row.
    ///
    /// # Errors
    ///
    /// Invalid argument: `formula.value` for a value that cannot be computed.
    pub fn evaluate(&self, rows: &RecordBatch) -> Result<ArrayRef> {
        evaluate::FormulaEvaluator::new(rows, &self.context).value(&self.formula.root)
    }

    /// The value of a formula without columns.
    ///
    /// # Errors
    ///
    /// As [`BoundFormula::evaluate`].
    pub(crate) fn one_value(&self) -> Result<ArrayRef> {
        let options = RecordBatchOptions::new().with_row_count(Some(1));
        let schema = Arc::new(Schema::empty());
        let row = RecordBatch::try_new_with_options(schema, Vec::new(), &options);
        self.evaluate(&row.map_err(failed)?)
    }

    /// The values as answers.
    ///
    /// # Errors
    ///
    /// Invalid argument: `formula.type` where they are none; `formula.value`.
    pub fn answers(&self, rows: &RecordBatch) -> Result<BooleanArray> {
        let values = self.evaluate(rows)?;
        let values = cast_value(&values, &DataType::Boolean)?;
        values
            .as_boolean_opt()
            .cloned()
            .ok_or_else(|| mistyped(&format!("{} is not a condition", self.text())))
    }
}

fn mistyped(what: &str) -> Error {
    Error::invalid("formula.type", what)
}

fn unsupported(what: &str) -> Error {
    let message = format!("this release cannot evaluate {what}");
    Error::invalid("formula.unsupported", message)
}

fn failed(cause: arrow_schema::ArrowError) -> Error {
    Error::invalid("formula.value", "a value cannot be computed").because(cause)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
