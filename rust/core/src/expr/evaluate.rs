//! Predicates on rows, in three-valued logic.

use std::sync::Arc;

use arrow_arith::boolean::{and_kleene, is_null, not, or_kleene};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, Datum, RecordBatch};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_cast::cast;
use arrow_ord::cmp;
use arrow_schema::{ArrowError, DataType};
use arrow_select::filter::filter;

use crate::error::{Error, Result};
use crate::expr::bound_column::BoundColumn;
use crate::expr::formula;
use crate::expr::node::{BoundPredicate, Node, Order};
use crate::expr::normal::{Form, as_bytes, failed};
use crate::spec::char_length::filled_up;

impl BoundPredicate {
    /// The answer for each row: null where it is unknown. Rows with `Some(true)` satisfy the
    /// predicate.
    ///
    /// The batch has the schema's columns that [`BoundPredicate::columns`] names, by their logical
    /// names, what is nested inside of structs; others may be there. Texts may be views, and values
    /// of other types that cast to the schema's.
    ///
    /// # Errors
    ///
    /// Invalid: `filter.values` where the batch lacks a column, or has it in another type.
    pub fn evaluate(&self, batch: &RecordBatch) -> Result<BooleanArray> {
        let mut rows = PredicateEvaluator {
            rows: batch.num_rows(),
            source: Source::Batch(batch),
            columns: Vec::new(),
        };
        rows.evaluate(&self.root)
    }
}

/// The answer for a single value, which all columns of the condition have.
pub(super) fn of_one_value(node: &Node, value: &ArrayRef) -> Result<Option<bool>> {
    let mut rows = PredicateEvaluator {
        rows: 1,
        source: Source::Value(value),
        columns: Vec::new(),
    };
    let answer = rows.evaluate(node)?;
    Ok(answer.iter().next().flatten())
}

/// A comparison as a kernel.
pub(super) type Kernel = fn(&dyn Datum, &dyn Datum) -> Result<BooleanArray, ArrowError>;

impl Order {
    pub(super) fn kernel(self) -> Kernel {
        match self {
            Self::Eq => cmp::eq,
            Self::Lt => cmp::lt,
            Self::LtEq => cmp::lt_eq,
            Self::Gt => cmp::gt,
            Self::GtEq => cmp::gt_eq,
        }
    }
}

#[derive(Clone, Copy)]
enum Source<'a> {
    Batch(&'a RecordBatch),
    Value(&'a ArrayRef),
}

/// Evaluates a predicate over rows, and keeps those of their columns that were used already.
struct PredicateEvaluator<'a> {
    rows: usize,
    source: Source<'a>,
    columns: Vec<(Arc<BoundColumn>, Option<Form>, ArrayRef)>,
}

impl PredicateEvaluator<'_> {
    fn evaluate(&mut self, node: &Node) -> Result<BooleanArray> {
        match node {
            Node::Constant(value) => Ok(BooleanArray::from(vec![*value; self.rows])),
            Node::Column(column) => {
                let values = self.values(column)?;
                let values = values
                    .as_boolean_opt()
                    .ok_or_else(|| wrong(column, &values))?;
                Ok(values.clone())
            }
            Node::IfPresent(column, value) => {
                let nulls = self.values(column)?.logical_nulls();
                let answer = if *value {
                    BooleanBuffer::new_set(self.rows)
                } else {
                    BooleanBuffer::new_unset(self.rows)
                };
                Ok(BooleanArray::new(answer, nulls))
            }
            Node::Compare {
                column,
                form,
                order,
                value,
            } => {
                let values = self.formed(column, *form)?;
                let kernel = order.kernel();
                kernel(&values, value).map_err(failed)
            }
            Node::CompareColumns {
                left,
                right,
                form,
                order,
            } => {
                let left = self.formed(left, *form)?;
                let right = self.formed(right, *form)?;
                let kernel = order.kernel();
                kernel(&left, &right).map_err(failed)
            }
            Node::In {
                column,
                form,
                list,
                or_null,
            } => list.contains(&self.formed(column, *form)?, *or_null),
            Node::Like { column, matcher } => {
                let values = self.formed(column, Form::Bytes)?;
                let values = as_bytes(&values)?;
                let found = BooleanBuffer::collect_bool(self.rows, |row| {
                    matcher.matches(values.value(row))
                });
                Ok(BooleanArray::new(found, values.nulls().cloned()))
            }
            Node::Computed(computed) => {
                let values = computed.columns.iter().map(|column| self.values(column));
                let values = values.collect::<Result<_>>()?;
                computed.answers(values, self.rows)
            }
            Node::ColumnIsNull(column) => {
                let nulls = self.values(column)?.logical_nulls();
                let missing = match nulls {
                    Some(nulls) => !nulls.inner(),
                    None => BooleanBuffer::new_unset(self.rows),
                };
                Ok(BooleanArray::new(missing, None))
            }
            Node::IsNull(inner) => is_null(&self.evaluate(inner)?).map_err(failed),
            Node::IsTrue(inner) => {
                let answer = self.evaluate(inner)?;
                let (values, nulls) = answer.into_parts();
                let known = nulls.map_or_else(|| values.clone(), |nulls| &values & nulls.inner());
                Ok(BooleanArray::new(known, None))
            }
            Node::Not(inner) => not(&self.evaluate(inner)?).map_err(failed),
            Node::And(parts) => self.fold(parts, true, and_kleene),
            Node::Or(parts) => self.fold(parts, false, or_kleene),
        }
    }

    fn fold(
        &mut self,
        parts: &[Node],
        of_none: bool,
        join: fn(&BooleanArray, &BooleanArray) -> Result<BooleanArray, ArrowError>,
    ) -> Result<BooleanArray> {
        let Some((first, rest)) = parts.split_first() else {
            return Ok(BooleanArray::from(vec![of_none; self.rows]));
        };
        let mut answer = self.evaluate(first)?;
        for part in rest {
            let next = if part.computes() {
                self.where_open(&answer, !of_none, part)?
            } else {
                self.evaluate(part)?
            };
            answer = join(&answer, &next).map_err(failed)?;
        }
        Ok(answer)
    }

    /// The answers on the rows that are not decided yet, for only they may be such that the part can be
    /// computed: `b <> 0 AND a / b > 1`. Null on the others.
    fn where_open(
        &mut self,
        before: &BooleanArray,
        decided: bool,
        part: &Node,
    ) -> Result<BooleanArray> {
        let open: BooleanArray = before
            .iter()
            .map(|answer| Some(answer != Some(decided)))
            .collect();
        if open.true_count() == self.rows {
            return self.evaluate(part);
        }
        let mut used = Vec::new();
        part.visit(&mut |column| used.push(Arc::new(column.clone())));
        let mut columns = Vec::with_capacity(used.len());
        for column in used {
            let values = filter(&self.values(&column)?, &open).map_err(failed)?;
            columns.push((column, None, values));
        }
        let mut some = PredicateEvaluator {
            rows: open.true_count(),
            source: self.source,
            columns,
        };
        spread(&some.evaluate(part)?, &open)
    }

    fn formed(&mut self, column: &Arc<BoundColumn>, form: Form) -> Result<ArrayRef> {
        if let Some(known) = self.known(column, Some(form)) {
            return Ok(known);
        }
        let values = form.of(&self.values(column)?, column)?;
        self.columns
            .push((Arc::clone(column), Some(form), Arc::clone(&values)));
        Ok(values)
    }

    fn values(&mut self, column: &Arc<BoundColumn>) -> Result<ArrayRef> {
        if let Some(known) = self.known(column, None) {
            return Ok(known);
        }
        let values = match self.source {
            Source::Batch(batch) => from_batch(batch, column)?,
            Source::Value(value) => Arc::clone(value),
        };
        let values = match column.char_length {
            Some(letters) => filled_up(&cast(&values, &column.data_type).map_err(failed)?, letters),
            None => values,
        };
        self.columns
            .push((Arc::clone(column), None, Arc::clone(&values)));
        Ok(values)
    }

    fn known(&self, column: &BoundColumn, form: Option<Form>) -> Option<ArrayRef> {
        let same = |(other, made, _): &&(Arc<BoundColumn>, Option<Form>, ArrayRef)| {
            *made == form && other.as_ref() == column
        };
        self.columns
            .iter()
            .find(same)
            .map(|(_, _, values)| Arc::clone(values))
    }
}

/// The answers for the rows that the mask is true of, at their places among all rows: null on the others.
pub(super) fn spread(answers: &BooleanArray, mask: &BooleanArray) -> Result<BooleanArray> {
    let spread = formula::spread(answers, mask)?;
    Ok(spread.as_boolean().clone())
}

/// The values of a column that may be inside of structs.
fn from_batch(batch: &RecordBatch, column: &BoundColumn) -> Result<ArrayRef> {
    let found = match column.path.split_first() {
        Some((first, rest)) => batch
            .column_by_name(first)
            .map(|values| nested(values, rest))
            .transpose()?
            .flatten(),
        None => None,
    };
    found.ok_or_else(|| {
        let message = format!(
            "the rows lack the column {}, which the filter uses",
            column.path.join(".")
        );
        Error::invalid("filter.values", message)
    })
}

/// What these names lead to inside of structs: null wherever one of the structs is. `None` where
/// they lead to nothing.
pub(crate) fn nested(values: &ArrayRef, names: &[String]) -> Result<Option<ArrayRef>> {
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

fn wrong(column: &BoundColumn, values: &ArrayRef) -> Error {
    let message = format!(
        "the column {} has values of type {} where the schema has {}",
        column.path.join("."),
        values.data_type(),
        column.data_type
    );
    Error::invalid("filter.values", message)
}
