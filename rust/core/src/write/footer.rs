//! Statistics of data files written by other engines, from their footers.
//!
//! Only the footers are read. A column for which some row group lacks bounds or null counts has none. The
//! columns with statistics, and the truncation of strings, are the same as for files written here.
//!
//! Protocol: "Per-file Statistics".

use arrow_array::{Array, ArrayRef, Int64Array};
use arrow_schema::{DataType as ArrowType, FieldRef, Fields, Schema};
use arrow_select::concat::concat;
use arrow_select::take::take;
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::arrow::parquet_to_arrow_schema;
use parquet::basic::Type;
use parquet::file::metadata::ParquetMetaData;
use parquet::schema::types::SchemaDescriptor;

use super::statistics::{
    Accumulator, MeasuredBounds, MeasuredColumn, MeasuredKind, Statistics, StatisticsPlan, joined,
};
use crate::codec::parquet_file::LegacyColumns;
use crate::error::{Error, Result};
use crate::replay::Source;
use crate::scan::data_file::{FOOTER_RULES, has_usable_bounds};
use crate::spec::properties::TableProperties;
use crate::spec::schema::StructType;
use crate::spec::{Metadata, Protocol};

/// The statistics of a table's data files.
#[derive(Clone, Debug)]
pub struct FooterStatistics(StatisticsPlan);

impl FooterStatistics {
    /// Creates the plan for the files of a table.
    pub fn new(metadata: &Metadata, protocol: &Protocol) -> Result<Self> {
        let schema = StructType::parse(&metadata.schema_string)?;
        let (properties, _) = TableProperties::new(metadata, protocol)?;
        let mode = properties.column_mapping_mode;
        StatisticsPlan::new(metadata, protocol, &schema, mode).map(Self)
    }

    /// Returns the statistics of a file as JSON, in the form of the log; `path` is as in the log.
    ///
    /// # Errors
    ///
    /// Corrupt: `data.footer`.
    pub fn read(&self, source: &Source, path: &str, size: u64) -> Result<String> {
        let stored = source.resolver.resolve("", path)?;
        let footer = source.footer(&stored, size, FOOTER_RULES);
        self.of_footer(&footer.map_err(|error| error.at_path(path))?.metadata)
    }

    fn of_footer(&self, footer: &ParquetMetaData) -> Result<String> {
        let file = footer.file_metadata();
        let schema = arrow_schema(file.schema_descr())?;
        let footer = &Footer {
            metadata: footer,
            legacy: LegacyColumns::of(file),
        };
        let mut path = Vec::new();
        let mut columns = Vec::new();
        for column in &self.0.columns {
            columns.push(footer_column(column, footer, schema.fields(), &mut path)?);
        }
        let rows = usize::try_from(file.num_rows()).unwrap_or(usize::MAX);
        Statistics { rows, columns }.json(&self.0)
    }
}

pub(super) fn arrow_schema(parquet: &SchemaDescriptor) -> Result<Schema> {
    parquet_to_arrow_schema(parquet, None).map_err(|cause| {
        let message = "the Parquet schema has a type that Arrow lacks";
        Error::corrupt("data.footer", message).because(cause)
    })
}

struct Footer<'a> {
    metadata: &'a ParquetMetaData,
    legacy: Option<LegacyColumns>,
}

impl Footer<'_> {
    /// Returns `true` if a column of this type may have values beyond its bounds, as delta-spark assumes it:
    /// only parquet-mr, which Spark uses, has NaN as the greatest value; other writers leave it out.
    fn may_hide_nan(&self, physical_type: Type) -> bool {
        let writer = self.metadata.file_metadata().created_by();
        matches!(physical_type, Type::FLOAT | Type::DOUBLE)
            && writer.is_none_or(|writer| !writer.starts_with("parquet-mr"))
    }
}

/// Recurses along structs, as deep as the table's schema.
fn footer_column<'a>(
    column: &'a MeasuredColumn,
    footer: &Footer<'_>,
    siblings: &Fields,
    path: &mut Vec<&'a str>,
) -> Result<Accumulator> {
    let field = siblings.find(&column.name).map(|(_, field)| field);
    path.push(&column.name);
    let accumulator = match (&column.kind, field.map(|field| (field, field.data_type()))) {
        (MeasuredKind::Struct(columns), Some((_, ArrowType::Struct(fields)))) => {
            let mut parts = Vec::new();
            for part in columns {
                parts.push(footer_column(part, footer, fields, path)?);
            }
            Accumulator::Struct(parts)
        }
        (MeasuredKind::Leaf { bounded }, Some((field, _))) => leaf(*bounded, footer, path, field)?,
        _ => Accumulator::Unknown,
    };
    path.pop();
    Ok(accumulator)
}

fn leaf(
    bounded: bool,
    footer: &Footer<'_>,
    path: &[&str],
    field: &FieldRef,
) -> Result<Accumulator> {
    let Some(statistics) = LeafStatistics::of(footer, path, field) else {
        return Ok(Accumulator::Unknown);
    };
    let bounds = match statistics.bounds.filter(|_| bounded) {
        Some(values) => joined(MeasuredBounds::NoValueYet, &values)?,
        None => MeasuredBounds::Nothing,
    };
    Ok(Accumulator::Leaf {
        nulls: statistics.nulls,
        bounds,
    })
}

struct LeafStatistics {
    nulls: usize,
    /// The minimum and maximum of each row group.
    bounds: Option<ArrayRef>,
}

impl LeafStatistics {
    fn of(footer: &Footer<'_>, path: &[&str], field: &FieldRef) -> Option<Self> {
        let parquet = footer.metadata.file_metadata().schema_descr();
        let mut leaves = parquet.columns().iter();
        let leaf = leaves.position(|leaf| leaf.path().parts() == path)?;
        let groups = footer.metadata.row_groups();
        let converter = StatisticsConverter::from_column_index(leaf, field, parquet).ok()?;
        let converter = converter.with_missing_null_counts_as_zero(false);
        let counts = converter.row_group_null_counts(groups).ok()?;
        let mut nulls = 0_usize;
        // row groups with at least one value
        let mut with_values = Vec::new();
        for (index, group) in groups.iter().enumerate() {
            let count = counts.is_valid(index).then(|| counts.value(index))?;
            nulls = nulls.checked_add(usize::try_from(count).ok()?)?;
            if i64::try_from(count).ok()? < group.num_rows() {
                with_values.push(i64::try_from(index).ok()?);
            }
        }
        let physical_type = parquet.columns().get(leaf)?.physical_type();
        let legacy = footer.legacy.as_ref();
        let calendar = legacy.and_then(|legacy| legacy.calendar(physical_type));
        let bounds = || {
            let indexes = Int64Array::from(with_values);
            let of_groups = |values: ArrayRef| {
                let values = take(&values, &indexes, None).ok()?;
                match calendar {
                    Some(calendar) => calendar.rebase_bounds(&values).ok(),
                    None => Some(values),
                }
            };
            let least = of_groups(converter.row_group_mins(groups).ok()?)?;
            let greatest = of_groups(converter.row_group_maxes(groups).ok()?)?;
            let known = !indexes.is_empty() && least.null_count() + greatest.null_count() == 0;
            known.then(|| concat(&[&least, &greatest]).ok())?
        };
        Some(Self {
            nulls,
            bounds: (has_usable_bounds(groups, leaf) && !footer.may_hide_nan(physical_type))
                .then(bounds)
                .flatten(),
        })
    }
}

#[cfg(test)]
mod tests;
