//! The actions of a checkpoint other than files: protocol, metadata, transactions, domains, sidecars.
//!
//! These are few rows among millions, so only the pages that contain them are decoded; they are located by
//! row group statistics and the column index.

use std::collections::BTreeMap;
use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, RecordBatch, StructArray};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;

use super::units::{Unit, all_null};
use super::{CheckpointFile, REQUIRED, arrow_error, first_without, without_field};
use crate::codec::parquet_file::{FetchedBytes, RowGroupRequest};
use crate::error::{Error, Result};
use crate::spec::actions::{Format, Sidecar};
use crate::spec::arrow::strict_cast;
use crate::spec::{DomainMetadata, Metadata, Protocol, SetTransaction};

/// The leaf columns that identify rows of control actions: a required field of each, and a second field for
/// actions whose loss would go unnoticed, in case a row lacks the first.
const MARKERS: [[&str; 2]; 8] = [
    ["protocol", "minReaderVersion"],
    ["metaData", "id"],
    ["txn", "appId"],
    ["txn", "version"],
    ["domainMetadata", "domain"],
    ["domainMetadata", "removed"],
    ["sidecar", "path"],
    ["sidecar", "sizeInBytes"],
];

/// The control actions of a checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Control {
    /// The protocol.
    pub protocol: Option<Protocol>,
    /// The metadata.
    pub metadata: Option<Metadata>,
    /// The latest version of each application.
    pub transactions: Vec<SetTransaction>,
    /// Domains, including tombstones if the writer kept them.
    pub domains: Vec<DomainMetadata>,
    /// The sidecars of a V2 checkpoint.
    pub sidecars: Vec<Sidecar>,
}

impl CheckpointFile {
    /// Requests the pages that contain control actions.
    pub fn request_control(&self) -> Vec<(Unit, RowGroupRequest)> {
        let leaves = self.leaves(|parts| match parts {
            [root, ..] => MARKERS.iter().any(|[marker, _]| marker == root),
            [] => false,
        });
        let markers: Vec<usize> = MARKERS
            .iter()
            .filter_map(|marker| self.leaf(marker))
            .collect();
        let mut requests = Vec::new();
        for (row_group, group) in self.metadata().row_groups().iter().enumerate() {
            let group_rows = usize::try_from(group.num_rows()).unwrap_or_default();
            if group_rows == 0 {
                continue;
            }
            let rows: Vec<Range<usize>> = markers
                .iter()
                .filter(|leaf| !all_null(group, **leaf))
                .flat_map(|leaf| self.pages_with_values(row_group, *leaf, group_rows))
                .collect();
            for rows in merged(rows) {
                let unit = Unit {
                    row_group,
                    rows,
                    group_rows,
                };
                let request = self.request_leaves(&unit, leaves.clone(), None);
                requests.push((unit, request));
            }
        }
        requests
    }

    /// Adds the control actions of a unit to `control`; all requested bytes must have been fetched.
    pub fn read_control(
        &self,
        unit: &Unit,
        request: RowGroupRequest,
        fetched: &FetchedBytes,
        control: &mut Control,
    ) -> Result<()> {
        let mut first = unit.rows.start;
        for batch in self.reader(unit, request, fetched)? {
            let batch = batch?;
            control.append(&batch, (unit.row_group, first))?;
            first += batch.num_rows();
        }
        Ok(())
    }

    /// Returns the rows of the pages in which the leaf is not entirely null; all rows if that is not known.
    fn pages_with_values(
        &self,
        row_group: usize,
        leaf: usize,
        group_rows: usize,
    ) -> Vec<Range<usize>> {
        let all = || std::iter::once(0..group_rows).collect();
        let index = self.metadata().page_index_for_row_group(row_group);
        let (Some(nulls), Some(pages)) = (index.column_index(leaf), index.offset_index(leaf))
        else {
            return all();
        };
        let pages = pages.page_locations();
        if nulls.num_pages() != pages.len() as u64 {
            return all();
        }
        let starts = pages.iter().map(|page| {
            usize::try_from(page.first_row_index)
                .unwrap_or(0)
                .min(group_rows)
        });
        let ends = starts.clone().skip(1).chain(std::iter::once(group_rows));
        starts
            .zip(ends)
            .enumerate()
            .filter(|(page, _)| !nulls.is_null_page(*page))
            .map(|(_, (start, end))| start..end)
            .collect()
    }
}

/// Sorts and merges the ranges; none of the result is empty.
fn merged(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.retain(|range| !range.is_empty());
    ranges.sort_by_key(|range| range.start);
    let mut out: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match out.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => out.push(range),
        }
    }
    out
}

impl Control {
    /// Decodes the actions of a batch; `row_group` and `first` are its row group and the index of its first
    /// row.
    fn append(&mut self, batch: &RecordBatch, (row_group, first): (usize, usize)) -> Result<()> {
        for [root, marker] in REQUIRED {
            let Some((index, field)) = batch.schema_ref().fields().find(root) else {
                continue;
            };
            let Some(rows) = batch.column(index).as_struct_opt() else {
                continue;
            };
            let Some(marked) = rows.column_by_name(marker) else {
                continue;
            };
            let present = NullBuffer::union(rows.nulls(), marked.logical_nulls().as_ref());
            if let Some(row) = first_without(rows, present.as_ref(), !field.is_nullable()) {
                return Err(without_field(root, marker, row_group, Some(first + row)));
            }
            let is_present = |row: &usize| present.as_ref().is_none_or(|it| it.is_valid(*row));
            for row in (0..rows.len()).filter(is_present) {
                let row = Row { rows, row };
                match root {
                    "protocol" => self.protocol = Some(row.protocol()?),
                    "metaData" => self.metadata = Some(row.metadata()?),
                    "txn" => self.transactions.push(SetTransaction {
                        app_id: row.text("appId")?.unwrap_or_default(),
                        version: row.long("version")?.ok_or_else(|| missing("txn.version"))?,
                        last_updated: row.long("lastUpdated")?,
                    }),
                    "domainMetadata" => self.domains.push(DomainMetadata {
                        domain: row.text("domain")?.unwrap_or_default(),
                        configuration: row.text("configuration")?.unwrap_or_default(),
                        removed: row.flag("removed")?,
                    }),
                    "sidecar" => self.sidecars.push(Sidecar {
                        path: row.text("path")?.unwrap_or_default(),
                        size_in_bytes: row.long("sizeInBytes")?.unwrap_or_default(),
                        modification_time: row.long("modificationTime")?.unwrap_or_default(),
                    }),
                    _ => {} // file actions: their columns are not in this batch
                }
            }
        }
        Ok(())
    }
}

fn missing(field: &str) -> Error {
    Error::corrupt(
        "checkpoint.columns",
        format!("{field} is missing or not of the protocol's type"),
    )
}

/// A row of a struct column, with its fields by name.
struct Row<'a> {
    rows: &'a StructArray,
    row: usize,
}

impl Row<'_> {
    fn child(&self, name: &str) -> Option<&ArrayRef> {
        let column = self.rows.column_by_name(name)?;
        // some writers leave a column without values untyped: it has no null buffer
        let is_untyped = *column.data_type() == DataType::Null;
        (!is_untyped && column.is_valid(self.row)).then_some(column)
    }

    fn text(&self, name: &str) -> Result<Option<String>> {
        let Some(column) = self.child(name) else {
            return Ok(None);
        };
        let strings = column.as_string_view_opt().ok_or_else(|| missing(name))?;
        Ok(Some(strings.value(self.row).to_owned()))
    }

    fn long(&self, name: &str) -> Result<Option<i64>> {
        let Some(column) = self.child(name) else {
            return Ok(None);
        };
        if let Some(values) = column.as_primitive_opt::<Int64Type>() {
            return Ok(Some(values.value(self.row)));
        }
        if !column.data_type().is_integer() {
            return Err(missing(name));
        }
        let value =
            strict_cast(&column.slice(self.row, 1), &DataType::Int64).map_err(arrow_error)?;
        Ok(Some(value.as_primitive::<Int64Type>().value(0)))
    }

    fn flag(&self, name: &str) -> Result<bool> {
        let Some(column) = self.child(name) else {
            return Ok(false);
        };
        column
            .as_boolean_opt()
            .map(|values| values.value(self.row))
            .ok_or_else(|| missing(name))
    }

    fn list(&self, name: &str) -> Result<Option<Vec<String>>> {
        let Some(column) = self.child(name) else {
            return Ok(None);
        };
        let items = column
            .as_list_opt::<i32>()
            .ok_or_else(|| missing(name))?
            .value(self.row);
        if *items.data_type() == DataType::Null {
            return Ok(Some(Vec::new()));
        }
        let strings = items.as_string_view_opt().ok_or_else(|| missing(name))?;
        Ok(Some(strings.iter().flatten().map(str::to_owned).collect()))
    }

    fn map(&self, name: &str) -> Result<BTreeMap<String, String>> {
        let Some(column) = self.child(name) else {
            return Ok(BTreeMap::new());
        };
        let entries = column
            .as_map_opt()
            .ok_or_else(|| missing(name))?
            .value(self.row);
        let text = |column: usize| {
            entries
                .columns()
                .get(column)
                .and_then(|column| column.as_string_view_opt())
        };
        let (Some(keys), Some(values)) = (text(0), text(1)) else {
            return Err(missing(name));
        };
        let pair =
            |(key, value): (Option<&str>, Option<&str>)| Some((key?.to_owned(), value?.to_owned()));
        Ok(keys.iter().zip(values).filter_map(pair).collect())
    }

    fn version(&self, name: &str) -> Result<i32> {
        self.long(name)?
            .and_then(|version| i32::try_from(version).ok())
            .ok_or_else(|| missing(name))
    }

    fn protocol(&self) -> Result<Protocol> {
        let (min_reader_version, min_writer_version) = (
            self.version("minReaderVersion")?,
            self.version("minWriterVersion")?,
        );
        // some writers store empty feature lists for protocols without table features
        let features = |list: Option<Vec<String>>, present: bool| {
            list.filter(|list| present || !list.is_empty())
        };
        Ok(Protocol {
            reader_features: features(self.list("readerFeatures")?, min_reader_version >= 3),
            writer_features: features(self.list("writerFeatures")?, min_writer_version >= 7),
            min_reader_version,
            min_writer_version,
        })
    }

    fn metadata(&self) -> Result<Metadata> {
        let format = self
            .child("format")
            .and_then(|format| format.as_struct_opt());
        let (provider, options) = match format {
            Some(rows) => {
                let format = Row { rows, ..*self };
                (format.text("provider")?, format.map("options")?)
            }
            None => (None, BTreeMap::new()),
        };
        Ok(Metadata {
            id: self.text("id")?.unwrap_or_default(),
            name: self.text("name")?,
            description: self.text("description")?,
            format: Format {
                provider: provider.unwrap_or_default(),
                options,
            },
            schema_string: self.text("schemaString")?.unwrap_or_default(),
            partition_columns: self.list("partitionColumns")?.unwrap_or_default(),
            created_time: self.long("createdTime")?,
            configuration: self.map("configuration")?,
        })
    }
}
