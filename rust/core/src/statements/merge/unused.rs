//! Source columns of types that tables do not support, such as times of day: allowed unless they are used.

use std::sync::Arc;

use arrow_array::{RecordBatchIterator, RecordBatchReader};
use arrow_schema::{Field, Schema};

use super::clauses::{MergeDefinition, Then};
use crate::error::Result;
use crate::spec::schema::StructType;
use crate::write::columns::columns_mismatch;

/// Drops the columns of unsupported types that neither the table nor an expression refers to.
///
/// # Errors
///
/// Invalid argument: `rows.type`.
pub(super) fn without_unused(
    rows: Box<dyn RecordBatchReader + Send>,
    definition: &MergeDefinition,
    table: &StructType,
    evolves: bool,
) -> Result<Box<dyn RecordBatchReader + Send>> {
    let schema = rows.schema();
    let is_used = |field: &Field| {
        table.contains(field.name())
            || (evolves && sets_all(definition))
            || is_named(definition, field.name())
    };
    let fields = schema.fields().iter().enumerate();
    let columns = fields.filter(|(_, field)| is_supported(field) || is_used(field));
    let columns: Vec<usize> = columns.map(|(index, _)| index).collect();
    if columns.len() == schema.fields().len() {
        return Ok(rows);
    }
    let schema = Arc::new(schema.project(&columns).map_err(columns_mismatch)?);
    let rows = rows.map(move |batch| batch?.project(&columns));
    Ok(Box::new(RecordBatchIterator::new(rows, schema)))
}

/// Returns `true` if tables can have columns of the field's type.
fn is_supported(field: &Arc<Field>) -> bool {
    StructType::from_arrow(&Schema::new(vec![Arc::clone(field)])).is_ok()
}

fn sets_all(definition: &MergeDefinition) -> bool {
    let clauses = definition.clauses.iter();
    let mut sets = clauses.map(|clause| &clause.then);
    sets.any(|then| matches!(then, Then::Update(None) | Then::Insert(None)))
}

/// Returns `true` if an expression or an assignment may refer to a column.
fn is_named(definition: &MergeDefinition, name: &str) -> bool {
    let name = name.to_lowercase();
    let clauses = &definition.clauses;
    let sets = clauses.iter().filter_map(|clause| match &clause.then {
        Then::Update(values) | Then::Insert(values) => values.as_ref(),
        Then::Delete => None,
    });
    let mut conditions = clauses
        .iter()
        .filter_map(|clause| clause.condition.as_deref());
    let names = |text: &str| names(text, &name, definition);
    names(&definition.on)
        || conditions.any(names)
        || sets
            .flatten()
            .any(|(column, value)| names(column) || names(value))
}

/// Returns `true` if a text contains the name of a column as a word that is not the alias of a table.
fn names(text: &str, name: &str, definition: &MergeDefinition) -> bool {
    let in_word = |c: char| c.is_alphanumeric() || c == '_';
    let tables = [&definition.source_name, &definition.target_name];
    let is_table = tables.iter().any(|table| table.to_lowercase() == name);
    let text = text.to_lowercase();
    text.match_indices(name).any(|(index, _)| {
        let (before, rest) = text.split_at_checked(index).unwrap_or((&text, ""));
        let after = rest.strip_prefix(name).unwrap_or_default();
        if before.ends_with(in_word) || after.starts_with(in_word) {
            return false;
        }
        let is_qualified = before.trim_end_matches('`').ends_with('.');
        let qualifies = after.trim_start_matches('`').starts_with('.');
        !is_table || is_qualified || !qualifies
    })
}
