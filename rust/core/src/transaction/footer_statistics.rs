//! Statistics of data files that another engine has written, as their footers tell them.
//!
//! Only the footers are read. A column whose bounds or nulls one row group does not tell has none.
//!
//! Protocol: "Per-file Statistics"; which columns, and how long text is cut, as in the reference
//! implementation.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, BooleanArray, Int64Array, StringArray, StructArray};
use arrow_ord::ord::make_comparator;
use arrow_schema::{DataType as ArrowType, Field, FieldRef, Fields, SortOptions, TimeUnit};
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::arrow::parquet_to_arrow_schema;
use parquet::basic::Type as PhysicalType;
use parquet::file::metadata::ParquetMetaData;

use crate::codec::parquet_file::{FooterRules, read_footer};
use crate::codec::statistics::render_stats;
use crate::error::{Error, Result};
use crate::replay::Source;
use crate::spec::actions::{Metadata, Protocol};
use crate::spec::properties::{ColumnMappingMode, TableProperties};
use crate::spec::schema::{DataType, PrimitiveType, StructField, StructType};

/// A new file holds no more rows than that in a byte: constants take next to no room.
const RULES: FooterRules = FooterRules {
    code: "data.footer",
    most_rows_per_byte: 1 << 20,
    page_index: false,
};

/// Years that every reader's parser takes: from 0001-01-01 to 9999-12-31.
const DAYS: std::ops::RangeInclusive<i64> = -719_162..=2_932_896;
const DAY: i64 = 86_400_000_000;

/// Which statistics the files of a table have.
#[derive(Clone, Debug)]
pub struct FooterStatistics {
    columns: Vec<Column>,
    /// So many letters of a text are kept.
    prefix: usize,
    tight_bounds: bool,
}

/// A column, or a part of one, by its name in the files.
#[derive(Clone, Debug)]
struct Column {
    name: String,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Leaf { bounded: bool },
    Struct(Vec<Column>),
}

impl FooterStatistics {
    /// For files of a table.
    ///
    /// # Errors
    ///
    /// Corrupt: the schema or a property.
    pub fn new(metadata: &Metadata, protocol: &Protocol) -> Result<Self> {
        let schema = StructType::parse(&metadata.schema_string)?;
        let mode = TableProperties::new(metadata, protocol)?
            .0
            .column_mapping_mode;
        let number = |name| -> Option<i64> {
            let text = metadata.property(name)?;
            text.trim().parse().ok()
        };
        let most = number("delta.dataSkippingNumIndexedCols").unwrap_or(32);
        let named = metadata.property("delta.dataSkippingStatsColumns");
        let mut chosen = match named {
            Some(text) => Chosen::Named(column_paths(text)),
            None => Chosen::First(usize::try_from(most).unwrap_or(usize::MAX)),
        };
        let is_partition = |field: &&StructField| {
            let mut partitions = metadata.partition_columns.iter();
            partitions.any(|name| name.to_lowercase() == field.name.to_lowercase())
        };
        let fields = schema.fields().iter().filter(|field| !is_partition(field));
        let prefix = number("delta.dataSkippingStringPrefixLength").unwrap_or(32);
        Ok(Self {
            columns: columns(fields, mode, &mut Vec::new(), &mut chosen)?,
            prefix: usize::try_from(prefix).unwrap_or(32),
            tight_bounds: protocol.is_supported("deletionVectors"),
        })
    }

    /// The statistics of a file as the log has them, as JSON; `path` is as the log has it.
    ///
    /// # Errors
    ///
    /// Corrupt: `data.footer`, a path that leads out of the table. Errors of the storage.
    pub fn read(&self, source: &Source, path: &str, size: u64) -> Result<String> {
        let stored = source.resolver.resolve("", path)?;
        let fetch = |ranges: &[Range<u64>]| source.storage.read_ranges(&stored, ranges);
        let footer = read_footer(size, &fetch, &RULES);
        self.of(&footer.map_err(|error| error.at_path(path))?)
    }

    fn of(&self, footer: &ParquetMetaData) -> Result<String> {
        let file = footer.file_metadata();
        let shown = parquet_to_arrow_schema(file.schema_descr(), None).map_err(|cause| {
            Error::corrupt("data.footer", "the Parquet schema has no types").because(cause)
        })?;
        let mut parts = Parts::default();
        let mut path = Vec::new();
        for column in &self.columns {
            self.put(column, footer, shown.fields(), &mut path, &mut parts)?;
        }
        let rows = Int64Array::from(vec![file.num_rows()]);
        let mut all = vec![named("numRecords", Arc::new(rows))];
        if self.tight_bounds {
            all.push(named(
                "tightBounds",
                Arc::new(BooleanArray::from(vec![true])),
            ));
        }
        for (name, part) in [
            ("minValues", parts.min),
            ("maxValues", parts.max),
            ("nullCount", parts.nulls),
        ] {
            if !part.is_empty() {
                all.push(named(name, Arc::new(one_row(part)?)));
            }
        }
        Ok(render_stats(&one_row(all)?)?.value(0).to_owned())
    }

    /// Recurses along structs, as deep as the table's schema.
    fn put<'a>(
        &self,
        column: &'a Column,
        footer: &ParquetMetaData,
        siblings: &Fields,
        path: &mut Vec<&'a str>,
        parts: &mut Parts,
    ) -> Result<()> {
        let Some((_, field)) = siblings.find(&column.name) else {
            return Ok(());
        };
        path.push(&column.name);
        match (&column.kind, field.data_type()) {
            (Kind::Struct(columns), ArrowType::Struct(fields)) => {
                let mut below = Parts::default();
                for one in columns {
                    self.put(one, footer, fields, path, &mut below)?;
                }
                for (from, to) in [
                    (below.min, &mut parts.min),
                    (below.max, &mut parts.max),
                    (below.nulls, &mut parts.nulls),
                ] {
                    if !from.is_empty() {
                        to.push(named(&column.name, Arc::new(one_row(from)?)));
                    }
                }
            }
            (Kind::Leaf { bounded }, _) => {
                if let Some(known) = Known::of(footer, path, field) {
                    let nulls = Int64Array::from(vec![known.nulls]);
                    parts.nulls.push(named(&column.name, Arc::new(nulls)));
                    if let Some((least, greatest)) = known.bounds.filter(|_| *bounded) {
                        let least = cut(least, |text| lower_bound(text, self.prefix));
                        let greatest = cut(greatest, |text| upper_bound(text, self.prefix));
                        let name = &column.name;
                        parts.min.extend(least.map(|bound| named(name, bound)));
                        parts.max.extend(greatest.map(|bound| named(name, bound)));
                    }
                }
            }
            _ => {}
        }
        path.pop();
        Ok(())
    }
}

/// What the footer tells of a leaf.
struct Known {
    nulls: i64,
    bounds: Option<(ArrayRef, ArrayRef)>,
}

impl Known {
    fn of(footer: &ParquetMetaData, path: &[&str], field: &FieldRef) -> Option<Self> {
        let parquet = footer.file_metadata().schema_descr();
        let mut leaves = parquet.columns().iter();
        let leaf = leaves.position(|leaf| leaf.path().parts() == path)?;
        let groups = footer.row_groups();
        let told = StatisticsConverter::from_column_index(leaf, field, parquet).ok()?;
        let told = told.with_missing_null_counts_as_zero(false);
        let counts = told.row_group_null_counts(groups).ok()?;
        let mut nulls = 0_i64;
        // row groups in which there is a value
        let mut with_values = Vec::new();
        for (at, group) in groups.iter().enumerate() {
            let count = counts.is_valid(at).then(|| counts.value(at))?;
            let count = i64::try_from(count).ok()?;
            nulls = nulls.checked_add(count)?;
            if count < group.num_rows() {
                with_values.push(at);
            }
        }
        let ordered = parquet.columns().get(leaf)?.physical_type() != PhysicalType::INT96;
        let bounds = || {
            let least = told.row_group_mins(groups).ok()?;
            let greatest = told.row_group_maxes(groups).ok()?;
            Some((
                extreme(&least, &with_values, true)?,
                extreme(&greatest, &with_values, false)?,
            ))
        };
        Some(Self {
            nulls,
            bounds: bounds().filter(|_| ordered),
        })
    }
}

/// The least or the greatest of some values; `None` where one of them is not known, or has no text.
fn extreme(values: &ArrayRef, places: &[usize], least: bool) -> Option<ArrayRef> {
    let options = SortOptions {
        descending: !least,
        nulls_first: false,
    };
    let compare = make_comparator(values, values, options).ok()?;
    let first = *places.first()?;
    let mut found = first;
    for place in places {
        if values.is_null(*place) {
            return None;
        }
        if compare(*place, found).is_lt() {
            found = *place;
        }
    }
    let value = values.slice(found, 1);
    has_text(&value).then_some(value)
}

/// Whether readers understand the JSON of a value.
fn has_text(value: &ArrayRef) -> bool {
    let day = match value.data_type() {
        ArrowType::Date32 => i64::from(value.as_primitive::<Date32Type>().value(0)),
        ArrowType::Timestamp(TimeUnit::Microsecond, _) => {
            let micros = value.as_primitive::<TimestampMicrosecondType>().value(0);
            micros.div_euclid(DAY)
        }
        ArrowType::Timestamp(..) => return false,
        ArrowType::Float32 => return value.as_primitive::<Float32>().value(0).is_finite(),
        ArrowType::Float64 => return value.as_primitive::<Float64>().value(0).is_finite(),
        _ => return true,
    };
    DAYS.contains(&day)
}

type Float32 = arrow_array::types::Float32Type;
type Float64 = arrow_array::types::Float64Type;

/// Which leaves are left to be chosen.
enum Chosen {
    /// The next so many.
    First(usize),
    /// Those below these paths of logical names, in lower case.
    Named(Vec<Vec<String>>),
}

impl Chosen {
    fn takes(&mut self, path: &[String]) -> bool {
        match self {
            Self::First(left) => {
                let takes = *left > 0;
                *left = left.saturating_sub(1);
                takes
            }
            Self::Named(paths) => paths.iter().any(|named| path.starts_with(named)),
        }
    }
}

/// Names with commas between them; parts of a name have dots between them, and may stand in backticks.
fn column_paths(text: &str) -> Vec<Vec<String>> {
    let (mut paths, mut path, mut name) = (Vec::new(), Vec::new(), String::new());
    let mut quoted = false;
    for letter in text.chars() {
        match letter {
            '`' => quoted = !quoted,
            '.' if !quoted => path.push(std::mem::take(&mut name).trim().to_lowercase()),
            ',' if !quoted => {
                path.push(std::mem::take(&mut name).trim().to_lowercase());
                paths.push(std::mem::take(&mut path));
            }
            other => name.push(other),
        }
    }
    path.push(name.trim().to_lowercase());
    paths.push(path);
    paths
}

/// Recurses along structs, as deep as the table's schema.
fn columns<'a>(
    fields: impl Iterator<Item = &'a StructField>,
    mode: ColumnMappingMode,
    path: &mut Vec<String>,
    chosen: &mut Chosen,
) -> Result<Vec<Column>> {
    let mut found = Vec::new();
    for field in fields {
        path.push(field.name.to_lowercase());
        let kind = match &field.data_type {
            DataType::Struct(parts) => {
                let parts = columns(parts.fields().iter(), mode, path, chosen)?;
                (!parts.is_empty()).then_some(Kind::Struct(parts))
            }
            other => chosen.takes(path).then(|| Kind::Leaf {
                bounded: has_bounds(other),
            }),
        };
        path.pop();
        if let Some(kind) = kind {
            let name = field.name_in_files(mode)?.to_owned();
            found.push(Column { name, kind });
        }
    }
    Ok(found)
}

fn has_bounds(data_type: &DataType) -> bool {
    use PrimitiveType as P;
    let DataType::Primitive(primitive) = data_type else {
        return false;
    };
    !matches!(
        primitive,
        P::Boolean
            | P::Binary
            | P::Variant
            | P::Void
            | P::IntervalYearMonth
            | P::IntervalDayTime
            | P::Geometry { .. }
            | P::Geography { .. }
    )
}

/// Columns of the three structs; what is absent is left out.
type Named = Vec<(FieldRef, ArrayRef)>;

#[derive(Default)]
struct Parts {
    min: Named,
    max: Named,
    nulls: Named,
}

fn named(name: &str, values: ArrayRef) -> (FieldRef, ArrayRef) {
    let field = Field::new(name, values.data_type().clone(), true);
    (Arc::new(field), values)
}

fn one_row(columns: Named) -> Result<StructArray> {
    let (fields, columns): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
    StructArray::try_new(Fields::from(fields), columns, None).map_err(|cause| {
        Error::corrupt("data.footer", "the statistics do not fit together").because(cause)
    })
}

/// Texts are cut, other values stay; `None` where there is no such text.
fn cut(value: ArrayRef, short: impl Fn(&str) -> Option<String>) -> Option<ArrayRef> {
    match value.as_string_opt::<i32>() {
        Some(texts) => Some(Arc::new(StringArray::from(vec![short(texts.value(0))?]))),
        None => Some(value),
    }
}

/// The first letters of a text, which none of its letters precedes.
fn lower_bound(value: &str, letters: usize) -> Option<String> {
    (letters > 0).then(|| value.chars().take(letters).collect())
}

/// A short text that is not less than the value; none where there is no such text.
fn upper_bound(value: &str, letters: usize) -> Option<String> {
    if letters == 0 {
        return None;
    }
    let mut bound: String = value.chars().take(letters).collect();
    for letter in value.chars().skip(letters).take(letters) {
        if letter != char::MAX {
            bound.push(if letter < '\u{7F}' {
                '\u{7F}'
            } else {
                char::MAX
            });
            return Some(bound);
        }
        bound.push(letter);
    }
    (bound == value).then_some(bound)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_of_long_texts() {
        let greatest = char::MAX.to_string();
        for (value, letters, least, most) in [
            ("abcdef", 6, Some("abcdef"), Some("abcdef".to_owned())),
            (
                "abcdef-ab",
                6,
                Some("abcdef"),
                Some("abcdef\u{7F}".to_owned()),
            ),
            ("漢字仮", 2, Some("漢字"), Some(format!("漢字{greatest}"))),
            ("abcd", 0, None, None),
        ] {
            assert_eq!(lower_bound(value, letters).as_deref(), least);
            assert_eq!(upper_bound(value, letters), most);
        }
        let beaten = format!("a{greatest}d");
        assert_eq!(upper_bound(&beaten, 2), Some(format!("a{greatest}\u{7F}")));
        assert_eq!(upper_bound(&greatest.repeat(4), 1), None);
        assert_eq!(
            upper_bound(&greatest.repeat(4), 4),
            Some(greatest.repeat(4))
        );
    }

    #[test]
    fn names_of_chosen_columns() {
        let expected = [vec!["a"], vec!["b", "c.d"], vec!["e,f"]];
        assert_eq!(column_paths("A, b.`c.d` ,`e,f`"), expected);
    }
}
