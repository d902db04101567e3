//! Predicates on bounds: the possible results for the rows of a file.
//!
//! For each condition, three sets of units are computed: those where it may be true for some row, those
//! where it may be false, and those where it may be unknown. A set may be too large, never too small; so
//! every operator, including `NOT`, has an exact rule.

pub(super) mod bounds;
mod single_valued;

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, Datum, Int64Array, Scalar, StringArray};
use arrow_buffer::BooleanBuffer;
use arrow_cast::cast;
use arrow_ord::cmp;
use arrow_schema::DataType;
use arrow_select::nullif::nullif;
use recursive::recursive;

use crate::error::{Error, Result};
use crate::expr::evaluate::in_list::{InList, bytes_at};
use crate::expr::evaluate::like::{LikePattern, Prefix, successor};
use crate::expr::node::bound_column::BoundColumn;
use crate::expr::node::{BoundPredicate, Node};
use crate::expr::skip::bounds::{Bounds, ColumnBounds};
use crate::expr::value::canonical_order::{Form, as_bytes, as_integers, failed};
use crate::expr::value::comparison::BaseOp;
use crate::expr::value::floats::NAN_KEY;
use crate::spec::char_length::padded;

impl BoundPredicate {
    /// Returns the units that may contain a row that satisfies the predicate: false only if no row can.
    ///
    /// # Errors
    ///
    /// Invalid argument: `filter.bounds` if the arrays of `bounds` do not have a row for each unit; `filter.values`
    /// if they cannot be cast to the column's type; the errors of `bounds`.
    pub fn may_match(&self, bounds: &dyn ColumnBounds) -> Result<BooleanBuffer> {
        let mut units = Units {
            bounds,
            len: bounds.len(),
            known: Vec::new(),
            ranges: Vec::new(),
        };
        Ok(units.possible(&self.root)?.is_true)
    }
}

/// The units where a condition may be true for some row, those where it may be false, and those where it may
/// be null.
struct PossibleResults {
    is_true: BooleanBuffer,
    is_false: BooleanBuffer,
    is_null: BooleanBuffer,
}

impl PossibleResults {
    fn negated(self) -> Self {
        Self {
            is_true: self.is_false,
            is_false: self.is_true,
            is_null: self.is_null,
        }
    }

    fn and(self, other: &Self) -> Self {
        let not_false = &other.is_true | &other.is_null;
        Self {
            is_null: &(&self.is_null & &not_false) | &(&self.is_true & &other.is_null),
            is_true: &self.is_true & &other.is_true,
            is_false: &self.is_false | &other.is_false,
        }
    }
}

/// The bounds of a column in each unit, in a form for comparison.
#[derive(Clone)]
struct Range {
    min: Option<ArrayRef>,
    max: Option<ArrayRef>,
    /// There may be a value that is not null.
    has_values: BooleanBuffer,
    /// There may be a null.
    has_nulls: BooleanBuffer,
    /// There may be a `NaN` outside of the bounds.
    has_nan: bool,
}

impl Range {
    /// Returns the possible results of a condition on values of this range, which is null for nulls.
    fn results(&self, is_true: &BooleanBuffer, is_false: &BooleanBuffer) -> PossibleResults {
        PossibleResults {
            is_true: is_true & &self.has_values,
            is_false: is_false & &self.has_values,
            is_null: self.has_nulls.clone(),
        }
    }
}

/// Evaluates conditions on the bounds of some units.
struct Units<'a> {
    bounds: &'a dyn ColumnBounds,
    len: usize,
    /// The bounds requested so far.
    known: Vec<(Arc<BoundColumn>, Bounds)>,
    /// The same bounds in a form for comparison.
    ranges: Vec<(Arc<BoundColumn>, Form, Range)>,
}

impl Units<'_> {
    #[recursive]
    fn possible(&mut self, node: &Node) -> Result<PossibleResults> {
        Ok(match node {
            Node::Constant(value) => {
                let value = value
                    .as_boolean_opt()
                    .and_then(|values| values.iter().next()?);
                PossibleResults {
                    is_true: self.all_or_none(value == Some(true)),
                    is_false: self.all_or_none(value == Some(false)),
                    is_null: self.all_or_none(value.is_none()),
                }
            }
            Node::Column(column) => {
                let range = self.range(column, Form::Integer)?;
                let value = Scalar::new(Arc::new(Int64Array::from(vec![1])) as ArrayRef);
                self.compare_constant(&range, BaseOp::Eq, &value)?
            }
            Node::CompareConstant {
                column,
                form,
                op,
                value,
            } => {
                let range = self.range(column, *form)?;
                self.compare_constant(&range, *op, value)?
            }
            Node::CompareColumns {
                left,
                right,
                form,
                op,
            } => {
                let (left, right) = (self.range(left, *form)?, self.range(right, *form)?);
                self.compare_columns(left, *op, right)?
            }
            Node::In {
                column,
                form,
                list,
                or_null,
            } => {
                let range = self.range(column, *form)?;
                self.in_list(range, list, *or_null)?
            }
            Node::Like { text, pattern } => match text.as_ref() {
                Node::Column(column) if column.data_type == DataType::Utf8 => {
                    let range = self.range(column, Form::Bytes)?;
                    self.like(&range, pattern)?
                }
                _ => self.by_evaluation(node)?,
            },
            Node::IsNull(inner) => match inner.as_ref() {
                Node::Column(column) => {
                    let (has_values, has_nulls) = self.presence(column)?;
                    self.never_null(has_nulls, has_values)
                }
                inner if inner.is_condition() => {
                    let inner = self.possible(inner)?;
                    let is_false = &inner.is_true | &inner.is_false;
                    self.never_null(inner.is_null, is_false)
                }
                _ => self.by_evaluation(node)?,
            },
            Node::IsTrue(inner) => {
                let inner = self.possible(inner)?;
                let is_false = &inner.is_false | &inner.is_null;
                self.never_null(inner.is_true, is_false)
            }
            Node::Not(inner) => self.possible(inner)?.negated(),
            Node::And(parts) => self.all_of(parts, false)?,
            // by De Morgan's law
            Node::Or(parts) => self.all_of(parts, true)?.negated(),
            Node::Compare(..)
            | Node::Arithmetic(..)
            | Node::Cast { .. }
            | Node::Case { .. }
            | Node::Coalesce(_)
            | Node::Call(..)
            | Node::With { .. } => self.by_evaluation(node)?,
        })
    }

    fn all_of(&mut self, parts: &[Node], negated: bool) -> Result<PossibleResults> {
        let mut all = PossibleResults {
            is_true: self.all_or_none(true),
            is_false: self.all_or_none(false),
            is_null: self.all_or_none(false),
        };
        for part in parts {
            let part = self.possible(part)?;
            all = all.and(&if negated { part.negated() } else { part });
        }
        Ok(all)
    }

    fn all_or_none(&self, all: bool) -> BooleanBuffer {
        if all {
            BooleanBuffer::new_set(self.len)
        } else {
            BooleanBuffer::new_unset(self.len)
        }
    }

    fn never_null(&self, is_true: BooleanBuffer, is_false: BooleanBuffer) -> PossibleResults {
        PossibleResults {
            is_true,
            is_false,
            is_null: self.all_or_none(false),
        }
    }

    /// Evaluates `IN` on bounds; with `or_null`, the list also contains null.
    fn in_list(&self, range: Range, list: &InList, or_null: bool) -> Result<PossibleResults> {
        let mut members = list.membership(self.len, range.min.as_ref(), range.max.as_ref())?;
        if range.has_nan {
            let has_nan = list.has_nan();
            members.listed = &members.listed | &self.all_or_none(has_nan);
            members.unlisted = &members.unlisted | &self.all_or_none(!has_nan);
        }
        let mut results = range.results(&members.listed, &members.unlisted);
        if or_null {
            results.is_null = &results.is_null | &results.is_false;
            results.is_false = self.all_or_none(false);
        }
        Ok(results)
    }

    fn compare_constant(
        &self,
        range: &Range,
        op: BaseOp,
        value: &Scalar<ArrayRef>,
    ) -> Result<PossibleResults> {
        let (mut is_true, mut is_false) = self.compare(op, range, Some(value), Some(value))?;
        if range.has_nan {
            let nan = Int64Array::from(vec![NAN_KEY]);
            let nan_matches = op.kernel()(&nan, value).map_err(failed)?.true_count() > 0;
            is_true = &is_true | &self.all_or_none(nan_matches);
            is_false = &is_false | &self.all_or_none(!nan_matches);
        }
        Ok(range.results(&is_true, &is_false))
    }

    fn compare_columns(
        &self,
        mut left: Range,
        op: BaseOp,
        mut right: Range,
    ) -> Result<PossibleResults> {
        for side in [&mut left, &mut right] {
            if side.has_nan {
                side.max = None;
            }
        }
        let (low, high) = (datum(&right.min), datum(&right.max));
        let (is_true, is_false) = self.compare(op, &left, low, high)?;
        left.has_values = &left.has_values & &right.has_values;
        left.has_nulls = &left.has_nulls | &right.has_nulls;
        Ok(left.results(&is_true, &is_false))
    }

    /// Compares values in a range with values from `low` to `high`: returns the units where the comparison can
    /// be true, and those where it can be false.
    fn compare(
        &self,
        op: BaseOp,
        range: &Range,
        low: Option<&dyn Datum>,
        high: Option<&dyn Datum>,
    ) -> Result<(BooleanBuffer, BooleanBuffer)> {
        let can = |op: BaseOp, left: &Option<ArrayRef>, right: Option<&dyn Datum>| {
            let (Some(left), Some(right)) = (left, right) else {
                return Ok(self.all_or_none(true));
            };
            let results = op.kernel()(left, right).map_err(failed)?;
            Ok::<_, Error>(true_or_null(results))
        };
        let Range { min, max, .. } = range;
        Ok(match op {
            BaseOp::Lt => (can(BaseOp::Lt, min, high)?, can(BaseOp::GtEq, max, low)?),
            BaseOp::LtEq => (can(BaseOp::LtEq, min, high)?, can(BaseOp::Gt, max, low)?),
            BaseOp::Gt => (can(BaseOp::Gt, max, low)?, can(BaseOp::LtEq, min, high)?),
            BaseOp::GtEq => (can(BaseOp::GtEq, max, low)?, can(BaseOp::Lt, min, high)?),
            BaseOp::Eq => {
                let is_true = &can(BaseOp::LtEq, min, high)? & &can(BaseOp::GtEq, max, low)?;
                // cannot be false only if all four bounds are equal
                let below = can(BaseOp::Lt, min, high)?;
                let above = can(BaseOp::Gt, max, low)?;
                (is_true, &below | &above)
            }
        })
    }

    fn like(&self, range: &Range, pattern: &LikePattern) -> Result<PossibleResults> {
        let (prefix, exact, sufficient) = match pattern.prefix() {
            Prefix::Exact(text) => (text, true, false),
            Prefix::Sufficient(text) => (text, false, true),
            Prefix::Necessary(text) => (text, false, false),
        };
        let min = range.min.as_ref().map(as_bytes).transpose()?;
        let max = range.max.as_ref().map(as_bytes).transpose()?;
        let after = successor(prefix);
        let low = |row| min.and_then(|min| bytes_at(min, row));
        let high = |row| max.and_then(|max| bytes_at(max, row));
        let before_end = |text: &[u8]| after.as_deref().is_none_or(|after| text < after);
        let is_true = BooleanBuffer::collect_bool(self.len, |row| {
            low(row).is_none_or(|low| low <= prefix || (!exact && before_end(low)))
                && high(row).is_none_or(|high| high >= prefix)
        });
        let is_false = BooleanBuffer::collect_bool(self.len, |row| {
            let within = match (low(row), high(row)) {
                (Some(low), Some(high)) if exact => low == prefix && high == prefix,
                (Some(low), Some(high)) if sufficient => low >= prefix && before_end(high),
                _ => false,
            };
            !(within || (sufficient && prefix.is_empty()))
        });
        Ok(range.results(&is_true, &is_false))
    }

    /// Returns the units that may have values, and those that may have nulls.
    fn presence(&mut self, column: &Arc<BoundColumn>) -> Result<(BooleanBuffer, BooleanBuffer)> {
        let all = self.all_or_none(true);
        let bounds = self.bounds_of(column)?;
        let Some(nulls) = &bounds.null_count else {
            return Ok((all.clone(), all));
        };
        let zero = Int64Array::new_scalar(0);
        let has_nulls = true_or_null(cmp::neq(nulls, &zero).map_err(failed)?);
        let has_values = match &bounds.num_rows {
            Some(rows) => true_or_null(cmp::neq(nulls, rows).map_err(failed)?),
            None => all,
        };
        Ok((has_values, has_nulls))
    }

    fn bounds_of(&mut self, column: &Arc<BoundColumn>) -> Result<Bounds> {
        if let Some((_, bounds)) = self.known.iter().find(|(known, _)| known == column) {
            return Ok(bounds.clone());
        }
        let mut bounds = self.bounds.bounds(column)?.unwrap_or_default();
        if let (Some(max), Some(characters)) = (&bounds.max, column.char_length) {
            bounds.max = Some(padded_max(max, characters)?);
        }
        let lengths = [
            bounds.min.as_ref().map(|values| values.len()),
            bounds.max.as_ref().map(|values| values.len()),
            bounds.null_count.as_ref().map(Array::len),
            bounds.num_rows.as_ref().map(Array::len),
        ];
        if lengths.iter().flatten().any(|length| *length != self.len) {
            let message = format!(
                "the bounds of {} do not have one row for each of {} units",
                column.path.join("."),
                self.len
            );
            return Err(Error::invalid("filter.bounds", message));
        }
        self.known.push((Arc::clone(column), bounds.clone()));
        Ok(bounds)
    }

    fn range(&mut self, column: &Arc<BoundColumn>, form: Form) -> Result<Range> {
        let same = |(known, cached_form, _): &&(Arc<BoundColumn>, Form, Range)| {
            *cached_form == form && known == column
        };
        if let Some((_, _, range)) = self.ranges.iter().find(same) {
            return Ok(range.clone());
        }
        let (has_values, has_nulls) = self.presence(column)?;
        let bounds = self.bounds_of(column)?;
        let has_nan = column.data_type.is_floating() && !bounds.covers_nan;
        let convert = |values: ArrayRef| -> Result<ArrayRef> {
            let values = form.of(&values, column)?;
            if !has_nan {
                return Ok(values);
            }
            let nan_key = Int64Array::new_scalar(NAN_KEY);
            let is_nan = cmp::eq(as_integers(&values)?, &nan_key).map_err(failed)?;
            nullif(&values, &is_nan).map_err(failed)
        };
        let mut min = bounds.min.map(convert).transpose()?;
        let mut max = bounds.max.map(convert).transpose()?;
        if let (Some(low), Some(high)) = (&min, &max) {
            // ignore bounds that contradict each other
            let crossed = cmp::gt(low, high).map_err(failed)?;
            if crossed.true_count() > 0 {
                let without = |values| nullif(values, &crossed).map_err(failed);
                (min, max) = (Some(without(low)?), Some(without(high)?));
            }
        }
        let range = Range {
            min,
            max,
            has_values,
            has_nulls,
            has_nan,
        };
        self.ranges.push((Arc::clone(column), form, range.clone()));
        Ok(range)
    }
}

fn datum(values: &Option<ArrayRef>) -> Option<&dyn Datum> {
    values.as_ref().map(|values| values as &dyn Datum)
}

/// Converts maxima of stored strings to maxima of the same strings padded with spaces; null if unknown: `a`
/// with spaces is greater than the maximum `a\t`. Minima need no conversion.
fn padded_max(max: &ArrayRef, characters: usize) -> Result<ArrayRef> {
    let strings = cast(max, &DataType::Utf8).map_err(failed)?;
    let plain = |text: &str| text.chars().all(|character| character >= ' ');
    let strings = strings.as_string::<i32>().iter();
    let padded = strings.map(|text| Some(padded(text.filter(|text| plain(text))?, characters)));
    Ok(Arc::new(padded.collect::<StringArray>()))
}

fn true_or_null(results: BooleanArray) -> BooleanBuffer {
    let (values, nulls) = results.into_parts();
    match nulls {
        Some(nulls) => &values | &!nulls.inner(),
        None => values,
    }
}
