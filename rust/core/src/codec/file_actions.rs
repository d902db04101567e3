//! `add`, `remove` and `cdc` as Arrow columns: their fields, their types, and builders for rows from JSON.
//! Checkpoint columns are converted to the same types, so that later stages need not know where a row comes
//! from.
//!
//! Protocol: "Add File and Remove File", "Add CDC File".

use std::sync::Arc;

use arrow_array::builder::{
    ArrayBuilder, BooleanBuilder, Int32Builder, Int64Builder, MapBuilder, StringBuilder,
};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, StructArray};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;

use crate::spec::json::{Cursor, JsonError, RawString};

mod fields;
pub(crate) use fields::STRING_MAP_FIELDS;
pub use fields::{
    ADD_FIELDS, CDC_FIELDS, DELETION_VECTOR_FIELDS, FileField, REMOVE_FIELDS, STRING_MAP,
    schema_of, string_map_builder,
};

use FileField as F;

/// A file action from a JSON line, with only its numbers and booleans decoded.
#[derive(Clone, Debug, Default)]
pub struct RawFileAction<'a> {
    path: Option<RawString<'a>>,
    partition_values: Option<Cursor<'a>>,
    size: Option<i64>,
    modification_time: Option<i64>,
    deletion_timestamp: Option<i64>,
    data_change: Option<bool>,
    extended_file_metadata: Option<bool>,
    stats: Option<RawString<'a>>,
    tags: Option<Cursor<'a>>,
    deletion_vector: Option<RawDescriptor<'a>>,
    base_row_id: Option<i64>,
    default_row_commit_version: Option<i64>,
    clustering_provider: Option<RawString<'a>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct RawDescriptor<'a> {
    storage_type: Option<RawString<'a>>,
    path_or_inline: Option<RawString<'a>>,
    offset: Option<i32>,
    size_in_bytes: Option<i32>,
    cardinality: Option<i64>,
}

impl<'a> RawFileAction<'a> {
    /// Reads the object at the cursor. Unknown fields are ignored; `null` is the same as absent.
    pub fn read(cursor: &mut Cursor<'a>) -> Result<Self, JsonError> {
        let mut raw = Self::default();
        let begin = cursor.offset();
        cursor.each_field(|cursor, key| {
            match key {
                "path" => raw.path = Some(cursor.string()?),
                "partitionValues" => raw.partition_values = Some(string_map_at(cursor)?),
                "size" => raw.size = Some(cursor.i64()?),
                "modificationTime" => raw.modification_time = Some(cursor.i64()?),
                "deletionTimestamp" => raw.deletion_timestamp = Some(cursor.i64()?),
                "dataChange" => raw.data_change = Some(cursor.bool()?),
                "extendedFileMetadata" => raw.extended_file_metadata = Some(cursor.bool()?),
                "stats" => raw.stats = Some(cursor.string_or_object()?),
                "tags" => raw.tags = Some(string_map_at(cursor)?),
                "deletionVector" => raw.deletion_vector = Some(RawDescriptor::read(cursor)?),
                "baseRowId" => raw.base_row_id = Some(cursor.i64()?),
                "defaultRowCommitVersion" => raw.default_row_commit_version = Some(cursor.i64()?),
                "clusteringProvider" => raw.clustering_provider = Some(cursor.string()?),
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        if raw.path.is_none() {
            return Err(JsonError {
                offset: begin,
                message: "the file action has no path",
            });
        }
        Ok(raw)
    }
}

impl<'a> RawDescriptor<'a> {
    fn read(cursor: &mut Cursor<'a>) -> Result<Self, JsonError> {
        let mut raw = Self::default();
        let begin = cursor.offset();
        cursor.each_field(|cursor, key| {
            match key {
                "storageType" => raw.storage_type = Some(cursor.string()?),
                "pathOrInlineDv" => raw.path_or_inline = Some(cursor.string()?),
                "offset" => raw.offset = Some(i32_at(cursor)?),
                "sizeInBytes" => raw.size_in_bytes = Some(i32_at(cursor)?),
                "cardinality" => raw.cardinality = Some(cursor.i64()?),
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        if raw.storage_type.is_none() || raw.path_or_inline.is_none() {
            let message = "the deletion vector has no storageType or no pathOrInlineDv";
            return Err(JsonError {
                offset: begin,
                message,
            });
        }
        Ok(raw)
    }
}

fn i32_at(cursor: &mut Cursor<'_>) -> Result<i32, JsonError> {
    cursor.peek();
    let offset = cursor.offset();
    i32::try_from(cursor.i64()?).map_err(|_| JsonError {
        offset,
        message: "expected a 32-bit integer",
    })
}

/// Checks the map at the cursor and returns a cursor to read it later.
fn string_map_at<'a>(cursor: &mut Cursor<'a>) -> Result<Cursor<'a>, JsonError> {
    cursor.peek();
    let start = cursor.clone();
    for_each_entry(cursor, |_, _| ())?;
    Ok(start)
}

fn for_each_entry<'a>(
    cursor: &mut Cursor<'a>,
    mut visit: impl FnMut(RawString<'a>, Option<MapValue<'a>>),
) -> Result<(), JsonError> {
    cursor.begin_object()?;
    let mut first = true;
    while let Some(key) = cursor.next_key(&mut first)? {
        if cursor.null()? {
            visit(key, None);
        } else if cursor.peek() == Some(b'"') {
            visit(key, Some(MapValue::Text(cursor.string()?)));
        } else {
            // some writers leave numbers and booleans in string maps unquoted
            visit(key, Some(MapValue::Bare(cursor.skip()?)));
        }
    }
    Ok(())
}

enum MapValue<'a> {
    Text(RawString<'a>),
    Bare(&'a str),
}

enum FieldBuilder {
    Text(StringBuilder),
    Long(Int64Builder),
    Bool(BooleanBuilder),
    Map(Box<MapBuilder<StringBuilder, StringBuilder>>),
    Descriptor(Box<DescriptorBuilder>),
}

#[derive(Default)]
struct DescriptorBuilder {
    storage_type: StringBuilder,
    path_or_inline: StringBuilder,
    offset: Int32Builder,
    size_in_bytes: Int32Builder,
    cardinality: Int64Builder,
    validity: BooleanBuilder,
}

/// Collects file actions into columns.
pub struct FileActionBuilder {
    fields: Vec<FileField>,
    columns: Vec<FieldBuilder>,
    rows: usize,
    text: TextDecoder,
}

/// Decodes strings into builders, and counts their bytes.
#[derive(Default)]
struct TextDecoder {
    scratch: String,
    appended_bytes: usize,
}

impl FileActionBuilder {
    /// Creates a builder for these fields, in this order.
    pub fn new(fields: &[FileField]) -> Self {
        let columns = fields
            .iter()
            .map(|field| match field.data_type() {
                DataType::Utf8 => FieldBuilder::Text(StringBuilder::new()),
                DataType::Boolean => FieldBuilder::Bool(BooleanBuilder::new()),
                DataType::Map(..) => FieldBuilder::Map(Box::new(string_map_builder())),
                DataType::Struct(_) => FieldBuilder::Descriptor(Box::default()),
                _ => FieldBuilder::Long(Int64Builder::new()),
            })
            .collect();
        Self {
            fields: fields.to_vec(),
            columns,
            rows: 0,
            text: TextDecoder::default(),
        }
    }

    /// Returns the total length in bytes of all strings in the rows so far, including those in maps and
    /// descriptors.
    pub fn text_bytes(&self) -> usize {
        self.text.appended_bytes
    }

    /// Appends one action.
    pub fn append(&mut self, raw: &RawFileAction<'_>) -> Result<(), JsonError> {
        let text = &mut self.text;
        for (field, column) in self.fields.iter().zip(&mut self.columns) {
            match column {
                FieldBuilder::Text(builder) => {
                    let value = match field {
                        F::Path => raw.path,
                        F::Stats => raw.stats,
                        _ => raw.clustering_provider,
                    };
                    text.append(builder, value);
                }
                FieldBuilder::Long(builder) => builder.append_option(match field {
                    F::Size => raw.size,
                    F::ModificationTime => raw.modification_time,
                    F::DeletionTimestamp => raw.deletion_timestamp,
                    F::BaseRowId => raw.base_row_id,
                    _ => raw.default_row_commit_version,
                }),
                FieldBuilder::Bool(builder) => builder.append_option(match field {
                    F::ExtendedFileMetadata => raw.extended_file_metadata,
                    _ => raw.data_change,
                }),
                FieldBuilder::Map(builder) => {
                    let map = if *field == F::Tags {
                        &raw.tags
                    } else {
                        &raw.partition_values
                    };
                    text.append_map(builder, map.clone())?;
                }
                FieldBuilder::Descriptor(builder) => builder.append(raw.deletion_vector, text),
            }
        }
        self.rows += 1;
        Ok(())
    }

    /// Returns the rows as one batch and resets the builder.
    pub fn finish(&mut self) -> Result<RecordBatch, arrow_schema::ArrowError> {
        self.text.appended_bytes = 0;
        let arrays = self.columns.iter_mut().map(FieldBuilder::finish).collect();
        let options =
            RecordBatchOptions::new().with_row_count(Some(std::mem::take(&mut self.rows)));
        RecordBatch::try_new_with_options(schema_of(&self.fields), arrays, &options)
    }
}

impl FieldBuilder {
    fn finish(&mut self) -> ArrayRef {
        match self {
            FieldBuilder::Text(builder) => ArrayBuilder::finish(builder),
            FieldBuilder::Long(builder) => ArrayBuilder::finish(builder),
            FieldBuilder::Bool(builder) => ArrayBuilder::finish(builder),
            FieldBuilder::Map(builder) => ArrayBuilder::finish(builder.as_mut()),
            FieldBuilder::Descriptor(builder) => Arc::new(builder.finish()),
        }
    }
}

impl DescriptorBuilder {
    fn append(&mut self, raw: Option<RawDescriptor<'_>>, text: &mut TextDecoder) {
        self.validity.append_value(raw.is_some());
        let raw = raw.unwrap_or_default();
        text.append(&mut self.storage_type, raw.storage_type);
        text.append(&mut self.path_or_inline, raw.path_or_inline);
        self.offset.append_option(raw.offset);
        self.size_in_bytes.append_option(raw.size_in_bytes);
        self.cardinality.append_option(raw.cardinality);
    }

    fn finish(&mut self) -> StructArray {
        let arrays: Vec<ArrayRef> = vec![
            Arc::new(self.storage_type.finish()),
            Arc::new(self.path_or_inline.finish()),
            Arc::new(self.offset.finish()),
            Arc::new(self.size_in_bytes.finish()),
            Arc::new(self.cardinality.finish()),
        ];
        let (validity, _) = self.validity.finish().into_parts();
        let rows = validity.len();
        let nulls = NullBuffer::from_unsliced_buffer(validity.into_inner(), rows);
        StructArray::new(DELETION_VECTOR_FIELDS.clone(), arrays, nulls)
    }
}

impl TextDecoder {
    fn append(&mut self, builder: &mut StringBuilder, value: Option<RawString<'_>>) {
        match value {
            Some(value) => {
                self.scratch.clear();
                value.decode_into(&mut self.scratch);
                self.appended_bytes += self.scratch.len();
                builder.append_value(&self.scratch);
            }
            None => builder.append_null(),
        }
    }

    fn append_map(
        &mut self,
        builder: &mut MapBuilder<StringBuilder, StringBuilder>,
        map: Option<Cursor<'_>>,
    ) -> Result<(), JsonError> {
        let is_valid = map.is_some();
        if let Some(mut cursor) = map {
            for_each_entry(&mut cursor, |key, value| {
                self.append(builder.keys(), Some(key));
                match value {
                    Some(MapValue::Text(text)) => self.append(builder.values(), Some(text)),
                    Some(MapValue::Bare(text)) => {
                        self.appended_bytes += text.len();
                        builder.values().append_value(text);
                    }
                    None => builder.values().append_null(),
                }
            })?;
        }
        // fails only if the numbers of keys and values differ
        builder.append(is_valid).map_err(|_| JsonError {
            offset: 0,
            message: "a key of the map has no value",
        })
    }
}

#[cfg(test)]
mod tests;
