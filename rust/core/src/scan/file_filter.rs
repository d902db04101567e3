//! A predicate held against what the log knows of each file: partition values and statistics.
//!
//! A file is left out only where no row of it can satisfy the predicate; what is not known, or does
//! not parse, lets the file through.
//!
//! Protocol: "Per-file Statistics", "Partition Value Serialization".

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, StructArray};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_schema::{DataType, Field, FieldRef, Fields, TimeUnit};

use crate::codec::judged::{JudgedColumns, PARTITION_VALUES, STATS};
use crate::codec::statistics::stats_schema;
use crate::error::{Error, Result};
use crate::expr::{BoundColumn, BoundPredicate, Bounds, ColumnBounds};
use crate::replay::FileFilter;
use crate::snapshot::Snapshot;
use crate::spec::schema::{DataType as LogicalType, StructField, StructType};

/// Statistics cut timestamps to the millisecond: a maximum may be that much too low.
const MILLISECOND: i64 = 1000;

/// Where the log keeps what it knows of a column.
#[derive(Clone, Debug, PartialEq)]
enum Place {
    /// The field of this name among the partition values.
    Partition(String),
    /// The leaf of these physical names among the statistics.
    Statistics(Vec<String>),
}

/// A predicate on the files of a snapshot.
#[derive(Clone, Debug)]
pub(crate) struct PredicateFilter {
    /// All of them have to hold.
    predicates: Vec<BoundPredicate>,
    places: Vec<(BoundColumn, Place)>,
    columns: JudgedColumns,
}

impl PredicateFilter {
    /// For the files of this snapshot, whose schema the predicate is bound to.
    pub(crate) fn new(predicate: BoundPredicate, snapshot: &Snapshot) -> Result<Self> {
        let mode = snapshot.properties().column_mapping_mode;
        let partitioned = &snapshot.metadata().partition_columns;
        let mut places = Vec::new();
        let mut columns = JudgedColumns::default();
        let mut data: Vec<FieldRef> = Vec::new();
        for column in predicate.columns() {
            let found = fields_to(snapshot.schema(), &column.path);
            let Some((first, last)) = found
                .as_ref()
                .and_then(|path| path.first().zip(path.last()))
            else {
                continue;
            };
            let physical = found
                .iter()
                .flatten()
                .map(|field| field.name_in_files(mode).map(str::to_owned))
                .collect::<Result<Vec<String>>>()?;
            if partitioned.contains(&first.name) {
                let name = first.name_in_files(mode)?.to_owned();
                let field = Field::new(&name, last.data_type.arrow_type(), true);
                columns
                    .partition_values
                    .push((name.clone(), Arc::new(field)));
                places.push((column.clone(), Place::Partition(name)));
            } else {
                add_leaf(&mut data, &physical, &last.data_type.arrow_type());
                places.push((column.clone(), Place::Statistics(physical)));
            }
        }
        if !data.is_empty() {
            columns.stats = stats_schema(&data.into());
        }
        Ok(Self {
            predicates: vec![predicate],
            places,
            columns,
        })
    }

    /// The parts of the predicate that speak of partition columns alone.
    pub(super) fn on_partitions(&self) -> Self {
        let partition = |column: &BoundColumn| {
            self.places
                .iter()
                .any(|(known, place)| known == column && matches!(place, Place::Partition(_)))
        };
        let parts = self.predicates.iter().flat_map(BoundPredicate::conjuncts);
        Self {
            predicates: parts.filter(|part| part.uses_only(&partition)).collect(),
            ..self.clone()
        }
    }
}

impl FileFilter for PredicateFilter {
    fn columns(&self) -> &JudgedColumns {
        &self.columns
    }

    fn may_match(&self, judged: &RecordBatch) -> Result<BooleanBuffer> {
        let known = Known {
            filter: self,
            judged,
        };
        let mut passed = BooleanBuffer::new_set(judged.num_rows());
        for predicate in &self.predicates {
            passed = &passed & &predicate.may_match(&known)?;
        }
        Ok(passed)
    }
}

/// What the log knows of some files.
struct Known<'a> {
    filter: &'a PredicateFilter,
    judged: &'a RecordBatch,
}

impl Known<'_> {
    fn part(&self, name: &str) -> Result<&StructArray> {
        let part = self.judged.column_by_name(name);
        part.and_then(|part| part.as_struct_opt()).ok_or_else(|| {
            Error::corrupt("log.columns", format!("files are judged without {name}"))
        })
    }
}

impl ColumnBounds for Known<'_> {
    fn len(&self) -> usize {
        self.judged.num_rows()
    }

    fn bounds(&self, column: &BoundColumn) -> Result<Option<Bounds>> {
        let place = self.filter.places.iter().find(|(known, _)| known == column);
        match place {
            None => Ok(None),
            Some((_, Place::Partition(name))) => {
                let values = self.part(PARTITION_VALUES)?;
                let absent = values.nulls();
                let Some(values) = values.column_by_name(name) else {
                    return Ok(None);
                };
                // one value for all rows: each is null, or none
                let nulls = values.logical_nulls();
                let null_count = (0..values.len())
                    .map(|row| {
                        let known = absent.is_none_or(|absent| absent.is_valid(row));
                        let null = nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
                        known.then_some(i64::from(null))
                    })
                    .collect::<Int64Array>();
                Ok(Some(Bounds {
                    min: Some(Arc::clone(values)),
                    max: Some(Arc::clone(values)),
                    num_rows: Some(Int64Array::from(vec![1; values.len()])),
                    null_count: Some(null_count),
                    covers_nan: true,
                }))
            }
            Some((column, Place::Statistics(path))) => {
                let stats = self.part(STATS)?;
                let bound = |name: &str| {
                    leaf(stats, name, path).filter(|found| *found.data_type() == column.data_type)
                };
                let count = |found: Option<ArrayRef>| {
                    found.and_then(|found| found.as_primitive_opt::<Int64Type>().cloned())
                };
                Ok(Some(Bounds {
                    min: bound("minValues"),
                    max: bound("maxValues").map(|max| widened(&max)),
                    null_count: count(leaf(stats, "nullCount", path)),
                    num_rows: count(leaf(stats, "numRecords", &[])),
                    covers_nan: false,
                }))
            }
        }
    }
}

/// A leaf of the statistics: null wherever a struct around it is.
fn leaf(stats: &StructArray, name: &str, path: &[String]) -> Option<ArrayRef> {
    let mut found = Arc::clone(stats.column_by_name(name)?);
    let mut nulls = stats.nulls().cloned();
    for name in path {
        nulls = NullBuffer::union(nulls.as_ref(), found.nulls());
        found = Arc::clone(found.as_struct_opt()?.column_by_name(name)?);
    }
    let nulls = NullBuffer::union(nulls.as_ref(), found.nulls());
    let data = found.to_data().into_builder().nulls(nulls).build().ok()?;
    Some(arrow_array::make_array(data))
}

/// A maximum that is none too low.
fn widened(max: &ArrayRef) -> ArrayRef {
    let DataType::Timestamp(TimeUnit::Microsecond, zone) = max.data_type() else {
        return Arc::clone(max);
    };
    let cut = max.as_primitive::<TimestampMicrosecondType>();
    let widened = cut.unary::<_, TimestampMicrosecondType>(|at| at.saturating_add(MILLISECOND));
    Arc::new(widened.with_timezone_opt(zone.clone()))
}

/// The fields that a path of logical names leads through.
fn fields_to<'a>(schema: &'a StructType, path: &[String]) -> Option<Vec<&'a StructField>> {
    let mut fields = Vec::with_capacity(path.len());
    let mut within = Some(schema);
    for name in path {
        let field = within?.field(name)?;
        within = match &field.data_type {
            LogicalType::Struct(inner) => Some(inner),
            _ => None,
        };
        fields.push(field);
    }
    Some(fields)
}

/// Puts a leaf into a tree of fields, beside those that are there. As deep as the path, which is one
/// of the schema's.
fn add_leaf(fields: &mut Vec<FieldRef>, path: &[String], data_type: &DataType) {
    let Some((name, rest)) = path.split_first() else {
        return;
    };
    let place = fields.iter().position(|field| field.name() == name);
    let mut inner: Vec<FieldRef> = match place.and_then(|place| fields.get(place)) {
        Some(field) => match field.data_type() {
            DataType::Struct(inner) => inner.iter().cloned().collect(),
            _ => return,
        },
        None => Vec::new(),
    };
    let data_type = if rest.is_empty() {
        data_type.clone()
    } else {
        add_leaf(&mut inner, rest, data_type);
        DataType::Struct(Fields::from(inner))
    };
    let field = Arc::new(Field::new(name, data_type, true));
    match place.and_then(|place| fields.get_mut(place)) {
        Some(known) => *known = field,
        None => fields.push(field),
    }
}
