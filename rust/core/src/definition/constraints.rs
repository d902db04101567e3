//! CHECK constraints: table properties that hold SQL expressions.
//!
//! Protocol: "CHECK Constraints".

use std::collections::BTreeMap;

use crate::error::{Error, Result};
use crate::expr::Predicate;
use crate::spec::Metadata;
use crate::spec::json::clipped;
use crate::spec::schema::StructType;

const PREFIX: &str = "delta.constraints.";

/// Returns the old metadata with one more constraint, and the condition for rows that violate it.
///
/// # Errors
///
/// Invalid argument: `alter.constraint` for a name that is empty or taken.
pub fn add_constraint(
    old: &Metadata,
    name: &str,
    expression: &str,
) -> Result<(Metadata, Predicate)> {
    let name = name.trim().to_lowercase();
    if name.is_empty() {
        let message = "a constraint needs a name";
        return Err(Error::invalid("alter.constraint", message));
    }
    if let Some((_, existing)) = find(old, &name) {
        let message = format!(
            "the constraint {} already exists: {}",
            clipped(&name),
            clipped(existing)
        );
        return Err(Error::invalid("alter.constraint", message));
    }
    let violated = Predicate::parse_sql(expression)?.not_true();
    violated.bind(&StructType::parse(&old.schema_string)?)?;
    let mut new = old.clone();
    new.configuration
        .insert(format!("{PREFIX}{name}"), expression.trim().to_owned());
    Ok((new, violated))
}

/// Checks the constraints among the properties of a new table. Expressions that only other engines can
/// evaluate are accepted; writes of rows refuse them.
///
/// # Errors
///
/// Invalid argument: `alter.constraint` for an expression that does not parse, references a column that does
/// not exist, or is not a condition.
pub(super) fn check_constraints(
    schema: &StructType,
    properties: &BTreeMap<String, String>,
) -> Result<()> {
    for (key, expression) in properties.iter().filter(|(key, _)| is_constraint(key)) {
        let condition = Predicate::parse_sql(expression).map(Predicate::not_true);
        if let Err(error) = condition.and_then(|condition| condition.bind(schema))
            && !error.code().ends_with(".unsupported")
        {
            let message = format!(
                "the property {} is not a valid constraint: {error}",
                clipped(key)
            );
            return Err(Error::invalid("alter.constraint", message));
        }
    }
    Ok(())
}

/// Refuses to add constraints by setting properties, since existing rows would not be checked.
///
/// # Errors
///
/// Invalid argument: `alter.constraint`.
pub(super) fn refuse_constraints(properties: &BTreeMap<String, String>) -> Result<()> {
    let Some(key) = properties.keys().find(|key| is_constraint(key)) else {
        return Ok(());
    };
    let message = format!(
        "{} is a CHECK constraint that existing rows may violate: add it with add_constraint or ALTER TABLE \
         ... ADD CONSTRAINT, which check them",
        clipped(key)
    );
    Err(Error::invalid("alter.constraint", message))
}

/// Returns `true` if a table property is a CHECK constraint.
pub(super) fn is_constraint(key: &str) -> bool {
    key.to_ascii_lowercase().starts_with(PREFIX)
}

/// Returns the old metadata without a constraint, and its expression; `None` if it does not exist.
pub fn drop_constraint(old: &Metadata, name: &str) -> Option<(Metadata, String)> {
    let (key, _) = find(old, name)?;
    let mut new = old.clone();
    let expression = new.configuration.remove(key)?;
    Some((new, expression))
}

/// Returns the property of a constraint, whose name may have another case, and its expression.
fn find<'a>(metadata: &'a Metadata, name: &str) -> Option<(&'a String, &'a String)> {
    let property = format!("{PREFIX}{}", name.trim().to_lowercase());
    let mut properties = metadata.configuration.iter();
    properties.find(|(key, _)| key.to_lowercase() == property)
}

/// Returns the names of all constraints.
pub fn constraint_names(metadata: &Metadata) -> Vec<String> {
    let names = metadata.configuration.keys().filter_map(|key| {
        let lowered = key.to_lowercase();
        lowered.strip_prefix(PREFIX).map(ToOwned::to_owned)
    });
    names.collect()
}
