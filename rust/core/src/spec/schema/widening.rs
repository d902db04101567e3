//! The type changes that columns allow.
//!
//! Protocol: "Type Widening".

use super::PrimitiveType;

impl PrimitiveType {
    /// Returns `true` if a column of this type is widened to the other type when written rows have it: only
    /// changes that are likely intended, since pandas, for example, converts integers with nulls to floats.
    /// delta-spark calls this `same_family_type`.
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

    /// Returns `true` if the types differ and every value of this type is a value of the other: the
    /// protocol's list.
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
