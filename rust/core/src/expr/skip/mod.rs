//! Predicates on bounds: the possible answers for the rows of a file.
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
use crate::expr::evaluate::in_list::InList;
use crate::expr::evaluate::like::{Matcher, Shape, successor};
use crate::expr::node::bound_column::BoundColumn;
use crate::expr::node::{BoundPredicate, Node};
use crate::expr::skip::bounds::{Bounds, ColumnBounds};
use crate::expr::value::canonical_order::{Form, as_bytes, as_integers, failed};
use crate::expr::value::comparison::Order;
use crate::expr::value::floats::NAN_KEY;
use crate::spec::char_length::padded;

impl BoundPredicate {
    /// Returns the units that may contain a row that satisfies the predicate: false only if no row can.
    ///
    /// # Errors
    ///
    /// Invalid: `filter.bounds` if the arrays of `bounds` do not have a row for each unit; `filter.values`
    /// if their type is not the column's; the errors of `bounds`.
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

/// The units where a condition may have each of its three answers.
struct PossibleAnswers {
    is_true: BooleanBuffer,
    is_false: BooleanBuffer,
    is_null: BooleanBuffer,
}

impl PossibleAnswers {
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

/// The bounds of a column, in a form for comparison.
#[derive(Clone)]
struct Range {
    min: Option<ArrayRef>,
    max: Option<ArrayRef>,
    /// There may be a value that is not null.
    has_values: BooleanBuffer,
    /// There may be a null.
    has_nulls: BooleanBuffer,
    /// There may be a `NaN` outside of the bounds.
    nan: bool,
}

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
    fn possible(&mut self, node: &Node) -> Result<PossibleAnswers> {
        Ok(match node {
            Node::Constant(answer) => {
                let answer = answer
                    .as_boolean_opt()
                    .and_then(|answers| answers.iter().next()?);
                PossibleAnswers {
                    is_true: self.all_or_none(answer == Some(true)),
                    is_false: self.all_or_none(answer == Some(false)),
                    is_null: self.all_or_none(answer.is_none()),
                }
            }
            Node::Column(column) => {
                let range = self.range(column, Form::Integer)?;
                let value = Scalar::new(Arc::new(Int64Array::from(vec![1])) as ArrayRef);
                self.compared(&range, Order::Eq, &value)?
            }
            Node::Compare {
                column,
                form,
                order,
                value,
            } => {
                let range = self.range(column, *form)?;
                self.compared(&range, *order, value)?
            }
            Node::CompareColumns {
                left,
                right,
                form,
                order,
            } => {
                let (left, right) = (self.range(left, *form)?, self.range(right, *form)?);
                self.columns_compared(left, *order, right)?
            }
            Node::In {
                column,
                form,
                list,
                or_null,
            } => {
                let range = self.range(column, *form)?;
                self.listed(range, list, *or_null)?
            }
            Node::Like { text, matcher } => match text.as_ref() {
                Node::Column(column) if column.data_type == DataType::Utf8 => {
                    let range = self.range(column, Form::Bytes)?;
                    self.alike(&range, matcher)?
                }
                _ => self.computed(node)?,
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
                _ => self.computed(node)?,
            },
            Node::IsTrue(inner) => {
                let inner = self.possible(inner)?;
                let is_false = &inner.is_false | &inner.is_null;
                self.never_null(inner.is_true, is_false)
            }
            Node::Not(inner) => self.possible(inner)?.negated(),
            Node::And(parts) => self.all_of(parts, false)?,
            // if one of them is true, not all of them are false
            Node::Or(parts) => self.all_of(parts, true)?.negated(),
            Node::Compared(..)
            | Node::Calculated(..)
            | Node::Cast { .. }
            | Node::Case { .. }
            | Node::Coalesce(_)
            | Node::Call(..)
            | Node::With { .. } => self.computed(node)?,
        })
    }

    fn all_of(&mut self, parts: &[Node], negated: bool) -> Result<PossibleAnswers> {
        let mut all = PossibleAnswers {
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

    fn never_null(&self, is_true: BooleanBuffer, is_false: BooleanBuffer) -> PossibleAnswers {
        PossibleAnswers {
            is_true,
            is_false,
            is_null: self.all_or_none(false),
        }
    }

    /// Compares bounds with a list of values, which may contain null.
    fn listed(&self, range: Range, list: &InList, or_null: bool) -> Result<PossibleAnswers> {
        let mut met = list.meets(self.len, range.min.as_ref(), range.max.as_ref())?;
        if range.nan {
            let has_nan = list.has_nan();
            met.within = &met.within | &self.all_or_none(has_nan);
            met.outside = &met.outside | &self.all_or_none(!has_nan);
        }
        let outside = &met.outside & &range.has_values;
        let (is_false, is_null) = if or_null {
            (self.all_or_none(false), &outside | &range.has_nulls)
        } else {
            (outside, range.has_nulls)
        };
        Ok(PossibleAnswers {
            is_true: &met.within & &range.has_values,
            is_false,
            is_null,
        })
    }

    /// Compares bounds with a value.
    fn compared(
        &self,
        range: &Range,
        order: Order,
        value: &Scalar<ArrayRef>,
    ) -> Result<PossibleAnswers> {
        let (mut is_true, mut is_false) =
            self.ordered(order, &range.min, &range.max, &Bound::Value(value))?;
        if range.nan {
            let nan = Int64Array::from(vec![NAN_KEY]);
            let answer = order.kernel()(&nan, value).map_err(failed)?;
            let answer = answer.iter().next().flatten() == Some(true);
            is_true = &is_true | &self.all_or_none(answer);
            is_false = &is_false | &self.all_or_none(!answer);
        }
        Ok(PossibleAnswers {
            is_true: &is_true & &range.has_values,
            is_false: &is_false & &range.has_values,
            is_null: range.has_nulls.clone(),
        })
    }

    fn columns_compared(
        &self,
        mut left: Range,
        order: Order,
        mut right: Range,
    ) -> Result<PossibleAnswers> {
        for side in [&mut left, &mut right] {
            if side.nan {
                side.max = None;
            }
        }
        let other = Bound::Column(&right.min, &right.max);
        let (is_true, is_false) = self.ordered(order, &left.min, &left.max, &other)?;
        let has_values = &left.has_values & &right.has_values;
        Ok(PossibleAnswers {
            is_true: &is_true & &has_values,
            is_false: &is_false & &has_values,
            is_null: &left.has_nulls | &right.has_nulls,
        })
    }

    /// Returns whether the comparison can be true, and whether it can be false, for values within the
    /// bounds.
    fn ordered(
        &self,
        order: Order,
        min: &Option<ArrayRef>,
        max: &Option<ArrayRef>,
        other: &Bound<'_>,
    ) -> Result<(BooleanBuffer, BooleanBuffer)> {
        let can = |order: Order, left: &Option<ArrayRef>, right: Option<&dyn Datum>| {
            let (Some(left), Some(right)) = (left, right) else {
                return Ok(self.all_or_none(true));
            };
            let answer = order.kernel()(left, right).map_err(failed)?;
            Ok::<_, Error>(or_unknown(answer))
        };
        let (low, high) = (other.min(), other.max());
        Ok(match order {
            Order::Lt => (can(Order::Lt, min, high)?, can(Order::GtEq, max, low)?),
            Order::LtEq => (can(Order::LtEq, min, high)?, can(Order::Gt, max, low)?),
            Order::Gt => (can(Order::Gt, max, low)?, can(Order::LtEq, min, high)?),
            Order::GtEq => (can(Order::GtEq, max, low)?, can(Order::Lt, min, high)?),
            Order::Eq => {
                let is_true = &can(Order::LtEq, min, high)? & &can(Order::GtEq, max, low)?;
                // cannot be false only if all four bounds are equal
                let below = can(Order::Lt, min, high)?;
                let above = can(Order::Gt, max, low)?;
                (is_true, &below | &above)
            }
        })
    }

    fn alike(&self, range: &Range, matcher: &Matcher) -> Result<PossibleAnswers> {
        let (prefix, exact, all) = match matcher.shape() {
            Shape::Exactly(text) => (text, true, false),
            Shape::StartsWith(text) => (text, false, true),
            Shape::Beyond(text) => (text, false, false),
        };
        let min = range.min.as_ref().map(as_bytes).transpose()?;
        let max = range.max.as_ref().map(as_bytes).transpose()?;
        let after = successor(prefix);
        let low = |row| {
            min.filter(|min| min.is_valid(row))
                .map(|min| min.value(row))
        };
        let high = |row| {
            max.filter(|max| max.is_valid(row))
                .map(|max| max.value(row))
        };
        let before_end = |text: &[u8]| after.as_deref().is_none_or(|after| text < after);
        let is_true = BooleanBuffer::collect_bool(self.len, |row| {
            let starts = low(row).is_none_or(|low| {
                if exact {
                    low <= prefix
                } else {
                    before_end(low)
                }
            });
            starts && high(row).is_none_or(|high| high >= prefix)
        });
        let is_false = BooleanBuffer::collect_bool(self.len, |row| {
            let within = match (low(row), high(row)) {
                (Some(low), Some(high)) if exact => low == prefix && high == prefix,
                (Some(low), Some(high)) if all => low >= prefix && before_end(high),
                _ => false,
            };
            !(within || (all && prefix.is_empty()))
        });
        Ok(PossibleAnswers {
            is_true: &is_true & &range.has_values,
            is_false: &is_false & &range.has_values,
            is_null: range.has_nulls.clone(),
        })
    }

    /// Returns the units that may have values, and those that may have nulls.
    fn presence(&mut self, column: &Arc<BoundColumn>) -> Result<(BooleanBuffer, BooleanBuffer)> {
        let all = self.all_or_none(true);
        let bounds = self.known(column)?;
        let Some(nulls) = &bounds.null_count else {
            return Ok((all.clone(), all));
        };
        let zero = Int64Array::new_scalar(0);
        let has_nulls = or_unknown(cmp::neq(nulls, &zero).map_err(failed)?);
        let has_values = match &bounds.num_rows {
            Some(rows) => or_unknown(cmp::neq(nulls, rows).map_err(failed)?),
            None => all,
        };
        Ok((has_values, has_nulls))
    }

    fn known(&mut self, column: &Arc<BoundColumn>) -> Result<&Bounds> {
        let position = match self.known.iter().position(|(known, _)| known == column) {
            Some(position) => position,
            None => {
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
                        "the bounds of {} are not one for each of {} units",
                        column.path.join("."),
                        self.len
                    );
                    return Err(Error::invalid("filter.bounds", message));
                }
                self.known.push((Arc::clone(column), bounds));
                self.known.len() - 1
            }
        };
        match self.known.get(position) {
            Some((_, bounds)) => Ok(bounds),
            None => Err(Error::invalid("filter.bounds", "bounds were lost")),
        }
    }

    fn range(&mut self, column: &Arc<BoundColumn>, form: Form) -> Result<Range> {
        let same = |(known, cached_form, _): &&(Arc<BoundColumn>, Form, Range)| {
            *cached_form == form && known == column
        };
        if let Some((_, _, range)) = self.ranges.iter().find(same) {
            return Ok(range.clone());
        }
        let (has_values, has_nulls) = self.presence(column)?;
        let bounds = self.known(column)?;
        let floats = column.data_type.is_floating();
        let nan = floats && !bounds.covers_nan;
        let formed = |values: &Option<ArrayRef>| -> Result<Option<ArrayRef>> {
            let Some(values) = values else {
                return Ok(None);
            };
            let values = form.of(values, column)?;
            if !nan {
                return Ok(Some(values));
            }
            let is_nan = as_integers(&values)?;
            let is_nan = cmp::eq(is_nan, &Int64Array::new_scalar(NAN_KEY)).map_err(failed)?;
            nullif(&values, &is_nan).map(Some).map_err(failed)
        };
        let (mut min, mut max) = (formed(&bounds.min)?, formed(&bounds.max)?);
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
            nan,
        };
        self.ranges.push((Arc::clone(column), form, range.clone()));
        Ok(range)
    }
}

/// The other side of a comparison.
enum Bound<'a> {
    Value(&'a Scalar<ArrayRef>),
    Column(&'a Option<ArrayRef>, &'a Option<ArrayRef>),
}

impl Bound<'_> {
    fn min(&self) -> Option<&dyn Datum> {
        match self {
            Self::Value(value) => Some(*value),
            Self::Column(min, _) => min.as_ref().map(|values| values as &dyn Datum),
        }
    }

    fn max(&self) -> Option<&dyn Datum> {
        match self {
            Self::Value(value) => Some(*value),
            Self::Column(_, max) => max.as_ref().map(|values| values as &dyn Datum),
        }
    }
}

/// Returns an upper bound of strings padded with spaces, from one of the strings themselves: characters
/// that sort before the space do not bound shorter strings. Lower bounds remain valid.
fn padded_max(max: &ArrayRef, characters: usize) -> Result<ArrayRef> {
    let strings = cast(max, &DataType::Utf8).map_err(failed)?;
    let plain = |text: &str| text.chars().all(|character| character >= ' ');
    let strings = strings.as_string::<i32>().iter();
    let padded = strings.map(|text| Some(padded(text.filter(|text| plain(text))?, characters)));
    Ok(Arc::new(padded.collect::<StringArray>()))
}

/// Returns `true` for true and unknown.
fn or_unknown(answer: BooleanArray) -> BooleanBuffer {
    let (values, nulls) = answer.into_parts();
    match nulls {
        Some(nulls) => &values | &!nulls.inner(),
        None => values,
    }
}
