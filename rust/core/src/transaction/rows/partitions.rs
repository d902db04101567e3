//! Rows divided by their partition values.
//!
//! Protocol: "Partition Value Serialization".

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, StringArray, UInt32Array};
use arrow_select::take::take_record_batch;

use super::coerce::coerce;
use super::columns::misfit;
use super::layout::Layout;
use super::values::texts;
use crate::error::Result;
use crate::expr::Predicate;
use crate::snapshot::Snapshot;
use crate::spec::schema::{DataType, PrimitiveType};
use crate::transaction::actions::Texts;

/// The values of the partition columns, as the log has them, in the order of the table's columns.
pub(super) type Values = Vec<Option<String>>;

impl Layout {
    /// The rows of each partition, in the order of their first rows.
    pub(super) fn divided(&self, rows: &RecordBatch) -> Result<Vec<(Values, RecordBatch)>> {
        if rows.num_rows() == 0 {
            return Ok(Vec::new());
        }
        if self.partitions.is_empty() {
            return Ok(vec![(Vec::new(), rows.clone())]);
        }
        let mut columns = Vec::with_capacity(self.partitions.len());
        for (at, ..) in &self.partitions {
            if let Some(column) = rows.columns().get(*at) {
                columns.push(texts(column)?);
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
                let part = take_record_batch(rows, &UInt32Array::from(group)).map_err(misfit)?;
                Ok((values, part))
            })
            .collect()
    }
}

fn values_of(columns: &[StringArray], group: &[u32]) -> Values {
    let row = group.first().map_or(0, |row| *row as usize);
    columns
        .iter()
        .map(|texts| texts.is_valid(row).then(|| texts.value(row).to_owned()))
        .collect()
}

/// The rows with equal texts in all columns.
fn groups(columns: &[StringArray], rows: usize) -> Vec<Vec<u32>> {
    // which of the partitions so far each row belongs to; one more column makes them finer
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

/// Partition values of a file in the form in which this build writes them, so that values that mean the
/// same are the same: in the order of the partition columns.
pub fn normal_values(snapshot: &Snapshot, values: &Texts) -> Result<Vec<Option<String>>> {
    let mode = snapshot.properties().column_mapping_mode;
    let mut normal = Vec::new();
    for name in &snapshot.metadata().partition_columns {
        let Some(field) = snapshot.schema().field(name) else {
            continue;
        };
        let text = values.get(field.name_in_files(mode)?).cloned().flatten();
        let is_text = field.data_type == DataType::Primitive(PrimitiveType::String);
        let text = text.filter(|text| is_text || !text.is_empty());
        normal.push(text.map(|text| normal_text(text, &field.data_type)));
    }
    Ok(normal)
}

/// Texts that stand for values of a type in the form in which the log has them; null where they do not.
pub(crate) fn partition_text(values: &ArrayRef, data_type: &DataType) -> Result<StringArray> {
    coerce(values, data_type, "").and_then(|read| texts(&read))
}

fn normal_text(text: String, data_type: &DataType) -> String {
    let array: ArrayRef = Arc::new(StringArray::from(vec![text.as_str()]));
    match partition_text(&array, data_type) {
        Ok(read) if read.is_valid(0) => read.value(0).to_owned(),
        _ => text,
    }
}

/// More partitions than these are not named one by one.
const MOST_NAMED: usize = 200;

/// The predicate that is true of the rows of these partitions and no others; `None` where it would be
/// too long.
pub fn covering_predicate(
    snapshot: &Snapshot,
    partitions: &BTreeSet<Vec<Option<String>>>,
) -> Option<Predicate> {
    let columns = &snapshot.metadata().partition_columns;
    if columns.is_empty() || partitions.is_empty() || partitions.len() > MOST_NAMED {
        return None;
    }
    let equal = |(name, value): (&String, &Option<String>)| {
        let name = format!("`{}`", name.replace('`', "``"));
        match value {
            None => format!("{name} IS NULL"),
            Some(value) => format!("{name} = '{}'", value.replace('\'', "''")),
        }
    };
    let all = |values: &Vec<Option<String>>| {
        let parts: Vec<String> = columns.iter().zip(values).map(equal).collect();
        format!("({})", parts.join(" AND "))
    };
    let any: Vec<String> = partitions.iter().map(all).collect();
    let predicate = Predicate::parse_sql(&any.join(" OR ")).ok()?;
    predicate.bind(snapshot.schema()).ok().map(|_| predicate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_with_equal_values_come_together() {
        let one = StringArray::from(vec![Some("a"), None, Some("a"), Some("b"), None]);
        let other = StringArray::from(vec!["x", "x", "y", "x", "x"]);
        let expected = vec![vec![0], vec![1, 4], vec![2], vec![3]];
        assert_eq!(groups(&[one, other], 5), expected);
    }
}
