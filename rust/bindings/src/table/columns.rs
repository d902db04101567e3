//! Converts the columns that Python adds or changes.

use deltareplay_core::definition::column_changes::ColumnChange;
use deltareplay_core::definition::columns::{NewColumn, Position};
use deltareplay_core::error::{Error, Result};
use deltareplay_core::spec::schema::StructType;
use deltareplay_core::statements::Alteration;

/// A change of a column, as kind and value: `type` with a schema of one column; `comment` or `default` with a
/// text, or None to remove it; `length` with a type such as `varchar(3)`, or None for no limit; `drop not
/// null`; `first`; `after` with the name of another column.
pub(super) type Change = (String, Option<String>);

/// The struct that gets columns, a schema with them, and their position.
pub(super) type Added = (Vec<String>, String, Option<Change>);

pub(super) fn added_columns(columns: Vec<Added>) -> Result<Alteration> {
    let mut new = Vec::new();
    for (parent, schema, position) in columns {
        let position = position.map(parsed_position).transpose()?;
        for field in StructType::parse(&schema)?.fields() {
            new.push(NewColumn {
                parent: parent.clone(),
                field: field.clone(),
                position: position.clone(),
            });
        }
    }
    Ok(Alteration::AddColumns(new))
}

pub(super) fn changed_columns(columns: Vec<(Vec<String>, Vec<Change>)>) -> Result<Alteration> {
    let mut changes = Vec::with_capacity(columns.len());
    for (path, new) in columns {
        let new = new.into_iter().map(parsed_change).collect::<Result<_>>()?;
        changes.push((path, new));
    }
    Ok(Alteration::ChangeColumns(changes))
}

fn parsed_change((kind, value): Change) -> Result<ColumnChange> {
    Ok(match (kind.as_str(), value) {
        ("comment", comment) => ColumnChange::Comment(comment),
        ("default", expression) => ColumnChange::Default(expression),
        ("length", declared) => ColumnChange::Length(declared),
        ("drop not null", None) => ColumnChange::DropNotNull,
        ("type", Some(schema)) => match StructType::parse(&schema)?.fields() {
            [field] => ColumnChange::Type(field.data_type.clone()),
            _ => {
                return Err(Error::invalid(
                    "alter.column",
                    "a change of a column's type needs a schema of one column",
                ));
            }
        },
        (_, value) => ColumnChange::Move(parsed_position((kind, value))?),
    })
}

fn parsed_position((kind, name): Change) -> Result<Position> {
    match (kind.as_str(), name) {
        ("first", None) => Ok(Position::First),
        ("after", Some(name)) => Ok(Position::After(name)),
        _ => {
            let message = "unknown kind of column change";
            Err(Error::invalid("alter.column", message))
        }
    }
}
