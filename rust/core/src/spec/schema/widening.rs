//! The type changes that a column may have.
//!
//! Protocol: "Type Widening".

use serde_json::Value;

use super::{PrimitiveType, StructType};
use crate::error::{Error, Result};
use crate::spec::json::clipped;

impl StructType {
    /// Checks that each change in `delta.typeChanges` is supported: files may have the old type.
    ///
    /// # Errors
    ///
    /// Unsupported: `schema.type_change`.
    pub(crate) fn check_type_changes(&self) -> Result<()> {
        for field in self.all_fields() {
            let changes = field.metadata.get("delta.typeChanges");
            for change in changes.and_then(Value::as_array).into_iter().flatten() {
                let type_of = |key| change.get(key).and_then(Value::as_str).unwrap_or_default();
                let (from, to) = (type_of("fromType"), type_of("toType"));
                if !is_supported_change(from, to) {
                    let message = format!(
                        "the type of {} was changed from {} to {}, which type widening does not allow",
                        clipped(&field.name),
                        clipped(from),
                        clipped(to)
                    );
                    return Err(Error::unsupported("schema.type_change", message));
                }
            }
        }
        Ok(())
    }
}

/// Returns `true` for a widening, for equal types, and for two types of strings, which are stored alike.
fn is_supported_change(from: &str, to: &str) -> bool {
    let is_string =
        |name: &str| name == "string" || name.starts_with("char(") || name.starts_with("varchar(");
    let types = PrimitiveType::from_name(from).zip(PrimitiveType::from_name(to));
    types.is_some_and(|(from, to)| from == to || from.widens_to(&to) || has_all_values(&to, &from))
        || is_string(from) && is_string(to)
}

/// Returns `true` for a decimal that has every value of an integer type. The protocol requires more digits;
/// delta-kernel-rs reads such changes, too.
fn has_all_values(to: &PrimitiveType, from: &PrimitiveType) -> bool {
    use PrimitiveType as P;
    let digits = match from {
        P::Byte => 3,
        P::Short => 5,
        P::Integer => 10,
        P::Long => 19,
        _ => return false,
    };
    matches!(to, P::Decimal { precision, scale } if precision.saturating_sub(*scale) >= digits)
}

impl PrimitiveType {
    /// Returns `true` if written rows of the other type widen a column of this type. Other changes may
    /// be unintended: pandas, for example, converts integers with nulls to floats. delta-spark calls this
    /// `same_family_type`.
    pub(crate) fn evolves_to(&self, to: &Self) -> bool {
        use PrimitiveType as P;
        let alike = matches!(
            (self, to),
            (
                P::Byte | P::Short | P::Integer,
                P::Short | P::Integer | P::Long
            ) | (P::Float, P::Double)
                | (P::Date, P::TimestampNtz)
                | (P::Decimal { .. }, P::Decimal { .. })
        );
        alike && self.widens_to(to)
    }

    /// Returns `true` if the protocol allows widening this type to the other.
    #[must_use]
    pub fn widens_to(&self, to: &Self) -> bool {
        use PrimitiveType as P;
        let whole = |precision: &u8, scale: &u8| precision.saturating_sub(*scale);
        match (self, to) {
            (P::Byte, P::Short | P::Integer | P::Long | P::Double)
            | (P::Short, P::Integer | P::Long | P::Double)
            | (P::Integer, P::Long | P::Double)
            | (P::Float, P::Double)
            | (P::Date, P::TimestampNtz) => true,
            (P::Byte | P::Short | P::Integer, P::Decimal { precision, scale }) => {
                whole(precision, scale) >= 10
            }
            (P::Long, P::Decimal { precision, scale }) => whole(precision, scale) >= 20,
            (
                P::Decimal { precision, scale },
                P::Decimal {
                    precision: wider,
                    scale: longer,
                },
            ) => self != to && longer >= scale && whole(wider, longer) >= whole(precision, scale),
            _ => false,
        }
    }
}
