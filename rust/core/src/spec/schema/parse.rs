//! Parses `schemaString` to types, with a list of open parts instead of recursion.

use std::fmt::Display;

use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::spec::json::{Event, JsonReader, clipped};
use crate::spec::schema::{
    ArrayType, DataType, MAX_TYPE_DEPTH, MapType, PrimitiveType, StructField, StructType,
};

/// Three brackets for each struct level (type, list of fields, field), and some for metadata.
const MAX_BRACKETS: usize = 3 * (MAX_TYPE_DEPTH + 1) + 200;

impl StructType {
    /// Parses the `schemaString` of a `metaData` action. An empty text is a schema without columns, as in
    /// tables that were created without one. A missing `nullable` or `containsNull` means true; unknown
    /// keys are ignored; a user-defined type is read as the type that stores it.
    ///
    /// # Errors
    ///
    /// Corrupt: `schema.json` with the byte of the text where it is not a schema,
    /// `schema.type` for a type that does not exist, `schema.depth` beyond [`MAX_TYPE_DEPTH`],
    /// `schema.duplicate_column`.
    pub fn parse(schema_string: &str) -> Result<Self> {
        if schema_string.trim().is_empty() {
            return Ok(Self::default());
        }
        let mut parser = Parser {
            reader: JsonReader::new(schema_string, MAX_BRACKETS),
            open: Vec::new(),
            depth: 0,
        };
        match parser.run()? {
            DataType::Struct(fields) => Ok(*fields),
            _ => Err(parser.malformed("the table's own type is not a struct")),
        }
    }
}

/// A part that is not complete.
enum OpenItem {
    Type(TypeParts),
    Fields(Vec<StructField>),
    Field(FieldParts),
}

/// The part of an open type that the next complete type becomes.
#[derive(Clone, Copy)]
enum Slot {
    Element,
    Key,
    Value,
    SqlType,
}

#[derive(Default)]
struct TypeParts {
    name: Option<String>,
    fields: Option<Vec<StructField>>,
    element: Option<DataType>,
    key: Option<DataType>,
    value: Option<DataType>,
    sql_type: Option<DataType>,
    contains_null: Option<bool>,
    value_contains_null: Option<bool>,
    next: Option<Slot>,
}

#[derive(Default)]
struct FieldParts {
    name: Option<String>,
    data_type: Option<DataType>,
    nullable: Option<bool>,
    metadata: Map<String, Value>,
}

struct Parser<'a> {
    reader: JsonReader<'a>,
    open: Vec<OpenItem>,
    /// The number of open types below the table's own.
    depth: usize,
}

impl<'a> Parser<'a> {
    fn run(&mut self) -> Result<DataType> {
        if self.event()? != Event::BeginObject {
            return Err(self.malformed("expected a JSON object"));
        }
        self.open.push(OpenItem::Type(TypeParts::default()));
        loop {
            let event = self.event()?;
            let Some(part) = self.open.pop() else {
                return Err(self.malformed("more text after the schema"));
            };
            let finished = match part {
                OpenItem::Type(part) => self.in_type(part, event)?,
                OpenItem::Fields(part) => self.in_fields(part, event)?,
                OpenItem::Field(part) => self.in_field(part, event)?,
            };
            let Some(finished) = finished else {
                continue;
            };
            if self.open.is_empty() {
                return match self.event()? {
                    Event::End => Ok(finished),
                    _ => Err(self.malformed("more text after the schema")),
                };
            }
            self.depth = self.depth.saturating_sub(1);
            self.attach(finished)?;
        }
    }

    /// Handles an event within an open type; returns the type if it is complete.
    fn in_type(&mut self, mut part: TypeParts, event: Event<'_>) -> Result<Option<DataType>> {
        let key = match event {
            Event::EndObject => return self.finish_type(part).map(Some),
            Event::Key(key) => key,
            _ => return Err(self.malformed("a type is not an object")),
        };
        let slot = match key.as_ref() {
            "type" => {
                part.name = Some(self.text("the name of a type")?);
                None
            }
            "containsNull" => {
                part.contains_null = self.boolean()?;
                None
            }
            "valueContainsNull" => {
                part.value_contains_null = self.boolean()?;
                None
            }
            "fields" => {
                if self.event()? != Event::BeginArray {
                    return Err(self.malformed("the fields of a struct are not a list"));
                }
                self.open.push(OpenItem::Type(part));
                self.open.push(OpenItem::Fields(Vec::new()));
                return Ok(None);
            }
            "elementType" => Some(Slot::Element),
            "keyType" => Some(Slot::Key),
            "valueType" => Some(Slot::Value),
            "sqlType" => Some(Slot::SqlType),
            _ => {
                self.reader.skip_value().map_err(invalid_schema)?;
                None
            }
        };
        part.next = slot;
        self.open.push(OpenItem::Type(part));
        if slot.is_none() {
            return Ok(None);
        }
        self.begin_type().map(|()| None)
    }

    fn in_fields(
        &mut self,
        fields: Vec<StructField>,
        event: Event<'_>,
    ) -> Result<Option<DataType>> {
        match event {
            Event::BeginObject => {
                self.open.push(OpenItem::Fields(fields));
                self.open.push(OpenItem::Field(FieldParts::default()));
            }
            Event::EndArray => match self.open.last_mut() {
                Some(OpenItem::Type(part)) => part.fields = Some(fields),
                _ => return Err(self.malformed("a list of fields is outside a struct")),
            },
            _ => return Err(self.malformed("a field is not an object")),
        }
        Ok(None)
    }

    fn in_field(&mut self, mut part: FieldParts, event: Event<'_>) -> Result<Option<DataType>> {
        let key = match event {
            Event::EndObject => return self.finish_field(part).map(|()| None),
            Event::Key(key) => key,
            _ => return Err(self.malformed("a field is not an object")),
        };
        match key.as_ref() {
            "name" => part.name = Some(self.text("the name of a field")?),
            "nullable" => part.nullable = self.boolean()?,
            "metadata" => {
                let text = self.reader.skip_value().map_err(invalid_schema)?;
                // serde_json's own limit of 128 levels applies here
                let metadata: Option<Map<String, Value>> =
                    serde_json::from_str(text).map_err(|cause| {
                        self.malformed("the metadata of a field is malformed")
                            .because(cause)
                    })?;
                part.metadata = metadata.unwrap_or_default();
            }
            "type" => {
                self.open.push(OpenItem::Field(part));
                return self.begin_type().map(|()| None);
            }
            _ => {
                self.reader.skip_value().map_err(invalid_schema)?;
            }
        }
        self.open.push(OpenItem::Field(part));
        Ok(None)
    }

    /// Parses a type name, or opens a type that has parts.
    fn begin_type(&mut self) -> Result<()> {
        match self.event()? {
            Event::String(name) => {
                let data_type = self.named(&name)?;
                self.attach(data_type)
            }
            Event::BeginObject => {
                if self.depth >= MAX_TYPE_DEPTH {
                    let message =
                        format!("the schema nests types more than {MAX_TYPE_DEPTH} levels deep");
                    return Err(Error::corrupt("schema.depth", message));
                }
                self.depth += 1;
                self.open.push(OpenItem::Type(TypeParts::default()));
                Ok(())
            }
            _ => Err(self.malformed("a type is neither a name nor an object")),
        }
    }

    /// Passes a complete type to its parent.
    fn attach(&mut self, data_type: DataType) -> Result<()> {
        let slot = match self.open.last_mut() {
            Some(OpenItem::Field(part)) => Some(&mut part.data_type),
            Some(OpenItem::Type(part)) => match part.next {
                Some(Slot::Element) => Some(&mut part.element),
                Some(Slot::Key) => Some(&mut part.key),
                Some(Slot::Value) => Some(&mut part.value),
                Some(Slot::SqlType) => Some(&mut part.sql_type),
                None => None,
            },
            _ => None,
        };
        match slot {
            Some(slot) => *slot = Some(data_type),
            None => return Err(self.malformed("an unexpected type")),
        }
        Ok(())
    }

    fn finish_type(&self, part: TypeParts) -> Result<DataType> {
        let Some(name) = part.name else {
            return Err(self.malformed("a type has no name"));
        };
        match name.as_str() {
            "struct" => {
                let fields = part
                    .fields
                    .ok_or_else(|| self.malformed("a struct has no fields"))?;
                Ok(DataType::Struct(Box::new(StructType::new(fields)?)))
            }
            "array" => Ok(DataType::Array(Box::new(ArrayType {
                element_type: part
                    .element
                    .ok_or_else(|| self.malformed("an array has no elementType"))?,
                contains_null: part.contains_null.unwrap_or(true),
            }))),
            "map" => Ok(DataType::Map(Box::new(MapType {
                key_type: part
                    .key
                    .ok_or_else(|| self.malformed("a map has no keyType"))?,
                value_type: part
                    .value
                    .ok_or_else(|| self.malformed("a map has no valueType"))?,
                value_contains_null: part.value_contains_null.unwrap_or(true),
            }))),
            "udt" => part
                .sql_type
                .ok_or_else(|| self.malformed("a user-defined type has no sqlType")),
            // also {"type":"variant"}
            name => self.named(name),
        }
    }

    fn finish_field(&mut self, part: FieldParts) -> Result<()> {
        let field = StructField {
            name: part
                .name
                .ok_or_else(|| self.malformed("a field has no name"))?,
            data_type: part
                .data_type
                .ok_or_else(|| self.malformed("a field has no type"))?,
            nullable: part.nullable.unwrap_or(true),
            metadata: part.metadata,
        };
        match self.open.last_mut() {
            Some(OpenItem::Fields(fields)) => fields.push(field),
            _ => return Err(self.malformed("a field is outside a struct")),
        }
        Ok(())
    }

    fn named(&self, name: &str) -> Result<DataType> {
        PrimitiveType::from_name(name)
            .map(DataType::Primitive)
            .ok_or_else(|| {
                let offset = self.reader.offset();
                let message = format!(
                    "schemaString has the type {}, which is unknown, at byte {offset} of its text",
                    clipped(name)
                );
                Error::corrupt("schema.type", message)
            })
    }

    fn text(&mut self, name: &str) -> Result<String> {
        match self.event()? {
            Event::String(text) => Ok(text.into_owned()),
            _ => Err(self.malformed(format!("{name} is not a string"))),
        }
    }

    fn boolean(&mut self) -> Result<Option<bool>> {
        match self.event()? {
            Event::Bool(value) => Ok(Some(value)),
            Event::Null => Ok(None),
            _ => Err(self.malformed("the nullability is neither true nor false")),
        }
    }

    fn event(&mut self) -> Result<Event<'a>> {
        self.reader.next().map_err(invalid_schema)
    }

    fn malformed(&self, problem: impl Display) -> Error {
        invalid_schema(format_args!("{problem} at byte {}", self.reader.offset()))
    }
}

/// The byte offset is relative to the schema's text, not to the file that contains it: it is part of the
/// message, not the error's own offset.
fn invalid_schema(why: impl Display) -> Error {
    let message = format!("schemaString is not a schema: {why} of its text");
    Error::corrupt("schema.json", message)
}
