//! Type widening of columns; no data file is rewritten.
//!
//! Protocol: "Type Widening".

use serde_json::{Value, json};

use super::columns::{no_such_part, position, refuse_if_referenced};
use crate::error::{Error, Result};
use crate::spec::Metadata;
use crate::spec::schema::{DataType, PrimitiveType, StructField, StructType};

/// The property that enables type widening.
pub const TYPE_WIDENING: &str = "delta.enableTypeWidening";
/// The metadata key of a field's type changes.
pub const CHANGES: &str = "delta.typeChanges";

/// Returns the old metadata with a wider type for a column or nested field. A void column, which no file has,
/// can get any type except nested types and intervals.
///
/// # Errors
///
/// Invalid argument: `alter.type_widening` if type widening is disabled, or does not allow this change;
/// `alter.column` for a column that does not exist, or is referenced by a constraint or a generated column.
/// Corrupt: the schema.
pub fn widen_column(old: &Metadata, path: &[String], to: &DataType) -> Result<Metadata> {
    let schema = StructType::parse(&old.schema_string)?;
    let Some((first, rest)) = path.split_first() else {
        return Err(Error::invalid("alter.column", "no column is named"));
    };
    let index = position(&schema, first)?;
    refuse_if_referenced(old, &schema, path)?;
    let mut fields = schema.fields().to_vec();
    if let Some(field) = fields.get_mut(index) {
        widen_field(field, rest, to, old.is_on(TYPE_WIDENING))?;
    }
    Ok(Metadata {
        schema_string: StructType::new(fields)?.to_json(),
        ..old.clone()
    })
}

fn widen_field(
    field: &mut StructField,
    path: &[String],
    to: &DataType,
    is_allowed: bool,
) -> Result<()> {
    use PrimitiveType::{IntervalDayTime, IntervalYearMonth, Void};
    if let (DataType::Primitive(Void), [], DataType::Primitive(new)) = (&field.data_type, path, to)
        && !matches!(new, IntervalDayTime | IntervalYearMonth)
    {
        field.data_type = to.clone();
        return Ok(());
    }
    let mut field_path = Vec::new();
    let changed = widen_type(&mut field.data_type, path, to, is_allowed, &mut field_path)?;
    if let Some((before, after)) = changed {
        record_type_change(field, &field_path, &before, &after);
    }
    Ok(())
}

/// Widens the type and returns the names of the old and the new type, unless a nested field records the
/// change. `field_path` collects the steps from the field to the type.
fn widen_type(
    from: &mut DataType,
    path: &[String],
    to: &DataType,
    is_allowed: bool,
    field_path: &mut Vec<&'static str>,
) -> Result<Option<(String, String)>> {
    let Some((name, rest)) = path.split_first() else {
        let names = (type_name(from), type_name(to));
        let is_wider = match (&*from, to) {
            (DataType::Primitive(old), DataType::Primitive(new)) => old.widens_to(new),
            _ => false,
        };
        if !is_wider {
            let (from, to) = &names;
            let message = if from == to {
                format!("the parts of a {from} change one by one: name the part as in a.b")
            } else {
                format!(
                    "{from} cannot be widened to {to}: the Delta protocol does not allow this change"
                )
            };
            return Err(Error::invalid("alter.type_widening", message));
        }
        if !is_allowed {
            let message = format!(
                "this table does not allow type widening: set {TYPE_WIDENING} to true first"
            );
            return Err(Error::invalid("alter.type_widening", message));
        }
        *from = to.clone();
        return Ok(Some(names));
    };
    let (step, inner) = match (from, name.as_str()) {
        (DataType::Struct(parts), name) => {
            let mut fields = parts.fields().to_vec();
            let index = position(parts, name)?;
            if let Some(inner) = fields.get_mut(index) {
                widen_field(inner, rest, to, is_allowed)?;
            }
            **parts = StructType::new(fields)?;
            return Ok(None);
        }
        (DataType::Array(array), "element") => ("element", &mut array.element_type),
        (DataType::Map(map), "key") => ("key", &mut map.key_type),
        (DataType::Map(map), "value") => ("value", &mut map.value_type),
        (_, name) => return Err(no_such_part(name)),
    };
    field_path.push(step);
    widen_type(inner, rest, to, is_allowed, field_path)
}

fn record_type_change(field: &mut StructField, field_path: &[&str], from: &str, to: &str) {
    let mut change = json!({"fromType": from, "toType": to});
    if let (Some(change), false) = (change.as_object_mut(), field_path.is_empty()) {
        change.insert("fieldPath".to_owned(), field_path.join(".").into());
    }
    let changes = field
        .metadata
        .entry(CHANGES)
        .or_insert_with(|| Value::Array(Vec::new()));
    match changes {
        Value::Array(changes) => changes.push(change),
        other => *other = Value::Array(vec![change]),
    }
}

/// Returns the name of a type, without its parts.
pub fn type_name(data_type: &DataType) -> String {
    match data_type {
        DataType::Primitive(primitive) => primitive.to_string(),
        DataType::Array(_) => "array".to_owned(),
        DataType::Map(_) => "map".to_owned(),
        DataType::Struct(_) => "struct".to_owned(),
    }
}
