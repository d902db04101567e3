//! Checks that values of one schema can be converted to a later one.

use crate::changes::rows::row_schema::Reading;
use crate::error::Result;
use crate::spec::properties::ColumnMappingMode;
use crate::spec::schema::{DataType, PrimitiveType, StructType};

/// Returns the first column whose values cannot be converted to its type at the end of the range.
pub(in crate::changes) fn first_inconvertible(
    from: &StructType,
    to: &Reading,
    from_mode: ColumnMappingMode,
) -> Result<Option<String>> {
    let (to, to_mode) = to.table();
    struct_type(from, from_mode, to, to_mode)
}

fn struct_type(
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
            if !bridges(&field.data_type, from_mode, &later.data_type, to_mode)? {
                return Ok(Some(field.name.clone()));
            }
        }
    }
    Ok(None)
}

fn bridges(
    from: &DataType,
    from_mode: ColumnMappingMode,
    to: &DataType,
    to_mode: ColumnMappingMode,
) -> Result<bool> {
    use DataType as D;
    let bridges = |from: &DataType, to: &DataType| bridges(from, from_mode, to, to_mode);
    Ok(match (from, to) {
        (D::Primitive(PrimitiveType::Void), _) => true,
        (D::Primitive(from), D::Primitive(to)) => from == to || from.widens_to(to),
        (D::Array(from), D::Array(to)) => bridges(&from.element_type, &to.element_type)?,
        (D::Map(from), D::Map(to)) => {
            bridges(&from.key_type, &to.key_type)? && bridges(&from.value_type, &to.value_type)?
        }
        (D::Struct(from), D::Struct(to)) => struct_type(from, from_mode, to, to_mode)?.is_none(),
        _ => false,
    })
}
