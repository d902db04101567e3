//! Schema evolution: the table's schema extended by the columns of the rows.
//!
//! The protocol leaves schema evolution to writers; here, new columns are appended and nullable.

use arrow_schema::Schema;

use crate::error::Result;
use crate::spec::schema::{DataType, PrimitiveType, StructField, StructType};

use super::constraints::INVARIANTS;
use super::derive::{CURRENT_DEFAULT, GENERATED};

/// The type changes that are applied automatically.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Widening {
    /// Those of [`PrimitiveType::evolves_to`], such as integers to wider integers.
    SameKind,
    /// All that the protocol allows.
    Any,
}

/// Returns the columns and nested fields for which another schema has a wider type: the path of each, and the
/// type.
pub fn widenings(
    table: &StructType,
    source: &StructType,
    widening: Widening,
) -> Vec<(Vec<String>, DataType)> {
    let mut widenings = Widenings {
        widening,
        path: Vec::new(),
        wider: Vec::new(),
    };
    widenings.compare_fields(table, source);
    widenings.wider
}

struct Widenings {
    widening: Widening,
    path: Vec<String>,
    wider: Vec<(Vec<String>, DataType)>,
}

impl Widenings {
    fn compare_fields(&mut self, table: &StructType, source: &StructType) {
        for field in table.fields() {
            if let Some(other) = source.field(&field.name) {
                self.compare_types(&field.name, (&field.data_type, &other.data_type));
            }
        }
    }

    /// Recurses along the type, which has a bounded depth.
    fn compare_types(&mut self, name: &str, types: (&DataType, &DataType)) {
        self.path.push(name.to_owned());
        match types {
            (DataType::Primitive(old), DataType::Primitive(new)) => {
                let widens = match self.widening {
                    Widening::SameKind => old.evolves_to(new),
                    Widening::Any => old.widens_to(new),
                };
                if widens {
                    self.wider.push((self.path.clone(), types.1.clone()));
                }
            }
            (DataType::Struct(old), DataType::Struct(new)) => self.compare_fields(old, new),
            (DataType::Array(old), DataType::Array(new)) => {
                self.compare_types("element", (&old.element_type, &new.element_type));
            }
            (DataType::Map(old), DataType::Map(new)) => {
                self.compare_types("key", (&old.key_type, &new.key_type));
                self.compare_types("value", (&old.value_type, &new.value_type));
            }
            _ => {}
        }
        self.path.pop();
    }
}

/// Returns the schema of the rows; columns that the table has with the same type keep their definition.
pub fn replacement_schema(table: &StructType, source: &Schema) -> Result<StructType> {
    let source = StructType::from_arrow(source)?;
    let plain = |field: &StructField| field.data_type.arrow_type();
    let fields = source.fields().iter().map(|field| {
        let known = table.fields().iter().find(|known| known.name == field.name);
        match known.filter(|known| plain(known).equals_datatype(&plain(field))) {
            Some(known) => known.clone(),
            None => field.clone(),
        }
    });
    StructType::new(fields.collect())
}

/// Returns the schema extended by the columns and nested fields that only another schema has. These are
/// nullable, without generation expressions, invariants and defaults, since they are null in existing rows.
/// A `void` column takes the type that the other schema has.
///
/// # Errors
///
/// Corrupt: `schema.duplicate_column`.
pub fn merged(table: &StructType, source: &StructType) -> Result<StructType> {
    let is_expression =
        |key: &String| [GENERATED, INVARIANTS, CURRENT_DEFAULT].contains(&key.as_str());
    let mut source = source.clone();
    source.change_fields(&mut |field| field.metadata.retain(|key, _| !is_expression(key)));
    let mut fields = Vec::with_capacity(table.fields().len());
    for field in table.fields() {
        let mut field = field.clone();
        if let Some(other) = source.field(&field.name) {
            field.data_type = field.data_type.joined(&other.data_type, &mut merged_type)?;
        }
        fields.push(field);
    }
    for other in source.fields() {
        if !table.contains(&other.name) {
            fields.push(StructField {
                nullable: true,
                ..other.clone()
            });
        }
    }
    StructType::new(fields)
}

fn merged_type(own: &DataType, other: &DataType) -> Result<Option<DataType>> {
    Ok(match (own, other) {
        (DataType::Struct(own), DataType::Struct(other)) => {
            Some(DataType::Struct(Box::new(merged(own, other)?)))
        }
        (DataType::Primitive(PrimitiveType::Void), other) => Some(other.clone()),
        _ => None,
    })
}
