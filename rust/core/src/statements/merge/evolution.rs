//! The assignments of `UPDATE SET *`, and columns that a merge adds to the table.

use arrow_schema::{Fields, Schema};

use super::clauses::{MergeDefinition, Then, When};
use crate::error::Result;
use crate::spec::arrow::field_index;
use crate::spec::column_path::{column_path_text, is_within, named_path};
use crate::spec::schema::{DataType, StructType, same_name};
use crate::write::{GENERATED, is_identity};

/// Columns of a source to add to the table.
#[derive(Debug)]
pub(super) struct NewColumns {
    /// Columns, and fields of structs, that are added if the table lacks them.
    pub columns: StructType,
    /// Columns to whose types those of the table may be widened.
    pub types: StructType,
}

/// Returns the columns of the source that may be added: all of them if a clause sets all columns, otherwise
/// those that a clause sets. Clauses for rows that are not in the source add none. Types are only taken from
/// columns that a clause sets to the source's column of the same name.
pub(super) fn new_columns_of(
    table: &StructType,
    definition: &MergeDefinition,
    source: &Schema,
) -> Result<NewColumns> {
    let source = StructType::from_arrow(source)?;
    // the paths of the columns that are set, and of those that are set to the source's of the same name
    let (mut all, mut set, mut copied) = (false, Vec::new(), Vec::new());
    for clause in &definition.clauses {
        match &clause.then {
            _ if clause.when == When::NotMatchedBySource => {}
            Then::Update(None) | Then::Insert(None) => all = true,
            Then::Update(Some(values)) | Then::Insert(Some(values)) => {
                for (name, value) in values {
                    let path = match table.field(name) {
                        Some(_) => vec![name.clone()],
                        None => named_path(&source, name),
                    };
                    if is_of_source(value, name, &definition.source_name) {
                        copied.push(path.clone());
                    }
                    set.push(path);
                }
            }
            Then::Delete => {}
        }
    }
    Ok(if all {
        NewColumns {
            types: source.clone(),
            columns: source,
        }
    } else {
        NewColumns {
            columns: selected(&source, &set, &mut Vec::new())?,
            types: selected(&source, &copied, &mut Vec::new())?,
        }
    })
}

/// Returns `true` if an expression is just the source's column of this name.
fn is_of_source(expression: &str, name: &str, source_name: &str) -> bool {
    let bare = |text: &str| text.trim().replace('`', "");
    let (expression, name) = (bare(expression), bare(name));
    same_name(&expression, &name)
        || same_name(&expression, &format!("{}.{name}", bare(source_name)))
}

/// Returns the fields at these paths, and of the structs above them only these fields; `parent` is the path of
/// `fields`.
fn selected(
    fields: &StructType,
    paths: &[Vec<String>],
    parent: &mut Vec<String>,
) -> Result<StructType> {
    let mut selection = Vec::new();
    for field in fields.fields() {
        parent.push(field.name.clone());
        if paths.iter().any(|path| is_within(parent, path)) {
            selection.push(field.clone());
        } else if let DataType::Struct(parts) = &field.data_type
            && paths.iter().any(|path| is_within(path, parent))
        {
            let mut field = field.clone();
            field.data_type = DataType::Struct(Box::new(selected(parts, paths, parent)?));
            selection.push(field);
        }
        parent.pop();
    }
    StructType::new(selection)
}

/// Returns the assignments of `SET *`: each column of the table that the source has, or must have. `partial`:
/// columns that the source lacks stay unchanged.
pub(super) fn all_columns(
    table: &StructType,
    source: &Fields,
    source_name: &str,
    partial: bool,
) -> Vec<(String, String)> {
    let fields = table.fields().iter().filter(|field| {
        let optional = partial || is_identity(field) || field.metadata.contains_key(GENERATED);
        !optional || field_index(source, &field.name).is_some()
    });
    let assigned = fields.map(|field| {
        (
            column_path_text(std::slice::from_ref(&field.name)),
            column_path_text(&[source_name.to_owned(), field.name.clone()]),
        )
    });
    assigned.collect()
}
