//! Expressions bound to columns, ready to be evaluated.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, BooleanArray, RecordBatch};
use arrow_schema::DataType;

use crate::error::Result;
use crate::expr::evaluate::Evaluator;
use crate::expr::evaluate::functions::{cast_value, type_error};
use crate::expr::node::Node;

/// A formula with resolved columns.
#[derive(Clone, Debug)]
pub struct BoundFormula {
    text: String,
    root: Arc<Node>,
    data_type: DataType,
}

impl BoundFormula {
    pub(in crate::expr) fn new(text: &str, root: Node, data_type: DataType) -> Self {
        Self {
            text: text.to_owned(),
            root: Arc::new(root),
            data_type,
        }
    }

    /// Returns the text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the type of the values.
    pub fn data_type(&self) -> &DataType {
        &self.data_type
    }

    /// Calls `visit` with the path of each column used, outermost name first.
    pub(crate) fn each_column(&self, visit: &mut dyn FnMut(&[String])) {
        self.root.each_column(&mut |column| visit(&column.path));
    }

    /// Returns one value for each row.
    ///
    /// # Errors
    ///
    /// Invalid argument: `formula.value` for a value that cannot be computed, `formula.too_large` for more than
    /// 2 GiB of strings, `formula.unsupported` for a pattern that `date_format` does not support here;
    /// `filter.values` if the rows lack a column.
    pub fn evaluate(&self, rows: &RecordBatch) -> Result<ArrayRef> {
        Evaluator::of_batch(rows).value(&self.root)
    }

    /// Returns the value of a formula without columns.
    pub(crate) fn constant_value(&self) -> Result<ArrayRef> {
        Evaluator::of_nulls().value(&self.root)
    }

    /// Returns for each row whether the formula, a condition, is true; null if it is unknown.
    ///
    /// # Errors
    ///
    /// Those of [`BoundFormula::evaluate`]; Invalid argument: `formula.type` if it is not a condition.
    pub fn evaluate_condition(&self, rows: &RecordBatch) -> Result<BooleanArray> {
        let values = cast_value(&self.evaluate(rows)?, &DataType::Boolean)?;
        let booleans = values.as_boolean_opt().cloned();
        booleans.ok_or_else(|| type_error(&format!("{} is not a condition", self.text)))
    }
}
