//! Checks that values of one schema can be converted to a later one.

use crate::changes::rows::row_schema::ResolvedDefinition;
use crate::error::Result;
use crate::spec::properties::ColumnMappingMode;
use crate::spec::schema::{DataType, PrimitiveType, StructType};

/// Returns the first column whose values cannot be converted to its type at the end of the range.
pub(in crate::changes) fn first_inconvertible(
    from: &StructType,
    to: &ResolvedDefinition,
    from_mode: ColumnMappingMode,
) -> Result<Option<String>> {
    let (to, to_mode) = to.table();
    first_inconvertible_field(from, from_mode, to, to_mode)
}

fn first_inconvertible_field(
    from: &StructType,
    from_mode: ColumnMappingMode,
    to: &StructType,
    to_mode: ColumnMappingMode,
) -> Result<Option<String>> {
    for field in from.fields() {
        let name = field.name_in_files(from_mode)?;
        for later in to.fields() {
            if later.name_in_files(to_mode)? != name {
                continue;
            }
            if !is_convertible(&field.data_type, from_mode, &later.data_type, to_mode)? {
                return Ok(Some(field.name.clone()));
            }
        }
    }
    Ok(None)
}

fn is_convertible(
    from: &DataType,
    from_mode: ColumnMappingMode,
    to: &DataType,
    to_mode: ColumnMappingMode,
) -> Result<bool> {
    use DataType as D;
    let is_convertible =
        |from: &DataType, to: &DataType| is_convertible(from, from_mode, to, to_mode);
    Ok(match (from, to) {
        (D::Primitive(PrimitiveType::Void), _) => true,
        (D::Primitive(from), D::Primitive(to)) => from == to || from.widens_to(to),
        (D::Array(from), D::Array(to)) => is_convertible(&from.element_type, &to.element_type)?,
        (D::Map(from), D::Map(to)) => {
            is_convertible(&from.key_type, &to.key_type)?
                && is_convertible(&from.value_type, &to.value_type)?
        }
        (D::Struct(from), D::Struct(to)) => {
            first_inconvertible_field(from, from_mode, to, to_mode)?.is_none()
        }
        _ => false,
    })
}
