//! A row in words, for messages.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_cast::cast;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::{ArrowError, DataType, Field, FieldRef};

/// Of a row that is shown: columns, and letters of each value.
const SHOWN_COLUMNS: usize = 12;
const SHOWN_LETTERS: usize = 40;

/// The same moments in a zone that can be printed without a list of all zones.
fn zones_as_offsets(values: &ArrayRef) -> std::result::Result<ArrayRef, ArrowError> {
    fn offset(data_type: &DataType) -> DataType {
        let field = |one: &FieldRef| {
            let inner = offset(one.data_type());
            Arc::new(Field::clone(one).with_data_type(inner))
        };
        match data_type {
            DataType::Timestamp(unit, Some(_)) => DataType::Timestamp(*unit, Some("+00:00".into())),
            DataType::Struct(fields) => DataType::Struct(fields.iter().map(field).collect()),
            DataType::List(element) => DataType::List(field(element)),
            DataType::Map(entries, sorted) => DataType::Map(field(entries), *sorted),
            other => other.clone(),
        }
    }
    cast(values, &offset(values.data_type()))
}

/// A row in words.
pub(crate) fn shown(rows: &RecordBatch, row: usize) -> String {
    let schema = rows.schema_ref();
    let options = FormatOptions::default().with_null("null");
    let pair = |(field, values): (&arrow_schema::FieldRef, &ArrayRef)| {
        let text = zones_as_offsets(&values.slice(row, 1))
            .and_then(|values| {
                let formatter = ArrayFormatter::try_new(&values, &options)?;
                Ok(formatter.value(0).to_string())
            })
            .unwrap_or_else(|_| "?".to_owned());
        let short: String = text.chars().take(SHOWN_LETTERS).collect();
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
