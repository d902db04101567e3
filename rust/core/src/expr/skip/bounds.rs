//! Bounds of many files, row groups or pages, known without reading them.

use arrow_array::{ArrayRef, Int64Array};

use crate::error::Result;
use crate::expr::node::bound_column::BoundColumn;

/// Bounds of columns over many units: files, row groups or pages, one row each.
pub trait ColumnBounds {
    /// The number of units.
    fn len(&self) -> usize;

    /// Returns `true` if there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bounds of one column; `None` if there are none. Called once for each column of a
    /// predicate.
    fn bounds(&self, column: &BoundColumn) -> Result<Option<Bounds>>;
}

/// Bounds of one column: each array has a row for each unit, and a null where nothing is known.
///
/// Bounds may be wide: no value has to reach them, and they stay true when rows are deleted.
/// Statistics of Delta cut timestamps to milliseconds, downwards: who gives such a maximum here adds
/// one millisecond first. Strings that are cut at the end make good minima, and make good maxima
/// with a letter at the end that is greater than what was cut off.
#[derive(Clone, Debug, Default)]
pub struct Bounds {
    /// Not above any value that is not null; values of the column's type. `NaN` counts as unknown,
    /// unless `covers_nan`.
    pub min: Option<ArrayRef>,
    /// Not below any value that is not null and, unless `covers_nan`, not `NaN`.
    pub max: Option<ArrayRef>,
    /// Rows with a null, or more: 0 says that there are none, and as many as `num_rows` that there
    /// is nothing else. Both counts may include deleted rows, together.
    pub null_count: Option<Int64Array>,
    /// Rows.
    pub num_rows: Option<Int64Array>,
    /// True if a `NaN` among the values counted as the greatest of all when the bounds were made,
    /// as in partition values, where minimum and maximum are the value itself. Otherwise a `NaN`
    /// may be there whatever the bounds say.
    pub covers_nan: bool,
}
