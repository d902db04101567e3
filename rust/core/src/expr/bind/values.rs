//! Literals as values of a column's type, or as a position between such values.

use std::fmt;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BinaryArray, Decimal128Array, Int64Array, Scalar};
use arrow_schema::DataType as ArrowType;

use crate::error::{Error, Result};
use crate::expr::evaluate::Evaluator;
use crate::expr::evaluate::in_list::{InList, Values};
use crate::expr::node::bound_column::BoundColumn;
use crate::expr::value::canonical_order::Form;
use crate::expr::value::casts;
use crate::expr::value::comparison::Op;
use crate::expr::value::floats::key;
use crate::expr::value::literal::{Decimal, Literal, list_compared, power_of_ten};
use crate::spec::char_length::fitted;
use crate::spec::interval::MICROS_PER_DAY;
use crate::spec::schema::{DataType, PrimitiveType};

/// Types that compare alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Family {
    Integer,
    Decimal {
        scale: u8,
    },
    Float,
    Double,
    String,
    Binary,
    Boolean,
    Date,
    Timestamp,
    TimestampNtz,
    /// Nothing but nulls.
    Void,
    /// No order, by the name of the type.
    Other(&'static str),
}

impl Family {
    pub(super) fn of(data_type: &DataType) -> Self {
        let primitive = match data_type {
            DataType::Primitive(primitive) => primitive,
            DataType::Array(_) => return Self::Other("array"),
            DataType::Map(_) => return Self::Other("map"),
            DataType::Struct(_) => return Self::Other("struct"),
        };
        match primitive {
            PrimitiveType::Byte
            | PrimitiveType::Short
            | PrimitiveType::Integer
            | PrimitiveType::Long => Self::Integer,
            PrimitiveType::Decimal { scale, .. } => Self::Decimal { scale: *scale },
            PrimitiveType::Float => Self::Float,
            PrimitiveType::Double => Self::Double,
            PrimitiveType::String => Self::String,
            PrimitiveType::Binary => Self::Binary,
            PrimitiveType::Boolean => Self::Boolean,
            PrimitiveType::Date => Self::Date,
            PrimitiveType::Timestamp => Self::Timestamp,
            PrimitiveType::TimestampNtz => Self::TimestampNtz,
            PrimitiveType::Void => Self::Void,
            PrimitiveType::Variant => Self::Other("variant"),
            PrimitiveType::IntervalYearMonth | PrimitiveType::IntervalDayTime => {
                Self::Other("interval")
            }
            PrimitiveType::Geometry { .. } => Self::Other("geometry"),
            PrimitiveType::Geography { .. } => Self::Other("geography"),
        }
    }
}

impl Family {
    /// Returns `true` if texts are cast to compare with this value, row by row.
    pub(super) fn casts_for(&self, literal: &Literal) -> bool {
        let text = matches!(
            literal,
            Literal::Null | Literal::String(_) | Literal::Binary(_) | Literal::List(_)
        );
        *self == Self::String && !text
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Integer => "integer",
            Self::Decimal { .. } => "decimal",
            Self::Float => "float",
            Self::Double => "double",
            Self::String => "string",
            Self::Binary => "binary",
            Self::Boolean => "boolean",
            Self::Date => "date",
            Self::Timestamp => "timestamp",
            Self::TimestampNtz => "timestamp_ntz",
            Self::Void => "void",
            Self::Other(name) => name,
        })
    }
}

/// A value in one of the forms.
pub(super) enum Value {
    Integer(i64),
    Decimal(i128),
    Bytes(Vec<u8>),
}

impl Value {
    /// The value as kernels take it, for a column of this type.
    pub(super) fn scalar(self, data_type: &ArrowType) -> Scalar<ArrayRef> {
        let array: ArrayRef = match self {
            Self::Integer(value) => Arc::new(Int64Array::from(vec![value])),
            Self::Decimal(value) => {
                let array = Decimal128Array::from(vec![value]);
                Arc::new(match data_type {
                    ArrowType::Decimal128(..) => array.with_data_type(data_type.clone()),
                    _ => array,
                })
            }
            Self::Bytes(value) => Arc::new(BinaryArray::from(vec![value.as_slice()])),
        };
        Scalar::new(array)
    }
}

/// The values of an `IN`, all of one form.
pub(super) fn in_list(values: Vec<Value>) -> InList {
    let (mut integers, mut decimals, mut bytes) = (Vec::new(), Vec::new(), Vec::new());
    for value in values {
        match value {
            Value::Integer(value) => integers.push(value),
            Value::Decimal(value) => decimals.push(value),
            Value::Bytes(value) => bytes.push(value),
        }
    }
    if !decimals.is_empty() {
        InList::Decimals(Values::new::<i128>(decimals))
    } else if !bytes.is_empty() {
        InList::Bytes(Values::new::<[u8]>(bytes))
    } else {
        InList::Integers(Values::new::<i64>(integers))
    }
}

/// The position of a literal among the values that a column can have.
pub(super) enum LiteralPosition {
    Null,
    At(Form, Value),
    /// Above this value, below the next one.
    After(Form, Value),
    /// Below all.
    Below,
    /// Above all.
    Above,
}

/// Finds where a literal stands among the values of a column.
pub(super) fn position(
    column: &BoundColumn,
    family: &Family,
    literal: &Literal,
) -> Result<LiteralPosition> {
    if let Family::Other(name) = family {
        let message = format!(
            "the column {} is of type {name}, which does not compare: use IS NULL, or a part of it",
            column.path.join(".")
        );
        return Err(Error::invalid("filter.type", message));
    }
    if *literal == Literal::Null || *family == Family::Void {
        return Ok(LiteralPosition::Null);
    }
    let fitted = match (literal, column.char_length) {
        (Literal::String(text), Some(letters)) => {
            Some(Literal::String(fitted(text, letters).into_owned()))
        }
        _ => None,
    };
    try_position(family, fitted.as_ref().unwrap_or(literal)).ok_or_else(|| {
        let name = column.path.join(".");
        let hint = match (family, literal) {
            (Family::Integer, Literal::String(_)) => ": such strings are cast to BIGINT",
            (Family::Decimal { .. } | Family::Float, Literal::String(_)) => {
                ": such strings are cast to DOUBLE"
            }
            _ => "",
        };
        let message = format!(
            "the filter compares {name} ({family}) with {literal}, which is not a value of that type{hint}"
        );
        Error::invalid("filter.literal", message)
    })
}

fn try_position(family: &Family, literal: &Literal) -> Option<LiteralPosition> {
    let at = |form, value| Some(LiteralPosition::At(form, Value::Integer(value)));
    let float = |value| at(Form::Float, key(value));
    match (family, literal) {
        (Family::Integer | Family::Decimal { .. }, Literal::Double(value)) => float(*value),
        (Family::Integer, Literal::Integer(value)) => at(Form::Integer, *value),
        (Family::Integer, Literal::Decimal(value)) => Some(among_integers(*value)),
        (Family::Integer, Literal::String(value)) => at(Form::Integer, casts::integer(value)?),
        (Family::Decimal { .. } | Family::Float | Family::Double, Literal::String(value)) => {
            float(casts::float(value)?)
        }
        (Family::Decimal { scale }, literal) => {
            let value = match literal {
                Literal::Integer(value) => (i128::from(*value), 0),
                Literal::Decimal(value) => (value.unscaled(), value.scale()),
                _ => return None,
            };
            Some(among_decimals(value, *scale))
        }
        (Family::Float | Family::Double, Literal::Integer(value)) => float(*value as f64),
        (Family::Float | Family::Double, Literal::Decimal(value)) => float(value.to_f64()),
        (Family::Float | Family::Double, Literal::Double(value)) => float(*value),
        (Family::Boolean, Literal::Boolean(value)) => at(Form::Integer, i64::from(*value)),
        (Family::Boolean, Literal::String(value)) => {
            at(Form::Integer, i64::from(casts::boolean(value)?))
        }
        (Family::Date, Literal::Date(days)) => at(Form::Integer, i64::from(*days)),
        (Family::Date, Literal::String(text)) => at(Form::Integer, i64::from(casts::date(text)?)),
        (
            Family::Date,
            Literal::Timestamp(micros)
            | Literal::TimestampNtz(micros)
            | Literal::LocalTimestamp(micros),
        ) => {
            let day = Value::Integer(micros.div_euclid(MICROS_PER_DAY));
            Some(if micros.rem_euclid(MICROS_PER_DAY) == 0 {
                LiteralPosition::At(Form::Integer, day)
            } else {
                LiteralPosition::After(Form::Integer, day)
            })
        }
        (Family::Timestamp | Family::TimestampNtz, literal) => {
            let utc = *family == Family::Timestamp;
            let micros = match literal {
                Literal::Timestamp(micros)
                | Literal::TimestampNtz(micros)
                | Literal::LocalTimestamp(micros) => *micros,
                Literal::String(text) => casts::timestamp(text, utc)?,
                Literal::Date(days) => match i64::from(*days).checked_mul(MICROS_PER_DAY) {
                    Some(micros) => micros,
                    None if *days < 0 => return Some(LiteralPosition::Below),
                    None => return Some(LiteralPosition::Above),
                },
                _ => return None,
            };
            at(Form::Integer, micros)
        }
        (Family::String | Family::Binary, Literal::String(text)) => Some(LiteralPosition::At(
            Form::Bytes,
            Value::Bytes(text.clone().into_bytes()),
        )),
        (Family::String | Family::Binary, Literal::Binary(bytes)) => Some(LiteralPosition::At(
            Form::Bytes,
            Value::Bytes(bytes.clone()),
        )),
        _ => None,
    }
}

fn among_integers(value: Decimal) -> LiteralPosition {
    let unit = power_of_ten(value.scale());
    let floor = value.unscaled().div_euclid(unit);
    match i64::try_from(floor) {
        Err(_) if floor < 0 => LiteralPosition::Below,
        Err(_) => LiteralPosition::Above,
        Ok(floor) if value.unscaled().rem_euclid(unit) == 0 => {
            LiteralPosition::At(Form::Integer, Value::Integer(floor))
        }
        Ok(floor) => LiteralPosition::After(Form::Integer, Value::Integer(floor)),
    }
}

fn among_decimals((value, scale): (i128, u8), column: u8) -> LiteralPosition {
    if scale <= column {
        return match value.checked_mul(power_of_ten(column - scale)) {
            Some(value) => LiteralPosition::At(Form::Decimal, Value::Decimal(value)),
            None if value < 0 => LiteralPosition::Below,
            None => LiteralPosition::Above,
        };
    }
    let unit = power_of_ten(scale - column);
    let floor = Value::Decimal(value.div_euclid(unit));
    if value.rem_euclid(unit) == 0 {
        LiteralPosition::At(Form::Decimal, floor)
    } else {
        LiteralPosition::After(Form::Decimal, floor)
    }
}

/// Returns `true` if texts are compared with something else: they are cast to its type, row by row.
pub(super) fn casts_texts(left: &Family, right: &Family) -> bool {
    let other = |family: &Family| {
        !matches!(
            family,
            Family::String | Family::Binary | Family::Void | Family::Other(_)
        )
    };
    (*left == Family::String && other(right)) || (other(left) && *right == Family::String)
}

/// The form in which columns of two families compare.
pub(super) fn common(left: &Family, right: &Family) -> Option<Form> {
    use Family::{
        Binary, Boolean, Date, Decimal, Double, Float, Integer, String, Timestamp, TimestampNtz,
    };
    Some(match (left, right) {
        (Integer, Integer) | (Boolean, Boolean) | (Date, Date) => Form::Integer,
        (Integer, Decimal { scale }) | (Decimal { scale }, Integer) => Form::Wide(*scale),
        (Decimal { scale: left }, Decimal { scale: right }) => Form::Wide(*left.max(right)),
        (Integer | Decimal { .. } | Float | Double, Float | Double)
        | (Float | Double, Integer | Decimal { .. }) => Form::Float,
        (Date | Timestamp | TimestampNtz, Date | Timestamp | TimestampNtz) => Form::Micros,
        (String | Binary, String | Binary) => Form::Bytes,
        _ => return None,
    })
}

/// One literal against another: as the one row of a column that has the first one's type.
pub(super) fn compare_literals(left: &Literal, op: Op, right: &Literal) -> Result<Option<bool>> {
    let family = match left {
        Literal::Null if *right == Literal::Null => {
            return Ok((op == Op::NullSafeEq).then_some(true));
        }
        Literal::Null => return compare_literals(right, op.flipped(), left),
        // a text takes the other's type
        Literal::String(_) if !matches!(right, Literal::String(_) | Literal::Null) => {
            return compare_literals(right, op.flipped(), left);
        }
        Literal::Boolean(_) => Family::Boolean,
        Literal::Integer(_) => Family::Integer,
        Literal::Decimal(value) => Family::Decimal {
            scale: value.scale(),
        },
        Literal::Double(_) => Family::Double,
        Literal::String(_) => Family::String,
        Literal::Binary(_) => Family::Binary,
        Literal::Date(_) => Family::Date,
        Literal::Timestamp(_) | Literal::LocalTimestamp(_) => Family::Timestamp,
        Literal::TimestampNtz(_) => Family::TimestampNtz,
        Literal::List(_) => return Err(list_compared()),
    };
    let values = left.array().ok_or_else(list_compared)?;
    let column = BoundColumn {
        path: vec![left.to_string()],
        data_type: values.data_type().clone(),
        char_length: None,
        collation: None,
    };
    let node = super::with_literal(&(Arc::new(column), family), op, right)?;
    let answer = Evaluator::of_value(&values).answers(&node)?;
    Ok(answer.iter().next().flatten())
}
