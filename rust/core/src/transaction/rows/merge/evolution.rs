//! What clauses for all columns set, and columns that a merge adds to the table.

use arrow_schema::{DataType as ArrowType, Field, Fields, Schema};

use super::clauses::{MergeDefinition, Then};
use crate::error::Result;
use crate::spec::column_path::column_path_text;
use crate::spec::schema::{DataType, StructField, StructType};
use crate::transaction::rows::evolve::merged_schema;

/// The table's schema with columns that only the source has: all of them where a clause speaks of all
/// columns, else those that a clause sets by name. `None` where none join.
///
/// # Errors
///
/// Invalid argument: `schema.arrow_type` for a type that tables do not have.
pub fn evolved_schema(
    table: &StructType,
    definition: &MergeDefinition,
    source: &Schema,
) -> Result<Option<StructType>> {
    let clauses = || definition.clauses.iter().map(|clause| &clause.then);
    let all = clauses().any(|then| matches!(then, Then::Update(None) | Then::Insert(None)));
    let set = |name: &str| {
        clauses().any(|then| match then {
            Then::Update(Some(set)) | Then::Insert(Some(set)) => {
                set.iter().any(|(one, _)| one.eq_ignore_ascii_case(name))
            }
            _ => false,
        })
    };
    let joins = |field: &Field| table.field(field.name()).is_none() && set(field.name());
    let fields = source.fields().iter().filter(|field| all || joins(field));
    merged_schema(table, &Schema::new(fields.cloned().collect::<Fields>()))
}

/// The assignments of a clause for all columns: each column of the table that the source has, or has to
/// have. `partly`: what the source lacks stays as it is, in structs too.
pub(super) fn all_columns(
    table: &StructType,
    source: &Fields,
    source_name: &str,
    partly: bool,
) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut value = vec![source_name.to_owned()];
    let made = |key: &String| {
        ["delta.generationExpression", "delta.identity.start"].contains(&key.as_str())
    };
    for field in table.fields() {
        match place(source, &field.name) {
            Some(given) if partly => assign(field, given, &mut Vec::new(), &mut value, &mut found),
            None if partly || field.metadata.keys().any(made) => {}
            _ => found.push((
                column_path_text(std::slice::from_ref(&field.name)),
                column_path_text(&[source_name.to_owned(), field.name.clone()]),
            )),
        }
    }
    found
}

fn place<'a>(fields: &'a Fields, name: &str) -> Option<&'a Field> {
    let mut all = fields.iter();
    let found = all.find(|field| field.name().to_lowercase() == name.to_lowercase());
    found.map(|field| field.as_ref())
}

/// A column as a whole, or where the source has but some of its fields, those.
fn assign(
    field: &StructField,
    given: &Field,
    target: &mut Vec<String>,
    value: &mut Vec<String>,
    found: &mut Vec<(String, String)>,
) {
    target.push(field.name.clone());
    value.push(given.name().clone());
    match (&field.data_type, given.data_type()) {
        (DataType::Struct(parts), ArrowType::Struct(others)) if !covers(parts, others) => {
            for part in parts.fields() {
                if let Some(other) = place(others, &part.name) {
                    assign(part, other, target, value, found);
                }
            }
        }
        _ => found.push((column_path_text(target), column_path_text(value))),
    }
    target.pop();
    value.pop();
}

fn covers(parts: &StructType, others: &Fields) -> bool {
    parts.fields().iter().all(|part| {
        let other = place(others, &part.name).map(|other| other.data_type());
        match (&part.data_type, other) {
            (_, None) => false,
            (DataType::Struct(parts), Some(ArrowType::Struct(others))) => covers(parts, others),
            _ => true,
        }
    })
}
