//! Partitioning of rows by their partition values.
//!
//! Protocol: "Partition Value Serialization".

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, StringArray, UInt32Array};
use arrow_cast::cast;
use arrow_schema::{Field, FieldRef};
use arrow_select::take::take_record_batch;

use super::coerce::coerce;
use super::columns::columns_mismatch;
use super::layout::Layout;
use super::partition_values::serialized;
use crate::codec::file_actions::string_map_builder;
use crate::codec::partition_values::{check_partition_column, parse_partition_values};
use crate::codec::row_bytes::each_row;
use crate::error::{Error, Result};
use crate::expr::Predicate;
use crate::snapshot::Snapshot;
use crate::spec::properties::ColumnMappingMode;
use crate::spec::schema::{DataType, StructType};
use crate::write::actions::StringMap;

/// The partition values, as in the log, in the order of the partition columns.
pub(super) type PartitionValues = Vec<Option<String>>;

impl Layout {
    /// Splits rows by partition, in the order of first occurrence.
    pub(super) fn split_by_partition(
        &self,
        rows: &RecordBatch,
    ) -> Result<Vec<(PartitionValues, RecordBatch)>> {
        if rows.num_rows() == 0 {
            return Ok(Vec::new());
        }
        if self.partitions.is_empty() {
            return Ok(vec![(Vec::new(), rows.clone())]);
        }
        let mut columns = Vec::with_capacity(self.partitions.len());
        for (index, ..) in &self.partitions {
            if let Some(column) = rows.columns().get(*index) {
                columns.push(serialized(column)?);
            }
        }
        let groups = groups(&columns, rows.num_rows());
        if let [only] = groups.as_slice() {
            return Ok(vec![(values_of(&columns, only), rows.clone())]);
        }
        groups
            .into_iter()
            .map(|group| {
                let values = values_of(&columns, &group);
                let part =
                    take_record_batch(rows, &UInt32Array::from(group)).map_err(columns_mismatch)?;
                Ok((values, part))
            })
            .collect()
    }
}

fn values_of(columns: &[StringArray], group: &[u32]) -> PartitionValues {
    let row = group.first().map_or(0, |row| *row as usize);
    columns
        .iter()
        .map(|strings| strings.is_valid(row).then(|| strings.value(row).to_owned()))
        .collect()
}

/// Groups the rows with equal texts in all columns.
fn groups(columns: &[StringArray], rows: usize) -> Vec<Vec<u32>> {
    // the partition of each row by the columns so far
    let mut parts = vec![0_u32; rows];
    let mut count = 1;
    for column in columns {
        let mut known: HashMap<(u32, Option<&str>), u32> = HashMap::new();
        let mut last = None;
        for (part, text) in parts.iter_mut().zip(column.iter()) {
            let key = (*part, text);
            *part = match last {
                Some((before, number)) if before == key => number,
                _ => {
                    let next = u32::try_from(known.len()).unwrap_or(u32::MAX);
                    let number = *known.entry(key).or_insert(next);
                    last = Some((key, number));
                    number
                }
            };
        }
        count = known.len();
    }
    let mut groups = vec![Vec::new(); count];
    for (row, part) in (0_u32..).zip(parts) {
        if let Some(group) = groups.get_mut(part as usize) {
            group.push(row);
        }
    }
    groups
}

/// Converts strings that represent values of a type to the form of the log.
pub(crate) fn partition_text(values: &ArrayRef, data_type: &DataType) -> Result<StringArray> {
    coerce(values, data_type, "").and_then(|read| serialized(&read))
}

/// The maximum number of partitions whose values are kept for a predicate.
const MAX_VALUES: usize = 200;

/// Some partitions of a table by their values, independent of their spelling in the log: two files are in the
/// same partition if Spark's GROUP BY puts their values into one group, so nulls are equal.
pub struct Partitions {
    /// The names of the partition columns, and their names and types in the log.
    columns: Vec<(String, (String, FieldRef))>,
    keys: HashSet<Box<[u8]>>,
    /// The values of each partition, in the order of the columns, up to [`MAX_VALUES`].
    values: Vec<Vec<ArrayRef>>,
}

impl Partitions {
    /// Returns no partitions, of a table with these columns.
    ///
    /// # Errors
    ///
    /// Corrupt: `schema.physical_name`; Unsupported: `partition_value.type`.
    pub fn none(
        partition_columns: &[String],
        schema: &StructType,
        mode: ColumnMappingMode,
    ) -> Result<Self> {
        let mut columns = Vec::with_capacity(partition_columns.len());
        for name in partition_columns {
            if let Some(field) = schema.field(name) {
                check_partition_column(field)?;
                let in_log = field.name_in_files(mode)?.to_owned();
                let typed = Arc::new(Field::new(&in_log, field.data_type.arrow_type(), true));
                columns.push((name.clone(), (in_log, typed)));
            }
        }
        Ok(Self {
            columns,
            keys: HashSet::new(),
            values: Vec::new(),
        })
    }

    /// Collects the partitions of files.
    ///
    /// # Errors
    ///
    /// Corrupt: `partition_value.parse` for a string that does not parse as its column's type.
    pub fn of_files<'a>(
        snapshot: &Snapshot,
        files: impl IntoIterator<Item = &'a StringMap>,
    ) -> Result<Self> {
        let mut partitions = Self::none(
            &snapshot.metadata().partition_columns,
            snapshot.schema(),
            snapshot.properties().column_mapping_mode,
        )?;
        let (columns, count) = partitions.parsed(files)?;
        let Self { keys, values, .. } = &mut partitions;
        each_row(&columns, count, |row, key| {
            if keys.insert(key.into()) && values.len() < MAX_VALUES {
                values.push(columns.iter().map(|column| column.slice(row, 1)).collect());
            }
        })
        .map_err(columns_mismatch)?;
        Ok(partitions)
    }

    /// Returns `true` if there are no partitions.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Returns for each file whether it is in one of the partitions.
    pub fn contain_files<'a>(
        &self,
        files: impl IntoIterator<Item = &'a StringMap>,
    ) -> Result<Vec<bool>> {
        let (values, count) = self.parsed(files)?;
        self.contain(&values, count)
    }

    /// Returns for each row whether it is in one of the partitions.
    ///
    /// # Errors
    ///
    /// Invalid argument: `rows.partition` for a column that the rows lack, or whose type cannot be cast.
    pub fn contain_rows(&self, rows: &RecordBatch) -> Result<Vec<bool>> {
        let column = |(name, (in_log, field)): &(String, (String, FieldRef))| {
            rows.column_by_name(in_log)
                .and_then(|values| cast(values, field.data_type()).ok())
                .ok_or_else(|| {
                    let message = format!(
                        "the values of the partition column {name} are missing or have the wrong type"
                    );
                    Error::invalid("rows.partition", message)
                })
        };
        let values: Vec<_> = self.columns.iter().map(column).collect::<Result<_>>()?;
        self.contain(&values, rows.num_rows())
    }

    fn contain(&self, values: &[ArrayRef], count: usize) -> Result<Vec<bool>> {
        let mut contained = Vec::with_capacity(count);
        each_row(values, count, |_, key| {
            contained.push(self.keys.contains(key));
        })
        .map_err(columns_mismatch)?;
        Ok(contained)
    }

    /// Parses the values of each partition column, one per file; also returns the number of files.
    fn parsed<'a>(
        &self,
        files: impl IntoIterator<Item = &'a StringMap>,
    ) -> Result<(Vec<ArrayRef>, usize)> {
        let mut strings = string_map_builder();
        for values in files {
            for (name, value) in values {
                strings.keys().append_value(name);
                strings.values().append_option(value.as_ref());
            }
            strings.append(true).map_err(columns_mismatch)?;
        }
        let strings = strings.finish();
        let columns = self.columns.iter().map(|(_, typed)| typed.clone());
        let parsed = parse_partition_values(&strings, &columns.collect::<Vec<_>>())?;
        Ok((parsed.columns().to_vec(), strings.len()))
    }

    /// Returns the predicate that is true exactly for the rows of these partitions. `None` if there are no
    /// partitions, if the table is not partitioned, or if SQL cannot express the predicate or it is too long.
    pub fn predicate(&self, snapshot: &Snapshot) -> Option<Predicate> {
        if self.columns.is_empty() || self.keys.is_empty() || self.keys.len() > self.values.len() {
            return None;
        }
        let partition = |values: &Vec<ArrayRef>| {
            let columns = self.columns.iter().zip(values);
            let equal = columns.map(|((name, _), value)| Predicate::equal(name, value));
            Some(Predicate::all(equal.collect::<Option<_>>()?))
        };
        let partitions = self.values.iter().map(partition);
        let predicate = Predicate::any(partitions.collect::<Option<_>>()?).ok()?;
        predicate.bind(snapshot.schema()).ok().map(|_| predicate)
    }
}

#[cfg(test)]
mod tests;
