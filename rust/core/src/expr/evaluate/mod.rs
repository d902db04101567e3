//! Evaluates expressions on rows; conditions use three-valued logic.
//!
//! As in Spark, a part that cannot change the result of a row is not evaluated on it, so that its errors do
//! not occur: `b <> 0 AND a / b > 1`.

pub(super) mod functions;
pub(super) mod in_list;
pub(super) mod like;

use std::sync::Arc;

use arrow_arith::boolean::{and, and_kleene, and_not, not, or_kleene};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, UInt32Array, new_null_array};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType};
use arrow_select::filter::filter;
use arrow_select::take::take;
use recursive::recursive;

use crate::error::{Error, Result};
use crate::expr::evaluate::functions::{
    ColumnarValue, cast_value, compared, if_else, is_true, type_error,
};
use crate::expr::node::bound_column::BoundColumn;
use crate::expr::node::{BoundPredicate, Node};
use crate::expr::value::canonical_order::{Form, as_bytes, failed};
use crate::expr::value::comparison::Op;
use crate::spec::char_length::pad_values;

impl BoundPredicate {
    /// Returns for each row whether the predicate is true; null if it is unknown.
    ///
    /// The batch must have the columns of [`BoundPredicate::columns`] by their logical names, nested ones
    /// within structs; it may have others. Strings may be views, and values may have other types that can
    /// be cast to those of the schema.
    ///
    /// # Errors
    ///
    /// Invalid argument: `filter.values` if the rows lack a column or have values that cannot be cast; for
    /// formulas, the errors of [`BoundFormula::evaluate`](crate::expr::BoundFormula::evaluate).
    pub fn evaluate(&self, batch: &RecordBatch) -> Result<BooleanArray> {
        Evaluator::of_batch(batch).condition(&self.root)
    }
}

/// The source of the values of columns.
#[derive(Clone, Copy)]
enum ColumnSource<'a> {
    Batch(&'a RecordBatch),
    /// All columns have this value.
    Value(&'a ArrayRef),
    Nulls,
}

/// The form in which the values of a column are needed.
#[derive(Clone, Copy, PartialEq)]
enum ColumnKind {
    /// As in the source.
    Stored,
    /// In the column's type.
    Typed,
    In(Form),
}

/// Evaluates expressions on rows, and caches the columns used so far.
pub(super) struct Evaluator<'a> {
    rows: usize,
    source: ColumnSource<'a>,
    columns: Vec<(Arc<BoundColumn>, ColumnKind, ArrayRef)>,
}

impl<'a> Evaluator<'a> {
    fn new(rows: usize, source: ColumnSource<'a>) -> Self {
        Self {
            rows,
            source,
            columns: Vec::new(),
        }
    }

    pub(super) fn of_batch(batch: &'a RecordBatch) -> Self {
        Self::new(batch.num_rows(), ColumnSource::Batch(batch))
    }

    /// Evaluates one row, in which all columns have this value.
    pub(super) fn of_value(value: &'a ArrayRef) -> Self {
        Self::new(1, ColumnSource::Value(value))
    }

    /// Evaluates one row of nulls.
    pub(super) fn of_nulls() -> Self {
        Self::new(1, ColumnSource::Nulls)
    }

    /// Evaluates rows with these columns.
    pub(super) fn of_columns(rows: usize, columns: Vec<(Arc<BoundColumn>, ArrayRef)>) -> Self {
        let stored = |(column, values)| (column, ColumnKind::Stored, values);
        Self {
            columns: columns.into_iter().map(stored).collect(),
            ..Self::new(rows, ColumnSource::Nulls)
        }
    }

    /// Returns the value for each row.
    #[recursive]
    pub(super) fn value(&mut self, node: &Node) -> Result<ArrayRef> {
        match node {
            Node::Constant(value) => ColumnarValue::Scalar(Arc::clone(value)).into_array(self.rows),
            Node::Column(column) => self.column(column, ColumnKind::Typed),
            Node::Cast {
                value, data_type, ..
            } => cast_value(&self.value(value)?, data_type),
            Node::Arithmetic(op, left, right) => {
                let (left, right) = if op.divides() {
                    let (right, left) = self.pair(right, left)?;
                    (left, right)
                } else {
                    self.pair(left, right)?
                };
                op.evaluate(&left, &right)
            }
            Node::Case {
                branches,
                otherwise,
            } => self.case(branches, otherwise),
            Node::Coalesce(parts) => self.coalesce(parts),
            Node::Call(function, arguments) => {
                let arguments = arguments.iter().map(|argument| self.value(argument));
                function.call(&arguments.collect::<Result<Vec<_>>>()?)
            }
            Node::With {
                value,
                column,
                root,
            } => {
                let values = self.value(value)?;
                self.columns
                    .push((Arc::clone(column), ColumnKind::Stored, values));
                self.value(root)
            }
            condition => Ok(Arc::new(self.condition(condition)?)),
        }
    }

    /// Returns for each row whether a condition is true; null if it is unknown.
    #[recursive]
    pub(super) fn condition(&mut self, node: &Node) -> Result<BooleanArray> {
        match node {
            Node::Constant(_)
            | Node::Column(_)
            | Node::Cast { .. }
            | Node::Arithmetic(..)
            | Node::Case { .. }
            | Node::Coalesce(_)
            | Node::Call(..)
            | Node::With { .. } => as_booleans(&self.value(node)?),
            Node::CompareConstant {
                column,
                form,
                op,
                value,
            } => {
                let values = self.column(column, ColumnKind::In(*form))?;
                op.kernel()(&values, value).map_err(failed)
            }
            Node::CompareColumns {
                left,
                right,
                form,
                op,
            } => {
                let left = self.column(left, ColumnKind::In(*form))?;
                let right = self.column(right, ColumnKind::In(*form))?;
                op.kernel()(&left, &right).map_err(failed)
            }
            Node::In {
                column,
                form,
                list,
                or_null,
            } => list.contains(&self.column(column, ColumnKind::In(*form))?, *or_null),
            Node::Like { text, pattern } => {
                let values = match text.as_ref() {
                    Node::Column(column) => self.column(column, ColumnKind::In(Form::Bytes))?,
                    other => cast(&self.value(other)?, &DataType::Binary).map_err(failed)?,
                };
                let matches = |text: &[u8]| pattern.matches(text);
                Ok(BooleanArray::from_unary(as_bytes(&values)?, matches))
            }
            Node::IsNull(inner) => {
                let values = match inner.as_ref() {
                    Node::Column(column) => self.column(column, ColumnKind::Stored)?,
                    other => self.value(other)?,
                };
                let missing = match values.logical_nulls() {
                    Some(nulls) => !nulls.inner(),
                    None => BooleanBuffer::new_unset(self.rows),
                };
                Ok(BooleanArray::new(missing, None))
            }
            Node::IsTrue(inner) => Ok(is_true(&self.condition(inner)?)),
            Node::Not(inner) => not(&self.condition(inner)?).map_err(failed),
            Node::And(parts) => self.fold(parts, true, and_kleene),
            Node::Or(parts) => self.fold(parts, false, or_kleene),
            Node::Compare(Op::NullSafeEq, left, right) => {
                let left = ColumnarValue::Array(self.value(left)?);
                compared(Op::NullSafeEq, &left, &self.columnar_value(right)?)
            }
            Node::Compare(op, left, right) => {
                let (left, right) = self.pair(left, right)?;
                compared(*op, &left, &right)
            }
        }
    }

    /// Joins conditions from left to right; one that can fail is evaluated only on rows that are not decided yet.
    /// `neutral` is the result without conditions.
    fn fold(
        &mut self,
        parts: &[Node],
        neutral: bool,
        join: fn(&BooleanArray, &BooleanArray) -> Result<BooleanArray, ArrowError>,
    ) -> Result<BooleanArray> {
        let Some((first, rest)) = parts.split_first() else {
            return Ok(BooleanArray::from(vec![neutral; self.rows]));
        };
        let mut result = self.condition(first)?;
        for part in rest {
            let next = if part.can_fail() {
                let is_decided = if neutral {
                    is_true(&not(&result).map_err(failed)?)
                } else {
                    is_true(&result)
                };
                self.condition_on(&not(&is_decided).map_err(failed)?, part)?
            } else {
                self.condition(part)?
            };
            result = join(&result, &next).map_err(failed)?;
        }
        Ok(result)
    }

    /// Evaluates two expressions; if the second can fail, it is evaluated only where the first is not null.
    /// At least one of the results is an array.
    fn pair(&mut self, first: &Node, second: &Node) -> Result<(ColumnarValue, ColumnarValue)> {
        let first = match second {
            Node::Constant(_) => ColumnarValue::Array(self.value(first)?),
            _ => self.columnar_value(first)?,
        };
        let second = if second.can_fail() && !second.is_constant() {
            self.columnar_value_on(&first.valid(self.rows), second)?
        } else {
            self.columnar_value(second)?
        };
        Ok((first, second))
    }

    fn case(&mut self, branches: &[(Node, Node)], otherwise: &Node) -> Result<ArrayRef> {
        let mut remaining = BooleanArray::from(vec![true; self.rows]);
        let mut masks_and_values = Vec::with_capacity(branches.len());
        for (condition, value) in branches {
            let mask = is_true(&self.condition_on(&remaining, condition)?);
            let mask = and(&remaining, &mask).map_err(failed)?;
            remaining = and_not(&remaining, &mask).map_err(failed)?;
            let value = self.columnar_value_on(&mask, value)?;
            masks_and_values.push((mask, value));
        }
        let otherwise = self.columnar_value_on(&remaining, otherwise)?;
        self.merge(masks_and_values, otherwise)
    }

    fn coalesce(&mut self, parts: &[Node]) -> Result<ArrayRef> {
        let mut remaining = BooleanArray::from(vec![true; self.rows]);
        let mut masks_and_values = Vec::with_capacity(parts.len());
        for part in parts {
            let value = self.columnar_value_on(&remaining, part)?;
            let mask = value.valid(self.rows);
            remaining = and_not(&remaining, &mask).map_err(failed)?;
            masks_and_values.push((mask, value));
        }
        let null = ColumnarValue::Scalar(new_null_array(&DataType::Null, 1));
        self.merge(masks_and_values, null)
    }

    /// Returns for each row the value of the first mask that is true, or `otherwise`.
    fn merge(
        &self,
        masks_and_values: Vec<(BooleanArray, ColumnarValue)>,
        otherwise: ColumnarValue,
    ) -> Result<ArrayRef> {
        let mut result = otherwise;
        for (mask, value) in masks_and_values.into_iter().rev() {
            result = ColumnarValue::Array(if_else(&mask, &value, &result)?);
        }
        result.into_array(self.rows)
    }

    /// Returns the value for each row, or a constant.
    fn columnar_value(&mut self, node: &Node) -> Result<ColumnarValue> {
        Ok(match node {
            Node::Constant(value) => ColumnarValue::Scalar(Arc::clone(value)),
            other => ColumnarValue::Array(self.value(other)?),
        })
    }

    /// Evaluates as [`Self::columnar_value`], but only on the rows selected by the mask if the expression can fail.
    /// The values of the other rows are arbitrary.
    fn columnar_value_on(&mut self, mask: &BooleanArray, node: &Node) -> Result<ColumnarValue> {
        if !node.can_fail() || mask.true_count() == self.rows {
            return self.columnar_value(node);
        }
        let columns = node.columns().into_iter().map(|column| {
            let values = self.column(&column, ColumnKind::Stored)?;
            Ok((column, filter(&values, mask).map_err(failed)?))
        });
        let columns = columns.collect::<Result<_>>()?;
        let values = Evaluator::of_columns(mask.true_count(), columns).value(node)?;
        Ok(ColumnarValue::Array(spread(&values, mask)?))
    }

    fn condition_on(&mut self, mask: &BooleanArray, node: &Node) -> Result<BooleanArray> {
        as_booleans(&self.columnar_value_on(mask, node)?.into_array(self.rows)?)
    }

    fn column(&mut self, column: &Arc<BoundColumn>, kind: ColumnKind) -> Result<ArrayRef> {
        let same = |(other, cached_kind, _): &&(Arc<BoundColumn>, ColumnKind, ArrayRef)| {
            *cached_kind == kind && (Arc::ptr_eq(other, column) || other == column)
        };
        if let Some((_, _, values)) = self.columns.iter().find(same) {
            return Ok(Arc::clone(values));
        }
        let values = match kind {
            ColumnKind::Stored => self.stored(column)?,
            ColumnKind::Typed => {
                let values = self.column(column, ColumnKind::Stored)?;
                if values.data_type() == &column.data_type || column.data_type.is_nested() {
                    return Ok(values);
                }
                cast(&values, &column.data_type).map_err(failed)?
            }
            ColumnKind::In(form) => form.of(&self.column(column, ColumnKind::Stored)?, column)?,
        };
        self.columns
            .push((Arc::clone(column), kind, Arc::clone(&values)));
        Ok(values)
    }

    fn stored(&self, column: &BoundColumn) -> Result<ArrayRef> {
        let values = match self.source {
            ColumnSource::Batch(batch) => from_batch(batch, column)?,
            ColumnSource::Value(value) => Arc::clone(value),
            ColumnSource::Nulls => new_null_array(&column.data_type, self.rows),
        };
        Ok(match column.char_length {
            Some(characters) => pad_values(
                &cast(&values, &column.data_type).map_err(failed)?,
                characters,
            ),
            None => values,
        })
    }
}

fn as_booleans(values: &ArrayRef) -> Result<BooleanArray> {
    let booleans = values.as_boolean_opt().cloned();
    booleans.ok_or_else(|| type_error("a value is not a condition"))
}

/// Spreads the values of the rows selected by the mask to their indexes among all rows: null on the others.
pub(super) fn spread(values: &dyn Array, mask: &BooleanArray) -> Result<ArrayRef> {
    let mut next = 0;
    let indexes = mask.iter().map(|is_set| {
        if is_set != Some(true) {
            return None;
        }
        next += 1;
        Some(next - 1)
    });
    take(values, &indexes.collect::<UInt32Array>(), None).map_err(failed)
}

/// Returns the values of a column, which may be nested in structs.
fn from_batch(batch: &RecordBatch, column: &BoundColumn) -> Result<ArrayRef> {
    let mut values = None;
    if let Some((first, rest)) = column.path.split_first()
        && let Some(column) = batch.column_by_name(first)
    {
        values = nested_column(column, rest)?;
    }
    values.ok_or_else(|| {
        let message = format!(
            "the rows lack the column {}, which the filter uses",
            column.path.join(".")
        );
        Error::invalid("filter.values", message)
    })
}

/// Returns the nested column with this path, with nulls where one of its structs is null; `None` if there is
/// no such column.
pub(crate) fn nested_column(values: &ArrayRef, names: &[String]) -> Result<Option<ArrayRef>> {
    let mut values = values;
    let mut nulls: Option<NullBuffer> = None;
    for name in names {
        let Some(structure) = values.as_struct_opt() else {
            return Ok(None);
        };
        nulls = NullBuffer::union(nulls.as_ref(), structure.nulls());
        match structure.column_by_name(name) {
            Some(inner) => values = inner,
            None => return Ok(None),
        }
    }
    if nulls.is_none() || *values.data_type() == DataType::Null {
        return Ok(Some(Arc::clone(values)));
    }
    let nulls = NullBuffer::union(nulls.as_ref(), values.logical_nulls().as_ref());
    let data = values.to_data().into_builder().nulls(nulls);
    let masked = data.build().map_err(failed)?;
    Ok(Some(arrow_array::make_array(masked)))
}
