//! The columns that a filter on files needs: `partitionValues_parsed` and `stats_parsed`.
//!
//! They are decoded first and alone, so that a filter that few files pass costs little more than its own
//! columns.
//!
//! Protocol: "Partition Value Serialization", "Per-file Statistics".

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, MapArray, RecordBatch, RecordBatchOptions, StructArray, new_null_array,
};
use arrow_cast::cast;
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};

use super::columns::misfit;
use super::file_actions::FileField;
use super::partition_values::{Unparsable, parse_partition_values};
use super::statistics::parse_stats;
use crate::error::Result;

/// The name of the struct of typed partition values, here and in checkpoints.
pub const PARTITION_VALUES: &str = "partitionValues_parsed";

/// The name of the struct of typed statistics, here and in checkpoints.
pub const STATS: &str = "stats_parsed";

/// Which partition values and statistics a filter looks at.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParsedColumns {
    /// Partition columns: the name that the log has, and the field to give.
    pub partition_values: Vec<(String, FieldRef)>,
    /// A part of what `stats_schema` gives for the table.
    pub stats: Fields,
}

impl ParsedColumns {
    /// The fields of `add` that hold these columns.
    pub fn fields(&self) -> Vec<FileField> {
        let mut fields = Vec::with_capacity(2);
        if !self.partition_values.is_empty() {
            fields.push(FileField::PartitionValues);
        }
        if !self.stats.is_empty() {
            fields.push(FileField::Stats);
        }
        fields
    }

    /// Two columns: the structs [`PARTITION_VALUES`] and [`STATS`].
    pub fn schema(&self) -> SchemaRef {
        let partition_values = self
            .partition_values
            .iter()
            .map(|(_, field)| Arc::new(field.as_ref().clone().with_nullable(true)))
            .collect();
        Arc::new(Schema::new(vec![
            Field::new(PARTITION_VALUES, DataType::Struct(partition_values), true),
            Field::new(STATS, DataType::Struct(self.stats.clone()), true),
        ]))
    }

    /// Whether all that `other` asks for is here too.
    pub fn covers(&self, other: &Self) -> bool {
        let partitions = |wanted: &(String, FieldRef)| self.partition_values.contains(wanted);
        other.partition_values.iter().all(partitions) && holds(&self.stats, &other.stats)
    }

    /// What either asks for.
    pub fn merged(&self, other: &Self) -> Self {
        let mut partition_values = self.partition_values.clone();
        for column in &other.partition_values {
            if !partition_values.contains(column) {
                partition_values.push(column.clone());
            }
        }
        Self {
            partition_values,
            stats: union(&self.stats, &other.stats),
        }
    }

    /// The columns of these `add` rows, which have at least [`ParsedColumns::fields`].
    ///
    /// # Errors
    ///
    /// Corrupt: `partition_value.parse`, with the file where the rows have their `path`. Statistics that do not parse are null.
    pub fn of(&self, rows: &RecordBatch) -> Result<RecordBatch> {
        self.of_rows(rows).map_err(|error| {
            let alone = (0..rows.num_rows()).map(|row| rows.slice(row, 1));
            let bad = alone
                .filter(|row| self.of_rows(row).is_err())
                .find_map(|row| {
                    let path = row.column_by_name(FileField::Path.name())?;
                    Some(path.as_string_opt::<i32>()?.value(0).to_owned())
                });
            match bad {
                Some(path) => error.at_path(path),
                None => error,
            }
        })
    }

    fn of_rows(&self, rows: &RecordBatch) -> Result<RecordBatch> {
        let column = |field: FileField| rows.column_by_name(field.name());
        self.typed(
            rows.num_rows(),
            column(FileField::PartitionValues),
            column(FileField::Stats),
        )
    }

    /// The columns out of `partitionValues`, a map of texts, and of `stats`, a text or a struct of
    /// any shape; what is not there is null.
    pub(super) fn typed(
        &self,
        rows: usize,
        partition_values: Option<&ArrayRef>,
        stats: Option<&ArrayRef>,
    ) -> Result<RecordBatch> {
        let partition_values = partition_values
            .and_then(|map| map.as_map_opt())
            .map(|map| self.partition_values(map))
            .transpose()?;
        let stats = stats.map(|stats| self.stats(stats)).transpose()?;
        let schema = self.schema();
        let columns = schema
            .fields()
            .iter()
            .zip([partition_values, stats.flatten()])
            .map(|(field, column)| match column {
                Some(column) => Arc::new(column) as ArrayRef,
                None => new_null_array(field.data_type(), rows),
            });
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(&schema), columns.collect(), &options)
            .map_err(misfit)
    }

    fn partition_values(&self, map: &MapArray) -> Result<StructArray> {
        parse_partition_values(map, &self.partition_values, Unparsable::Refuse)
    }

    fn stats(&self, stats: &ArrayRef) -> Result<Option<StructArray>> {
        Ok(match stats.data_type() {
            DataType::Utf8 => Some(parse_stats(stats.as_string::<i32>(), &self.stats)?),
            DataType::Utf8View => Some(parse_stats(stats.as_string_view(), &self.stats)?),
            DataType::Struct(_) => Some(shaped(stats.as_struct(), &self.stats)?),
            _ => None,
        })
    }
}

/// Whether a shape has all leaves of another. Both have a bounded depth.
fn holds(shape: &Fields, other: &Fields) -> bool {
    other.iter().all(|wanted| {
        let found = shape
            .find(wanted.name())
            .map(|(_, field)| field.data_type());
        match (found, wanted.data_type()) {
            (Some(DataType::Struct(fields)), DataType::Struct(wanted)) => holds(fields, wanted),
            (found, wanted) => found == Some(wanted),
        }
    })
}

/// The leaves of either shape; where they differ in a type, the first one's.
fn union(shape: &Fields, other: &Fields) -> Fields {
    let mut fields: Vec<FieldRef> = shape.iter().cloned().collect();
    for field in other {
        let same = |known: &&mut FieldRef| known.name() == field.name();
        match fields.iter_mut().find(same) {
            None => fields.push(Arc::clone(field)),
            Some(known) => {
                if let (DataType::Struct(mine), DataType::Struct(theirs)) =
                    (known.data_type(), field.data_type())
                {
                    let both = DataType::Struct(union(mine, theirs));
                    *known = Arc::new(known.as_ref().clone().with_data_type(both));
                }
            }
        }
    }
    fields.into()
}

/// The struct in another shape: fields are found by name, brought to their type where that loses
/// nothing, and null otherwise. Recurses along `shape`, which has a bounded depth.
fn shaped(rows: &StructArray, shape: &Fields) -> Result<StructArray> {
    let child = |field: &FieldRef| -> Result<ArrayRef> {
        let nothing = || new_null_array(field.data_type(), rows.len());
        let Some(column) = rows.column_by_name(field.name()) else {
            return Ok(nothing());
        };
        match (column.data_type(), field.data_type()) {
            (from, to) if from == to => Ok(Arc::clone(column)),
            (DataType::Struct(_), DataType::Struct(fields)) => {
                Ok(Arc::new(shaped(column.as_struct(), fields)?))
            }
            (from, to) if keeps_values(from, to) => cast(column, to).map_err(misfit),
            _ => Ok(nothing()),
        }
    };
    let columns = shape.iter().map(child).collect::<Result<Vec<_>>>()?;
    StructArray::try_new_with_length(shape.clone(), columns, rows.nulls().cloned(), rows.len())
        .map_err(misfit)
}

/// Whether a cast gives the same value or, where it does not fit, null.
fn keeps_values(from: &DataType, to: &DataType) -> bool {
    use DataType as T;
    match (from, to) {
        (from, to) if from.is_integer() && to.is_integer() => true,
        (T::Float32, T::Float64) | (T::Utf8View | T::LargeUtf8, T::Utf8) => true,
        // less than a microsecond may be cut off: bounds of timestamps are no sharper than a millisecond
        (T::Timestamp(..), T::Timestamp(..)) => true,
        (T::Decimal128(_, from), T::Decimal128(_, to)) => from <= to,
        (
            T::Decimal32(_, from) | T::Decimal64(_, from) | T::Decimal256(_, from),
            T::Decimal128(_, to),
        ) => from <= to,
        _ => false,
    }
}
