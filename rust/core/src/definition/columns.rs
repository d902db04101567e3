//! Adds, renames and drops columns and nested fields; no data file is rewritten.
//!
//! A path leads into structs by field name, into arrays by `element`, into maps by `key` and `value`.
//!
//! Protocol: "Column Mapping".

use serde_json::{Map, Value};

use super::constraints::is_constraint;
use super::{MAPPING_MODE, mode, with_schema};
use crate::error::{Error, Result};
use crate::expr::closest_columns;
use crate::spec::Metadata;
use crate::spec::column_path::{column_path_text, is_within, named_path, parse_column_paths};
use crate::spec::json::clipped;
use crate::spec::schema::{ArrayType, DataType, MapType, StructField, StructType, same_name};
use crate::write::{GENERATED, INVARIANTS};

pub(super) const STATISTICS: &str = "delta.dataSkippingStatsColumns";

/// Returns the path of a column named by a user: a single name may contain dots to address struct fields.
pub fn path_of(metadata: &Metadata, names: Vec<String>) -> Result<Vec<String>> {
    match names.as_slice() {
        [name] => Ok(named_path(
            &StructType::parse(&metadata.schema_string)?,
            name,
        )),
        _ => Ok(names),
    }
}

/// The position of a column within its struct, or within the table.
#[derive(Clone, Debug)]
pub enum Position {
    /// Before the others.
    First,
    /// After the column of this name.
    After(String),
}

impl Position {
    pub(super) fn index_in(&self, fields: &StructType) -> Result<usize> {
        match self {
            Self::First => Ok(0),
            Self::After(name) => Ok(position(fields, name)?.saturating_add(1)),
        }
    }
}

/// A column to add.
#[derive(Clone, Debug)]
pub struct NewColumn {
    /// The path of the parent struct; empty for the table itself.
    pub parent: Vec<String>,
    /// Its name, its type and its metadata.
    pub field: StructField,
    /// Its position; `None` appends it.
    pub position: Option<Position>,
}

/// Returns the old metadata with these columns added one after the other. They are null in existing rows.
///
/// # Errors
///
/// Invalid argument: `alter.column` for a column that is not nullable, is generated, has an invariant or
/// exists already, for a parent that is not a struct, and for a position after a column that does not exist.
/// Corrupt: the old schema.
pub fn add_columns(old: &Metadata, columns: &[NewColumn]) -> Result<Metadata> {
    let before = StructType::parse(&old.schema_string)?;
    let mut schema = before.clone();
    for NewColumn {
        parent,
        field,
        position,
    } in columns
    {
        if !field.nullable {
            let name = clipped(&field.name);
            return Err(refused(format!(
                "the column {name} must be nullable: existing rows have no value for it"
            )));
        }
        let new = StructType::new(vec![field.clone()])?;
        let has_expression = |field: &StructField| {
            field.metadata.contains_key(GENERATED) || field.metadata.contains_key(INVARIANTS)
        };
        if new.all_fields().any(has_expression) {
            let name = clipped(&field.name);
            return Err(refused(format!(
                "the column {name} cannot have a generation expression or an invariant: existing rows have no \
                 value for it"
            )));
        }
        // the parent must exist already: a new struct comes with all of its fields
        change_fields_at(&before, parent, &mut |fields| Ok(fields.fields().to_vec()))?;
        schema = change_fields_at(&schema, parent, &mut |fields| {
            refuse_if_taken(fields, &field.name, None)?;
            let last = fields.fields().len();
            let index = position.as_ref().map(|position| position.index_in(fields));
            let mut fields = fields.fields().to_vec();
            fields.insert(index.transpose()?.unwrap_or(last), field.clone());
            Ok(fields)
        })?;
    }
    with_schema(old, &schema)
}

/// Returns the old metadata with a column renamed.
///
/// # Errors
///
/// Invalid argument: `alter.column` for a column that does not exist or is referenced by a constraint or a
/// generated column, and for a new name that is taken or empty; `alter.column_mapping` without column
/// mapping. Corrupt: the schema.
pub fn rename_column(old: &Metadata, path: &[String], new_name: &str) -> Result<Metadata> {
    let (schema, parent, name) = mapped_column(old, path)?;
    let mut old_name = String::new();
    let schema = change_fields_at(&schema, parent, &mut |fields| {
        let index = position(fields, name)?;
        refuse_if_taken(fields, new_name, Some(index))?;
        let mut fields = fields.fields().to_vec();
        if let Some(field) = fields.get_mut(index) {
            old_name = std::mem::replace(&mut field.name, new_name.to_owned());
        }
        Ok(fields)
    })?;
    let mut new = old.clone();
    new.schema_string = schema.to_json();
    if parent.is_empty() {
        let partitions = new.partition_columns.iter_mut();
        for column in partitions.filter(|column| **column == old_name) {
            new_name.clone_into(column);
        }
    }
    change_statistics(&mut new, |column| {
        if is_within(column, path)
            && let Some(renamed) = column.get_mut(parent.len())
        {
            new_name.clone_into(renamed);
        }
        true
    });
    Ok(new)
}

/// Returns the old metadata without these columns.
///
/// # Errors
///
/// Invalid argument: `alter.column` for a partition column, for the only field of a struct, and for the only
/// column that is stored in files.
pub fn drop_columns(old: &Metadata, paths: &[Vec<String>]) -> Result<Metadata> {
    // all against the old schema first: the order of the columns must not matter
    for path in paths {
        mapped_column(old, path)?;
    }
    paths
        .iter()
        .try_fold(old.clone(), |old, path| drop_column(&old, path))
}

fn drop_column(old: &Metadata, path: &[String]) -> Result<Metadata> {
    let (schema, parent, name) = mapped_column(old, path)?;
    let cannot_drop = |reason: &str| {
        let column = column_path_text(path);
        refused(format!(
            "the column {} cannot be dropped: {reason}",
            clipped(&column)
        ))
    };
    let schema = change_fields_at(&schema, parent, &mut |fields| {
        let index = position(fields, name)?;
        let mut fields = fields.fields().to_vec();
        let dropped = fields.remove(index);
        let partitions: &[String] = match parent {
            [] => &old.partition_columns,
            _ => &[],
        };
        if partitions.contains(&dropped.name) {
            return Err(cannot_drop("the table is partitioned by it"));
        }
        let in_files = |field: &StructField| !partitions.contains(&field.name);
        match (fields.iter().any(in_files), parent) {
            (true, _) => Ok(fields),
            (false, []) => Err(cannot_drop("no column would be left in the files")),
            (false, _) => Err(cannot_drop(
                "its struct would be left without fields; drop the struct",
            )),
        }
    })?;
    let mut new = old.clone();
    new.schema_string = schema.to_json();
    change_statistics(&mut new, |column| !is_within(column, path));
    Ok(new)
}

/// Returns a column or nested field with its path: the names are those of the schema.
///
/// # Errors
///
/// Invalid argument: `alter.column` for a column that does not exist.
pub fn column_at(metadata: &Metadata, path: &[String]) -> Result<(Vec<String>, StructField)> {
    let (last, parents) = last_of(path)?;
    let schema = StructType::parse(&metadata.schema_string)?;
    let mut names = Vec::with_capacity(path.len());
    let mut container = DataType::Struct(Box::new(schema));
    for step in parents {
        let field = part_of(&container, step)?;
        names.push(field.name);
        container = field.data_type;
    }
    let column = part_of(&container, last)?;
    names.push(column.name.clone());
    Ok((names, column))
}

fn part_of(data_type: &DataType, step: &str) -> Result<StructField> {
    let (data_type, nullable) = match (data_type, step) {
        (DataType::Struct(fields), name) => {
            let field = fields.fields().get(position(fields, name)?);
            return field.cloned().ok_or_else(|| no_such_part(name));
        }
        (DataType::Array(array), "element") => (&array.element_type, array.contains_null),
        (DataType::Map(map), "key") => (&map.key_type, false),
        (DataType::Map(map), "value") => (&map.value_type, map.value_contains_null),
        (_, step) => return Err(no_such_part(step)),
    };
    Ok(StructField {
        name: step.to_owned(),
        data_type: data_type.clone(),
        nullable,
        metadata: Map::new(),
    })
}

/// Returns the index of a field.
///
/// # Errors
///
/// Invalid argument: `alter.column` if no field has the name; the error suggests similar names.
pub fn position(fields: &StructType, name: &str) -> Result<usize> {
    let same_field = |field: &StructField| {
        let mut fields = fields.fields().iter();
        fields.position(|candidate| candidate.name == field.name)
    };
    fields.field(name).and_then(same_field).ok_or_else(|| {
        let suggestion = closest_columns(name, fields);
        refused(format!(
            "there is no column {}: {suggestion}",
            clipped(name)
        ))
    })
}

/// Returns the error for a path step that does not exist.
pub fn no_such_part(step: &str) -> Error {
    refused(format!(
        "there is nothing named {} in this column: structs have fields, arrays `element`, maps `key` and \
         `value`",
        clipped(step)
    ))
}

pub(super) fn refused(message: String) -> Error {
    Error::invalid("alter.column", message)
}

pub(super) fn last_of(path: &[String]) -> Result<(&String, &[String])> {
    path.split_last()
        .ok_or_else(|| refused("no column is named".to_owned()))
}

fn refuse_if_taken(fields: &StructType, name: &str, except: Option<usize>) -> Result<()> {
    if name.is_empty() {
        return Err(refused("a column needs a name".to_owned()));
    }
    match fields.field(name) {
        Some(field) if except.and_then(|index| fields.fields().get(index)) != Some(field) => {
            let message = "there is already a column of this name, ignoring upper and lower case";
            Err(refused(format!("{}: {message}", clipped(&field.name))))
        }
        _ => Ok(()),
    }
}

/// Changes the fields of the struct at a path; the empty path is the schema itself.
pub(super) fn change_fields_at(
    schema: &StructType,
    path: &[String],
    change: &mut dyn FnMut(&StructType) -> Result<Vec<StructField>>,
) -> Result<StructType> {
    let Some((name, rest)) = path.split_first() else {
        return StructType::new(change(schema)?);
    };
    let index = position(schema, name)?;
    let mut fields = schema.fields().to_vec();
    if let Some(field) = fields.get_mut(index) {
        field.data_type = change_fields_in(&field.data_type, rest, change)?;
    }
    StructType::new(fields)
}

fn change_fields_in(
    data_type: &DataType,
    path: &[String],
    change: &mut dyn FnMut(&StructType) -> Result<Vec<StructField>>,
) -> Result<DataType> {
    let step = path.split_first().map(|(step, rest)| (step.as_str(), rest));
    Ok(match (data_type, step) {
        (DataType::Struct(fields), _) => {
            DataType::Struct(Box::new(change_fields_at(fields, path, change)?))
        }
        (DataType::Array(array), Some(("element", rest))) => DataType::Array(Box::new(ArrayType {
            element_type: change_fields_in(&array.element_type, rest, change)?,
            ..(**array).clone()
        })),
        (DataType::Map(map), Some(("key", rest))) => DataType::Map(Box::new(MapType {
            key_type: change_fields_in(&map.key_type, rest, change)?,
            ..(**map).clone()
        })),
        (DataType::Map(map), Some(("value", rest))) => DataType::Map(Box::new(MapType {
            value_type: change_fields_in(&map.value_type, rest, change)?,
            ..(**map).clone()
        })),
        (_, Some((step, _))) => return Err(no_such_part(step)),
        (_, None) => return Err(refused("only structs have fields".to_owned())),
    })
}

/// Returns a column that can be renamed or dropped: the schema, the path of its struct, and its name.
fn mapped_column<'a>(
    old: &Metadata,
    path: &'a [String],
) -> Result<(StructType, &'a [String], &'a String)> {
    let (name, parent) = last_of(path)?;
    let schema = StructType::parse(&old.schema_string)?;
    change_fields_at(&schema, parent, &mut |fields| {
        position(fields, name).map(|_| fields.fields().to_vec())
    })?;
    if mode(old) == "none" {
        let message = format!(
            "the files of this table use the names of its columns: set {MAPPING_MODE} to name first"
        );
        return Err(Error::invalid("alter.column_mapping", message));
    }
    refuse_if_referenced(old, &schema, path)?;
    Ok((schema, parent, name))
}

/// Refuses to change a column that a constraint or a generated column references.
///
/// # Errors
///
/// Invalid argument: `alter.column`, also for a column that does not exist.
pub fn refuse_if_referenced(old: &Metadata, schema: &StructType, path: &[String]) -> Result<()> {
    let constraints = old.configuration.iter();
    let constraints = constraints
        .filter(|(key, _)| is_constraint(key))
        .map(|(_, text)| text.as_str());
    let generated = schema
        .fields()
        .iter()
        .filter_map(|field| field.metadata.get(GENERATED).and_then(Value::as_str));
    let mut container = DataType::Struct(Box::new(schema.clone()));
    let mut names = Vec::with_capacity(path.len());
    for step in path {
        let part = part_of(&container, step)?;
        // elements of arrays and maps have no name in expressions
        if let DataType::Struct(_) = container {
            names.push(part.name.to_lowercase());
        }
        container = part.data_type;
    }
    let references = |text: &&str| {
        let text = text.to_lowercase();
        let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
        names.iter().all(|name| {
            let quoted = format!("`{}`", name.replace('`', "``"));
            words.clone().any(|word| word == name) || text.contains(&quoted)
        })
    };
    match constraints.chain(generated).find(references) {
        None => Ok(()),
        Some(text) => {
            let column = column_path_text(path);
            let column = clipped(&column);
            Err(refused(format!(
                "the column {column} is referenced by {}",
                clipped(text)
            )))
        }
    }
}

/// Checks the columns in the statistics property: delta-spark refuses each later change of the metadata of a
/// table where they are not valid.
///
/// # Errors
///
/// Invalid argument: `properties.value` for a column that does not exist, is a partition column, has a type
/// without minimum and maximum or is named twice. Corrupt: the schema.
pub(super) fn check_statistics_columns(metadata: &Metadata) -> Result<()> {
    let text = metadata.property(STATISTICS).unwrap_or_default();
    if text.trim().is_empty() {
        return Ok(());
    }
    let schema = DataType::Struct(Box::new(StructType::parse(&metadata.schema_string)?));
    let paths = parse_column_paths(text);
    for (index, path) in paths.iter().enumerate() {
        let data_type: Result<DataType> = path.iter().try_fold(schema.clone(), |parent, step| {
            part_of(&parent, step).map(|part| part.data_type)
        });
        let is_partition_column = |name: &String| {
            metadata
                .partition_columns
                .iter()
                .any(|other| same_name(name, other))
        };
        let special = |name: &String| {
            name.contains(|character: char| !(character.is_alphanumeric() || character == '_'))
        };
        let problem = match (data_type, path.as_slice()) {
            (Err(_), _) => "the table has no such column",
            _ if path.iter().any(special) && !text.contains('`') => "write this name in backticks",
            (_, [name]) if is_partition_column(name) => {
                "files have no statistics on partition columns"
            }
            (Ok(data_type), [_])
                if !data_type.has_min_max() && !matches!(data_type, DataType::Struct(_)) =>
            {
                "its type has no minimum and maximum"
            }
            _ if paths
                .iter()
                .skip(index.saturating_add(1))
                .any(|other| is_within(path, other) || is_within(other, path)) =>
            {
                "it is named twice"
            }
            _ => continue,
        };
        let column = column_path_text(path);
        let message = format!("{STATISTICS} has {}: {problem}", clipped(&column));
        return Err(Error::invalid("properties.value", message));
    }
    Ok(())
}

/// Updates the names of the columns in the statistics property.
fn change_statistics(metadata: &mut Metadata, mut keeps: impl FnMut(&mut Vec<String>) -> bool) {
    let mut properties = metadata.configuration.iter_mut();
    if let Some((_, text)) = properties.find(|(key, _)| key.eq_ignore_ascii_case(STATISTICS)) {
        let mut paths = parse_column_paths(text);
        let before = paths.clone();
        paths.retain_mut(|path| keeps(path));
        if paths != before {
            let strings: Vec<_> = paths.iter().map(|path| column_path_text(path)).collect();
            *text = strings.join(",");
        }
    }
}
