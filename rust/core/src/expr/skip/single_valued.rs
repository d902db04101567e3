//! Conditions on bounds: if all rows of a unit have the same values, such as partition values, the condition
//! is evaluated once for all of them.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, BooleanArray};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_ord::cmp;
use arrow_schema::ArrowError;
use arrow_select::filter::filter;
use arrow_select::nullif::nullif;

use super::{PossibleResults, Units};
use crate::error::Result;
use crate::expr::evaluate::functions::is_true;
use crate::expr::evaluate::{Evaluator, spread};
use crate::expr::node::Node;
use crate::expr::node::bound_column::BoundColumn;
use crate::expr::value::canonical_order::failed;

impl Units<'_> {
    /// Returns the possible results of a condition: every result for units with several values of a column,
    /// and for all units if evaluation fails.
    pub(super) fn by_evaluation(&mut self, condition: &Node) -> Result<PossibleResults> {
        let mut single_valued = self.all_or_none(true);
        let mut columns = Vec::new();
        for column in condition.columns() {
            let Some((units, values)) = self.single_values(&column)? else {
                return Ok(self.anything());
            };
            single_valued = &single_valued & &units;
            columns.push((column, values));
        }
        let single_valued = BooleanArray::new(single_valued, None);
        for (_, values) in &mut columns {
            *values = filter(values, &single_valued).map_err(failed)?;
        }
        let mut evaluator = Evaluator::of_columns(single_valued.true_count(), columns);
        let Ok(results) = evaluator.value(condition) else {
            return Ok(self.anything());
        };
        let results = spread(&results, &single_valued)?;
        let (is_true, valid) = results.as_boolean().clone().into_parts();
        let valid = valid.map_or_else(|| self.all_or_none(true), NullBuffer::into_inner);
        let others = !single_valued.values();
        Ok(PossibleResults {
            is_true: &others | &(&valid & &is_true),
            is_false: &others | &(&valid & &!&is_true),
            is_null: &others | &!&valid,
        })
    }

    fn anything(&self) -> PossibleResults {
        PossibleResults {
            is_true: self.all_or_none(true),
            is_false: self.all_or_none(true),
            is_null: self.all_or_none(true),
        }
    }

    /// Returns the units whose rows all have the same value of a column, and these values; `None` if unknown.
    fn single_values(
        &mut self,
        column: &Arc<BoundColumn>,
    ) -> Result<Option<(BooleanBuffer, ArrayRef)>> {
        let (has_values, has_nulls) = self.presence(column)?;
        let bounds = self.bounds_of(column)?;
        // statistics of floats do not cover NaN, and do not tell 0.0 from -0.0
        let exact = bounds.covers_nan || !column.data_type.is_floating();
        let (Some(min), Some(max), true) = (&bounds.min, &bounds.max, exact) else {
            return Ok(None);
        };
        let single_values = || -> Result<_, ArrowError> {
            let equal = is_true(&cmp::eq(min, max)?);
            let all_null = BooleanArray::new(!&has_values, None);
            let values = nullif(min, &all_null)?;
            Ok((&(equal.values() & &!&has_nulls) | all_null.values(), values))
        };
        Ok(single_values().ok())
    }
}
