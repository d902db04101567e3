//! Builds `metaData`, `protocol`, `txn` and `domainMetadata` columns: one Arrow row per action.
//!
//! Protocol: "Actions", "Checkpoint Schema".

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::{ArrayRef, BooleanArray, Int32Array, Int64Array, StringArray, StructArray};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields};

use super::file_actions::{STRING_MAP, string_map_builder};
use crate::spec::{DomainMetadata, Metadata, Protocol, SetTransaction};

type Rows = Result<StructArray, ArrowError>;

/// Returns a nullable string field.
pub fn text(name: &str) -> FieldRef {
    Arc::new(Field::new(name, DataType::Utf8, true))
}

/// Returns a nullable 64-bit integer field.
pub fn long(name: &str) -> FieldRef {
    Arc::new(Field::new(name, DataType::Int64, true))
}

/// Returns a nullable boolean field.
pub fn boolean(name: &str) -> FieldRef {
    Arc::new(Field::new(name, DataType::Boolean, true))
}

/// Returns a nullable field of string maps.
pub fn text_map(name: &str) -> FieldRef {
    Arc::new(Field::new(name, STRING_MAP.clone(), true))
}

/// Returns a nullable struct field.
pub fn structure(name: &str, fields: Fields) -> FieldRef {
    Arc::new(Field::new(name, DataType::Struct(fields), true))
}

fn element() -> FieldRef {
    Arc::new(Field::new("element", DataType::Utf8, true))
}

fn text_list(name: &str) -> FieldRef {
    Arc::new(Field::new(name, DataType::List(element()), true))
}

fn format_fields() -> Fields {
    vec![text("provider"), text_map("options")].into()
}

/// Returns the fields of `metaData`.
pub fn metadata_fields() -> Fields {
    vec![
        text("id"),
        text("name"),
        text("description"),
        structure("format", format_fields()),
        text("schemaString"),
        text_list("partitionColumns"),
        text_map("configuration"),
        long("createdTime"),
    ]
    .into()
}

/// Returns the fields of `protocol`.
pub fn protocol_fields() -> Fields {
    let version = |name: &str| Arc::new(Field::new(name, DataType::Int32, true));
    vec![
        version("minReaderVersion"),
        version("minWriterVersion"),
        text_list("readerFeatures"),
        text_list("writerFeatures"),
    ]
    .into()
}

/// Returns the fields of `txn`.
pub fn transaction_fields() -> Fields {
    vec![text("appId"), long("version"), long("lastUpdated")].into()
}

/// Returns the fields of `domainMetadata`.
pub fn domain_fields() -> Fields {
    vec![text("domain"), text("configuration"), boolean("removed")].into()
}

/// Builds rows of `metaData`.
pub fn metadata_rows<'a>(all: impl Iterator<Item = &'a Metadata> + Clone) -> Rows {
    let format = StructArray::try_new(
        format_fields(),
        vec![
            strings(all.clone().map(|metadata| Some(&metadata.format.provider))),
            maps(all.clone().map(|metadata| &metadata.format.options))?,
        ],
        None,
    )?;
    let columns = vec![
        strings(all.clone().map(|metadata| Some(&metadata.id))),
        strings(all.clone().map(|metadata| metadata.name.as_ref())),
        strings(all.clone().map(|metadata| metadata.description.as_ref())),
        Arc::new(format),
        strings(all.clone().map(|metadata| Some(&metadata.schema_string))),
        lists(
            all.clone()
                .map(|metadata| Some(&metadata.partition_columns)),
        ),
        maps(all.clone().map(|metadata| &metadata.configuration))?,
        Arc::new(Int64Array::from_iter(
            all.map(|metadata| metadata.created_time),
        )),
    ];
    StructArray::try_new(metadata_fields(), columns, None)
}

/// Builds rows of `protocol`.
pub fn protocol_rows<'a>(all: impl Iterator<Item = &'a Protocol> + Clone) -> Rows {
    let version =
        |of: fn(&Protocol) -> i32| Arc::new(Int32Array::from_iter_values(all.clone().map(of)));
    let columns = vec![
        version(|protocol| protocol.min_reader_version) as ArrayRef,
        version(|protocol| protocol.min_writer_version),
        lists(
            all.clone()
                .map(|protocol| protocol.reader_features.as_ref()),
        ),
        lists(
            all.clone()
                .map(|protocol| protocol.writer_features.as_ref()),
        ),
    ];
    StructArray::try_new(protocol_fields(), columns, None)
}

/// Builds rows of `txn`.
pub fn transaction_rows<'a>(all: impl Iterator<Item = &'a SetTransaction> + Clone) -> Rows {
    let columns = vec![
        strings(all.clone().map(|transaction| Some(&transaction.app_id))),
        Arc::new(Int64Array::from_iter_values(
            all.clone().map(|transaction| transaction.version),
        )),
        Arc::new(Int64Array::from_iter(
            all.map(|transaction| transaction.last_updated),
        )),
    ];
    StructArray::try_new(transaction_fields(), columns, None)
}

/// Builds rows of `domainMetadata`.
pub fn domain_rows<'a>(all: impl Iterator<Item = &'a DomainMetadata> + Clone) -> Rows {
    let columns = vec![
        strings(all.clone().map(|domain| Some(&domain.domain))),
        strings(all.clone().map(|domain| Some(&domain.configuration))),
        Arc::new(BooleanArray::from_iter(
            all.map(|domain| Some(domain.removed)),
        )),
    ];
    StructArray::try_new(domain_fields(), columns, None)
}

/// Builds a string column.
pub fn strings<'a>(values: impl Iterator<Item = Option<&'a String>>) -> ArrayRef {
    Arc::new(StringArray::from_iter(values))
}

/// Builds a column of string maps.
pub fn maps<'a>(
    values: impl Iterator<Item = &'a BTreeMap<String, String>>,
) -> Result<ArrayRef, ArrowError> {
    let mut builder = string_map_builder();
    for map in values {
        for (key, value) in map {
            builder.keys().append_value(key);
            builder.values().append_value(value);
        }
        builder.append(true)?;
    }
    Ok(Arc::new(builder.finish()))
}

fn lists<'a>(values: impl Iterator<Item = Option<&'a Vec<String>>>) -> ArrayRef {
    let mut builder = ListBuilder::new(StringBuilder::new()).with_field(element());
    for list in values {
        for value in list.into_iter().flatten() {
            builder.values().append_value(value);
        }
        builder.append(list.is_some());
    }
    Arc::new(builder.finish())
}
