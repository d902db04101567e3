//! The minimum and the maximum key of a source, for skipping files of the table.

use arrow_array::{Array, ArrayRef, new_empty_array};
use arrow_ord::sort::{SortOptions, sort_limit};
use arrow_schema::DataType;
use arrow_select::concat::concat;

use super::columns_mismatch;
use crate::error::Result;

/// The minimum and the maximum key of the source for a plain column of the table.
#[derive(Debug)]
pub(crate) struct KeyRange {
    column: String,
    /// The bounds, arrays of at most one value each; `None` if null is a key, too.
    bounds: Option<[ArrayRef; 2]>,
    null_safe: bool,
}

impl KeyRange {
    /// Creates an empty range; `None` for types whose values may sort in another order than the literals of a
    /// filter.
    pub(super) fn new(column: String, data_type: &DataType, null_safe: bool) -> Option<Self> {
        let ordered = matches!(
            data_type,
            DataType::Int8
                | DataType::Int16
                | DataType::Int32
                | DataType::Int64
                | DataType::Date32
                | DataType::Utf8
        );
        let empty = || new_empty_array(data_type);
        ordered.then(|| Self {
            column,
            bounds: Some([empty(), empty()]),
            null_safe,
        })
    }

    pub(super) fn extend(&mut self, keys: &ArrayRef) -> Result<()> {
        if self.null_safe && keys.null_count() > 0 {
            self.bounds = None;
        }
        if let Some([least, greatest]) = &mut self.bounds {
            for (bound, descending) in [(least, false), (greatest, true)] {
                let both =
                    concat(&[&**bound, &*first(keys, descending)?]).map_err(columns_mismatch)?;
                *bound = first(&both, descending)?;
            }
        }
        Ok(())
    }

    pub(crate) fn column(&self) -> &str {
        &self.column
    }

    /// Returns the bounds, of one value each, if they are known and of this type.
    pub(crate) fn bounds(&self, data_type: &DataType) -> Option<&[ArrayRef; 2]> {
        let bounds = self.bounds.as_ref()?;
        let of_type = |bound: &ArrayRef| bound.data_type() == data_type && bound.len() == 1;
        bounds.iter().all(of_type).then_some(bounds)
    }
}

/// Returns the first value in this order, nulls last; an empty array if there is none.
fn first(values: &ArrayRef, descending: bool) -> Result<ArrayRef> {
    let options = SortOptions {
        descending,
        nulls_first: false,
    };
    sort_limit(values, Some(options), Some(1)).map_err(columns_mismatch)
}
