//! Adds, drops, renames and changes columns, each in one commit, described as in delta-spark.

use serde_json::{Map, Value, json};

use super::Altered;
use crate::definition::clustering::refuse_if_clustered_by;
use crate::definition::column_changes::{ColumnChange, change_column};
use crate::definition::columns::{
    NewColumn, Position, add_columns, column_at, drop_columns, path_of, rename_column,
};
use crate::definition::replace_columns::replace_columns;
use crate::definition::widening::{CHANGES, type_name};
use crate::error::{Error, Result};
use crate::spec::char_length::DECLARED_TYPE;
use crate::spec::column_path::is_within;
use crate::spec::json::clipped;
use crate::spec::schema::{DataType, StructField, StructType};
use crate::spec::{Metadata, Protocol};
use crate::transaction::json_text;

pub(super) fn added(old: &Metadata, mut columns: Vec<NewColumn>) -> Result<Altered> {
    if columns.is_empty() {
        let message = "there is no column to add: pass a schema with at least one";
        return Err(Error::invalid("alter.column", message));
    }
    for column in &mut columns {
        column.parent = path_of(old, std::mem::take(&mut column.parent))?;
    }
    let new = add_columns(old, &columns)?;
    let mut descriptions = Vec::with_capacity(columns.len());
    for NewColumn {
        parent,
        field,
        position,
    } in columns
    {
        let path = [parent, vec![field.name.clone()]].concat();
        let (path, _) = column_at(&new, &path)?;
        let mut described = json!({"column": described_new(&path, field)});
        if let (Some(described), Some(position)) = (described.as_object_mut(), position) {
            let position = position_text(&new, &path, &position)?;
            described.insert("position".to_owned(), position);
        }
        descriptions.push(described);
    }
    let parameters = vec![("columns", json_text(&descriptions))];
    Ok(Altered::new("ADD COLUMNS", parameters, new))
}

pub(super) fn renamed(old: &Metadata, path: Vec<String>, new_name: &str) -> Result<Altered> {
    let path = path_of(old, path)?;
    let parent = path.split_last().map_or(&[][..], |(_, parent)| parent);
    let new_path = [parent, &[new_name.to_owned()]].concat();
    let parameters = vec![
        ("oldColumnPath", json!(path_text(&path))),
        ("newColumnPath", json!(path_text(&new_path))),
    ];
    let new = rename_column(old, &path, new_name)?;
    Ok(Altered::new("RENAME COLUMN", parameters, new))
}

pub(super) fn dropped(
    old: &Metadata,
    paths: Vec<Vec<String>>,
    clustering: impl FnOnce() -> Result<Option<String>>,
) -> Result<Altered> {
    let paths: Vec<_> = paths
        .into_iter()
        .map(|path| column_at(old, &path_of(old, path)?).map(|(path, _)| path))
        .collect::<Result<_>>()?;
    let new = drop_columns(old, &paths)?;
    refuse_if_any_clustered_by(old, clustering, &paths)?;
    let names: Vec<_> = paths.iter().map(|path| path_text(path)).collect();
    let parameters = vec![("columns", json_text(&names))];
    Ok(Altered::new("DROP COLUMNS", parameters, new))
}

pub(super) fn replaced(
    old: &Metadata,
    columns: &StructType,
    clustering: impl FnOnce() -> Result<Option<String>>,
) -> Result<Altered> {
    let (new, dropped) = replace_columns(old, columns)?;
    refuse_if_any_clustered_by(old, clustering, &dropped)?;
    let fields = columns.fields().iter();
    let described =
        fields.map(|field| described_new(std::slice::from_ref(&field.name), field.clone()));
    let parameters = vec![("columns", json_text(&described.collect::<Vec<_>>()))];
    Ok(Altered::new("REPLACE COLUMNS", parameters, new))
}

fn refuse_if_any_clustered_by(
    old: &Metadata,
    clustering: impl FnOnce() -> Result<Option<String>>,
    dropped: &[Vec<String>],
) -> Result<()> {
    let configuration = match dropped {
        [] => None,
        _ => clustering()?,
    };
    let Some(configuration) = configuration else {
        return Ok(());
    };
    let mut dropped = dropped.iter();
    dropped.try_for_each(|path| refuse_if_clustered_by(old, &configuration, path))
}

pub(super) fn changed(
    old: &Metadata,
    protocol: &Protocol,
    changes: Vec<(Vec<String>, Vec<ColumnChange>)>,
) -> Result<Altered> {
    let mut new = old.clone();
    let mut paths: Vec<Vec<String>> = Vec::with_capacity(changes.len());
    let mut descriptions = Vec::with_capacity(changes.len());
    for (path, changes) in changes {
        let (path, before) = column_at(old, &path_of(old, path)?)?;
        refuse_overlap(&paths, &path)?;
        let mut position = None;
        for change in &changes {
            if let ColumnChange::Default(Some(_)) = change {
                check_allows_defaults(protocol)?;
            }
            new = change_column(&new, &path, change)?;
            if let ColumnChange::Move(to) = change {
                position = Some(position_text(old, &path, to)?);
            }
        }
        let (_, mut field) = column_at(&new, &path)?;
        match before.metadata.get(CHANGES) {
            Some(changes) => field.metadata.insert(CHANGES.to_owned(), changes.clone()),
            None => field.metadata.remove(CHANGES),
        };
        descriptions.push((described(&path, &field), position));
        paths.push(path);
    }
    let (operation, parameters) = match descriptions.as_mut_slice() {
        [(column, position)] => {
            let mut parameters = vec![("column", json_text(column))];
            parameters.extend(position.take().map(|position| ("position", position)));
            ("CHANGE COLUMN", parameters)
        }
        _ => {
            let columns = descriptions.into_iter().map(|(mut column, position)| {
                column.extend(position.map(|position| ("position".to_owned(), position)));
                column
            });
            let columns = json_text(&columns.collect::<Vec<_>>());
            ("CHANGE COLUMNS", vec![("columns", columns)])
        }
    };
    Ok(Altered::new(operation, parameters, new))
}

/// Refuses to change a column together with a field of it, since the changes could contradict each other.
fn refuse_overlap(paths: &[Vec<String>], path: &[String]) -> Result<()> {
    let overlaps = |other: &&Vec<String>| is_within(other, path) || is_within(path, other);
    match paths.iter().find(overlaps) {
        None => Ok(()),
        Some(other) => {
            let message = format!(
                "{} and {} cannot be changed at once: they are the same column, or one is a field of the other",
                clipped(&path_text(other)),
                clipped(&path_text(path))
            );
            Err(Error::invalid("alter.column", message))
        }
    }
}

fn check_allows_defaults(protocol: &Protocol) -> Result<()> {
    if protocol.is_supported("allowColumnDefaults") {
        return Ok(());
    }
    let message = "the table lacks the feature allowColumnDefaults: set delta.feature.allowColumnDefaults to \
        supported first";
    Err(Error::invalid("alter.column_default", message))
}

/// Describes a column as delta-spark does.
fn described(path: &[String], field: &StructField) -> Map<String, Value> {
    Map::from_iter([
        ("name".to_owned(), json!(path_text(path))),
        ("type".to_owned(), json!(type_name(&field.data_type))),
        ("nullable".to_owned(), json!(field.nullable)),
        ("metadata".to_owned(), json!(field.metadata)),
    ])
}

/// Describes a new column as delta-spark does: a length is part of the type, not of the metadata.
fn described_new(path: &[String], mut field: StructField) -> Map<String, Value> {
    let declared_type = field.metadata.remove(DECLARED_TYPE);
    let mut described = described(path, &field);
    if let (DataType::Primitive(_), Some(declared_type)) = (field.data_type, declared_type) {
        described.insert("type".to_owned(), declared_type);
    }
    described
}

/// Formats a path as delta-spark does: names with dots are quoted, others are not.
fn path_text(path: &[String]) -> String {
    let quoted = |name: &String| match name.contains('.') {
        true => format!("`{name}`"),
        false => name.clone(),
    };
    path.iter().map(quoted).collect::<Vec<_>>().join(".")
}

/// Describes a position as in SQL; the other column is spelled as in the schema.
fn position_text(metadata: &Metadata, path: &[String], position: &Position) -> Result<Value> {
    let Position::After(name) = position else {
        return Ok(json!("FIRST"));
    };
    let parent = path.split_last().map_or(&[][..], |(_, parent)| parent);
    let (_, field) = column_at(metadata, &[parent, std::slice::from_ref(name)].concat())?;
    Ok(json!(format!("AFTER {}", field.name)))
}
