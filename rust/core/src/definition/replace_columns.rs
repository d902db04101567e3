//! Replaces the columns of a table by a list: adds, drops, moves and widens columns and nested fields, sets
//! comments, and drops NOT NULL; no data file is rewritten.

use super::column_changes::{ColumnChange, change_column};
use super::columns::{drop_columns, refused};
use super::with_schema;
use crate::error::{Error, Result};
use crate::spec::Metadata;
use crate::spec::char_length::DECLARED_TYPE;
use crate::spec::column_path::column_path_text;
use crate::spec::json::clipped;
use crate::spec::schema::{ArrayType, DataType, MapType, StructField, StructType};
use crate::write::is_identity;

#[derive(Debug, Default)]
struct Difference {
    /// The paths of columns and fields that the replacement lacks.
    dropped: Vec<Vec<String>>,
    /// The paths of columns and fields whose type changes, and the new type.
    retyped: Vec<(Vec<String>, DataType)>,
}

/// Returns the old metadata with the columns of a replacement, and the paths of dropped columns and fields.
/// Columns and fields that remain keep their metadata, except for a new comment.
///
/// # Errors
///
/// Invalid argument: `alter.column` for a table with an identity column, for a column that becomes NOT NULL
/// or is added as such, for another length of strings, and if fields are both added and dropped in one
/// struct, which may mean that they are renamed; `schema.duplicate_column`; Corrupt: the old schema.
/// As [`drop_columns`] and [`change_column`].
pub fn replace_columns(
    old: &Metadata,
    columns: &StructType,
) -> Result<(Metadata, Vec<Vec<String>>)> {
    let schema = StructType::parse(&old.schema_string)?;
    if let Some(field) = schema.fields().iter().find(|field| is_identity(field)) {
        let name = clipped(&field.name);
        return Err(refused(format!(
            "the columns of a table with an identity column, {name}, cannot be replaced: add, drop and alter \
             them one by one"
        )));
    }
    let mut difference = Difference::default();
    difference.compare_fields(&schema, columns, &mut Vec::new())?;
    let mut new = drop_columns(old, &difference.dropped)?;
    for (path, data_type) in difference.retyped {
        new = change_column(&new, &path, &ColumnChange::Type(data_type))?;
    }
    let schema = arranged(&StructType::parse(&new.schema_string)?, columns)?;
    Ok((with_schema(&new, &schema)?, difference.dropped))
}

impl Difference {
    fn compare_fields(
        &mut self,
        old: &StructType,
        new: &StructType,
        path: &mut Vec<String>,
    ) -> Result<()> {
        let mut added = None;
        for field in new.fields() {
            let before = old.field(&field.name);
            path.push(before.map_or(&field.name, |before| &before.name).clone());
            if !field.nullable && before.is_none_or(|before| before.nullable) {
                return Err(becomes_required(path));
            }
            match before {
                Some(before) => self.compare_types(&before.data_type, &field.data_type, path)?,
                None => added = Some(&field.name),
            }
            path.pop();
        }
        let lacking = |field: &&StructField| !new.contains(&field.name);
        for field in old.fields().iter().filter(lacking) {
            if let Some(added) = added {
                return Err(refused(format!(
                    "{} is added where {} is dropped: to rename a column, use RENAME COLUMN; otherwise, \
                     drop and add columns in two statements",
                    clipped(added),
                    clipped(&field.name)
                )));
            }
            let dropped = [&path[..], std::slice::from_ref(&field.name)].concat();
            self.dropped.push(dropped);
        }
        Ok(())
    }

    fn compare_types(
        &mut self,
        old: &DataType,
        new: &DataType,
        path: &mut Vec<String>,
    ) -> Result<()> {
        let parts = match (old, new) {
            (DataType::Struct(old), DataType::Struct(new)) => {
                return self.compare_fields(old, new, path);
            }
            (DataType::Array(old), DataType::Array(new)) => {
                let tightens = old.contains_null && !new.contains_null;
                vec![("element", &old.element_type, &new.element_type, tightens)]
            }
            (DataType::Map(old), DataType::Map(new)) => {
                let tightens = old.value_contains_null && !new.value_contains_null;
                vec![
                    ("key", &old.key_type, &new.key_type, false),
                    ("value", &old.value_type, &new.value_type, tightens),
                ]
            }
            _ if old == new => return Ok(()),
            _ => {
                self.retyped.push((path.clone(), new.clone()));
                return Ok(());
            }
        };
        for (step, old, new, tightens) in parts {
            path.push(step.to_owned());
            if tightens {
                return Err(becomes_required(path));
            }
            self.compare_types(old, new, path)?;
            path.pop();
        }
        Ok(())
    }
}

fn becomes_required(path: &[String]) -> Error {
    let column = column_path_text(path);
    refused(format!(
        "the column {} cannot be NOT NULL: existing rows may have no value for it",
        clipped(&column)
    ))
}

/// Returns the replacement; fields that are in the schema too keep their type and metadata.
fn arranged(schema: &StructType, replacement: &StructType) -> Result<StructType> {
    let fields = replacement.fields().iter().map(|field| {
        let Some(old) = schema.field(&field.name) else {
            return Ok(field.clone());
        };
        let declared = field.metadata.get(DECLARED_TYPE);
        if declared.is_some() && declared != old.metadata.get(DECLARED_TYPE) {
            let name = clipped(&field.name);
            return Err(refused(format!(
                "the length of strings of {name} cannot change here: use ALTER COLUMN {name} TYPE, or ADD \
                 CONSTRAINT for nested fields"
            )));
        }
        let mut metadata = old.metadata.clone();
        if let Some(comment) = field.metadata.get("comment") {
            metadata.insert("comment".to_owned(), comment.clone());
        }
        Ok(StructField {
            name: old.name.clone(),
            data_type: arranged_type(&old.data_type, &field.data_type)?,
            nullable: field.nullable,
            metadata,
        })
    });
    StructType::new(fields.collect::<Result<_>>()?).map_err(Error::of_argument)
}

fn arranged_type(old: &DataType, new: &DataType) -> Result<DataType> {
    Ok(match (old, new) {
        (DataType::Struct(old), DataType::Struct(new)) => {
            DataType::Struct(Box::new(arranged(old, new)?))
        }
        (DataType::Array(old), DataType::Array(new)) => DataType::Array(Box::new(ArrayType {
            element_type: arranged_type(&old.element_type, &new.element_type)?,
            ..(**old).clone()
        })),
        (DataType::Map(old), DataType::Map(new)) => DataType::Map(Box::new(MapType {
            key_type: arranged_type(&old.key_type, &new.key_type)?,
            value_type: arranged_type(&old.value_type, &new.value_type)?,
            ..(**old).clone()
        })),
        _ => old.clone(),
    })
}
