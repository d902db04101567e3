//! Display of rows in messages.

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_cast::cast;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::{ArrowError, DataType};

use crate::spec::arrow::replace_types;

/// The maximum number of columns in a message, and of characters per value.
const SHOWN_COLUMNS: usize = 12;
const MAX_STRING_CHARACTERS: usize = 40;

/// Replaces named time zones by offsets, which can be displayed without a time zone database.
fn zones_as_offsets(values: &ArrayRef) -> std::result::Result<ArrayRef, ArrowError> {
    let offset = |data_type: &DataType| match data_type {
        DataType::Timestamp(unit, Some(_)) => {
            Some(DataType::Timestamp(*unit, Some("+00:00".into())))
        }
        _ => None,
    };
    cast(values, &replace_types(values.data_type(), &offset))
}

pub(crate) fn row_display(rows: &RecordBatch, row: usize) -> String {
    let schema = rows.schema_ref();
    let options = FormatOptions::default().with_null("null");
    let pair = |(field, values): (&arrow_schema::FieldRef, &ArrayRef)| {
        let text = zones_as_offsets(&values.slice(row, 1))
            .and_then(|values| {
                let formatter = ArrayFormatter::try_new(&values, &options)?;
                Ok(formatter.value(0).to_string())
            })
            .unwrap_or_else(|_| "?".to_owned());
        let short: String = text.chars().take(MAX_STRING_CHARACTERS).collect();
        let dots = if short.len() < text.len() { "..." } else { "" };
        format!("{}: {short}{dots}", field.name())
    };
    let pairs: Vec<String> = schema
        .fields()
        .iter()
        .zip(rows.columns())
        .take(SHOWN_COLUMNS)
        .map(pair)
        .collect();
    let more = if rows.num_columns() > SHOWN_COLUMNS {
        ", ..."
    } else {
        ""
    };
    format!("{{{}{more}}}", pairs.join(", "))
}
