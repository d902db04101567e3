//! Bounds of many files, row groups or pages, known without reading them.

use arrow_array::{ArrayRef, Int64Array};

use crate::error::Result;
use crate::expr::node::bound_column::BoundColumn;

/// Bounds of columns over many units: files, row groups or pages, one row each.
pub trait ColumnBounds {
    /// Returns the number of units.
    fn len(&self) -> usize;

    /// Returns `true` if there are no units.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bounds of one column; `None` if there are none. Called once for each column of a
    /// predicate.
    fn bounds(&self, column: &BoundColumn) -> Result<Option<Bounds>>;
}

/// Bounds of one column: each array has a row for each unit, and a null if the bound is unknown.
///
/// Bounds need not be tight: no value has to equal them, and they remain valid when rows are deleted. Delta
/// statistics truncate timestamps to milliseconds, downwards: callers add one millisecond to the maximum.
/// Truncated strings are valid minima, and valid maxima with an additional character that is greater than the
/// next one of the string.
#[derive(Clone, Debug, Default)]
pub struct Bounds {
    /// Less than or equal to every value that is not null; of the column's type. `NaN` counts as unknown,
    /// unless `covers_nan`.
    pub min: Option<ArrayRef>,
    /// Greater than or equal to every value that is not null and, unless `covers_nan`, not `NaN`.
    pub max: Option<ArrayRef>,
    /// The number of nulls: 0 means that there are none, `num_rows` that there is nothing else, and any other
    /// number that there may be both nulls and values. Both counts may include deleted rows.
    pub null_count: Option<Int64Array>,
    /// The number of rows.
    pub num_rows: Option<Int64Array>,
    /// True if `NaN` counted as the greatest value when the bounds were computed, as in partition values,
    /// where minimum and maximum are the value itself. Otherwise `NaN` may occur whatever the bounds are.
    pub covers_nan: bool,
}
