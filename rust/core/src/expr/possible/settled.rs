//! Formulas on bounds: where every row of a unit has the same values, as those of partition columns, the
//! answer is computed once for all of them.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow_buffer::BooleanBuffer;
use arrow_cast::cast;
use arrow_ord::cmp;
use arrow_schema::{ArrowError, Field, Schema};
use arrow_select::filter::filter;
use arrow_select::nullif::nullif;

use super::{Possible, Units};
use crate::error::Result;
use crate::expr::formula::BoundFormula;
use crate::expr::node::BoundColumn;

impl Units<'_> {
    /// The answers that a formula may give: all of them where its values are not known, or cannot be computed.
    pub(super) fn computed(
        &mut self,
        formula: &BoundFormula,
        columns: &[Arc<BoundColumn>],
    ) -> Result<Possible> {
        let mut settled = self.all_or_none(true);
        let mut values = Vec::with_capacity(columns.len());
        for column in columns {
            let Some((known, of_column)) = self.settled(column)? else {
                return Ok(self.anything());
            };
            settled = &settled & &known;
            values.push(of_column);
        }
        let settled = BooleanArray::new(settled, None);
        let answers = batch(columns, &values, &settled)
            .ok()
            .and_then(|batch| formula.answers(&batch).ok());
        let Some(answers) = answers else {
            return Ok(self.anything());
        };
        let mut answers = answers.iter();
        let answers: Vec<Option<Option<bool>>> = settled
            .values()
            .iter()
            .map(|settled| settled.then(|| answers.next().flatten()))
            .collect();
        let may_be = |wanted: Option<bool>| {
            let each = answers
                .iter()
                .map(|one| one.is_none_or(|one| one == wanted));
            each.collect::<BooleanBuffer>()
        };
        Ok(Possible {
            is_true: may_be(Some(true)),
            is_false: may_be(Some(false)),
            is_null: may_be(None),
        })
    }

    fn anything(&self) -> Possible {
        Possible {
            is_true: self.all_or_none(true),
            is_false: self.all_or_none(true),
            is_null: self.all_or_none(true),
        }
    }

    /// The units whose rows all have one value of a column, and that value; `None` where nothing tells.
    fn settled(&mut self, column: &Arc<BoundColumn>) -> Result<Option<(BooleanBuffer, ArrayRef)>> {
        let (some, none) = self.presence(column)?;
        let bounds = self.known(column)?;
        // bounds of floats say nothing of NaN, and zeros in them have no sign
        let exact = bounds.covers_nan || !column.data_type.is_floating();
        let (Some(min), Some(max), true) = (&bounds.min, &bounds.max, exact) else {
            return Ok(None);
        };
        let of_column = || -> Result<_, ArrowError> {
            let (one, nulls) = cmp::eq(min, max)?.into_parts();
            let one = nulls.map_or_else(|| one.clone(), |nulls| &one & nulls.inner());
            let missing = BooleanArray::new(!&some, None);
            let value = nullif(&cast(min, &column.data_type)?, &missing)?;
            Ok((&(&one & &!&none) | missing.values(), value))
        };
        Ok(of_column().ok())
    }
}

/// The values of these units.
fn batch(
    columns: &[Arc<BoundColumn>],
    values: &[ArrayRef],
    units: &BooleanArray,
) -> Result<RecordBatch, ArrowError> {
    let fields = columns
        .iter()
        .map(|column| Field::new(column.path.join("."), column.data_type.clone(), true));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let values = values.iter().map(|values| filter(values, units));
    let options = RecordBatchOptions::new().with_row_count(Some(units.true_count()));
    RecordBatch::try_new_with_options(schema, values.collect::<Result<_, _>>()?, &options)
}
