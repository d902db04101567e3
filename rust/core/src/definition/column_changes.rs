//! Changes of existing columns and nested fields: type, comment, default, nullability, position. No data file
//! is rewritten.
//!
//! Protocol: "Default Columns", "Type Widening".

use super::columns::{Position, change_fields_at, column_at, last_of, position, refused};
use super::widening::widen_column;
use crate::error::{Error, Result};
use crate::spec::Metadata;
use crate::spec::char_length::DECLARED_TYPE;
use crate::spec::column_path::column_path_text;
use crate::spec::json::clipped;
use crate::spec::schema::{DataType, StructField, StructType};
use crate::write::{CURRENT_DEFAULT, check_default, is_identity};

/// A change of a column.
#[derive(Clone, Debug)]
pub enum ColumnChange {
    /// A wider type.
    Type(DataType),
    /// A longer `char(n)` or `varchar(n)` type of a string column, or no limit.
    Length(Option<String>),
    /// A new comment, or none.
    Comment(Option<String>),
    /// The default expression, or none.
    Default(Option<String>),
    /// The column becomes nullable.
    DropNotNull,
    /// The column moves to another position in its struct.
    Move(Position),
}

/// Returns the old metadata with a changed column.
///
/// # Errors
///
/// Invalid argument: `alter.column` for a column that does not exist, for a position after such a column, and
/// for the type, the default or the nullability of an identity column; `alter.column_default` for an invalid
/// default. Corrupt: the schema.
pub fn change_column(old: &Metadata, path: &[String], change: &ColumnChange) -> Result<Metadata> {
    let allows_identity = matches!(change, ColumnChange::Comment(_) | ColumnChange::Move(_));
    if !allows_identity && is_identity(&column_at(old, path)?.1) {
        let name = column_path_text(path);
        return Err(refused(format!(
            "the column {} is an identity column: only its position and its comment can be changed",
            clipped(&name)
        )));
    }
    let with_metadata = |key: &str, value: Option<&str>| {
        with_changed_field(old, path, &mut |field| {
            set_metadata(field, key, value);
            Ok(())
        })
    };
    match change {
        ColumnChange::Comment(comment) => with_metadata("comment", comment.as_deref()),
        ColumnChange::Length(declared) => with_metadata(DECLARED_TYPE, declared.as_deref()),
        ColumnChange::Move(to) => with_moved_field(old, path, to),
        ColumnChange::Type(to) => widen_column(old, path, to),
        ColumnChange::Default(expression) => with_changed_field(old, path, &mut |field| {
            if let Some(expression) = expression {
                check_default(field, expression).map_err(|cause| {
                    let message = format!(
                        "{} is not a valid default of the column {}: it must be an expression without columns, \
                         with a value of the type of the column",
                        clipped(expression),
                        clipped(&field.name)
                    );
                    Error::invalid("alter.column_default", message).because(cause)
                })?;
            }
            set_metadata(field, CURRENT_DEFAULT, expression.as_deref());
            Ok(())
        }),
        ColumnChange::DropNotNull => with_changed_field(old, path, &mut |field| {
            field.nullable = true;
            Ok(())
        }),
    }
}

/// Sets a key of a field's metadata, or removes it.
fn set_metadata(field: &mut StructField, key: &str, value: Option<&str>) {
    match value {
        Some(value) => field.metadata.insert(key.to_owned(), value.into()),
        None => field.metadata.remove(key),
    };
}

fn with_changed_field(
    old: &Metadata,
    path: &[String],
    change: &mut dyn FnMut(&mut StructField) -> Result<()>,
) -> Result<Metadata> {
    let (name, parent) = last_of(path)?;
    with_fields(old, parent, &mut |fields| {
        let index = position(fields, name)?;
        let mut fields = fields.fields().to_vec();
        if let Some(field) = fields.get_mut(index) {
            change(field)?;
        }
        Ok(fields)
    })
}

fn with_moved_field(old: &Metadata, path: &[String], to: &Position) -> Result<Metadata> {
    let (name, parent) = last_of(path)?;
    with_fields(old, parent, &mut |fields| {
        let (from, to) = (position(fields, name)?, to.index_in(fields)?);
        let mut fields = fields.fields().to_vec();
        let field = fields.remove(from);
        // the removal has shifted the fields after it
        fields.insert(if to > from { to.saturating_sub(1) } else { to }, field);
        Ok(fields)
    })
}

fn with_fields(
    old: &Metadata,
    parent: &[String],
    change: &mut dyn FnMut(&StructType) -> Result<Vec<StructField>>,
) -> Result<Metadata> {
    let schema = StructType::parse(&old.schema_string)?;
    Ok(Metadata {
        schema_string: change_fields_at(&schema, parent, change)?.to_json(),
        ..old.clone()
    })
}
