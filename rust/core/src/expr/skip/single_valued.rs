//! Formulas on bounds: if all rows of a unit have the same values, as those of partition columns, the
//! formula is evaluated once for all of them.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, BooleanArray};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_ord::cmp;
use arrow_schema::ArrowError;
use arrow_select::filter::filter;
use arrow_select::nullif::nullif;

use super::{PossibleAnswers, Units};
use crate::error::Result;
use crate::expr::evaluate::{Evaluator, spread};
use crate::expr::node::Node;
use crate::expr::node::bound_column::BoundColumn;
use crate::expr::value::canonical_order::failed;

impl Units<'_> {
    /// Returns the possible answers of a condition: all of them if its values are unknown, or cannot be
    /// computed.
    pub(super) fn computed(&mut self, condition: &Node) -> Result<PossibleAnswers> {
        let (mut names, mut columns) = (Vec::new(), Vec::new());
        condition.each_column(&mut |column| {
            if !names.contains(column) {
                names.push(Arc::clone(column));
            }
        });
        let mut settled = self.all_or_none(true);
        for column in names {
            let Some((known, values)) = self.settled(&column)? else {
                return Ok(self.anything());
            };
            settled = &settled & &known;
            columns.push((column, values));
        }
        let settled = BooleanArray::new(settled, None);
        for (_, values) in &mut columns {
            *values = filter(values, &settled).map_err(failed)?;
        }
        let mut rows = Evaluator::of_columns(settled.true_count(), columns);
        let Ok(answers) = rows.value(condition) else {
            return Ok(self.anything());
        };
        let answers = spread(&answers, &settled)?;
        let (answers, known) = answers.as_boolean().clone().into_parts();
        let known = known.map_or_else(|| self.all_or_none(true), NullBuffer::into_inner);
        let open = !settled.values();
        Ok(PossibleAnswers {
            is_true: &open | &(&known & &answers),
            is_false: &open | &(&known & &!&answers),
            is_null: &open | &!&known,
        })
    }

    fn anything(&self) -> PossibleAnswers {
        PossibleAnswers {
            is_true: self.all_or_none(true),
            is_false: self.all_or_none(true),
            is_null: self.all_or_none(true),
        }
    }

    /// Returns the units whose rows all have the same value of a column, and that value; `None` if unknown.
    fn settled(&mut self, column: &Arc<BoundColumn>) -> Result<Option<(BooleanBuffer, ArrayRef)>> {
        let (has_values, has_nulls) = self.presence(column)?;
        let bounds = self.known(column)?;
        // bounds of floats do not cover NaN, and zeros in them have no sign
        let exact = bounds.covers_nan || !column.data_type.is_floating();
        let (Some(min), Some(max), true) = (&bounds.min, &bounds.max, exact) else {
            return Ok(None);
        };
        let of_column = || -> Result<_, ArrowError> {
            let (equal, nulls) = cmp::eq(min, max)?.into_parts();
            let equal = nulls.map_or_else(|| equal.clone(), |nulls| &equal & nulls.inner());
            let missing = BooleanArray::new(!&has_values, None);
            let value = nullif(min, &missing)?;
            Ok((&(&equal & &!&has_nulls) | missing.values(), value))
        };
        Ok(of_column().ok())
    }
}
