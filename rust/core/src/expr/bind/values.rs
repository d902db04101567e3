//! Converts literals to values of a column's type, or to a position between such values.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BinaryArray, Decimal128Array, Int64Array, Scalar};
use arrow_schema::DataType as ArrowType;

use crate::error::{Error, Result};
use crate::expr::evaluate::Evaluator;
use crate::expr::evaluate::in_list::{InList, Values};
use crate::expr::node::Node;
use crate::expr::node::bound_column::BoundColumn;
use crate::expr::value::canonical_order::Form;
use crate::expr::value::casts;
use crate::expr::value::comparison::{BaseOp, Op};
use crate::expr::value::family::Family;
use crate::expr::value::floats::key;
use crate::expr::value::literal::{Decimal, Literal, list_compared, power_of_ten};
use crate::spec::char_length::trim_and_pad;
use crate::spec::interval::MICROS_PER_DAY;

/// A value in one of the comparison forms.
enum Value {
    Integer(i64),
    Decimal(i128),
    Bytes(Vec<u8>),
}

impl Value {
    /// Returns the value as a scalar for kernels, for a column of this type.
    fn scalar(self, data_type: &ArrowType) -> Scalar<ArrayRef> {
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

/// Builds the list of an `IN` from values of one form.
fn in_list(values: Vec<Value>) -> InList {
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

/// The position of a literal relative to the possible values of a column.
enum LiteralPosition {
    Null,
    At(Form, Value),
    /// Greater than this value, less than the next one.
    After(Form, Value),
    /// Less than all values.
    Below,
    /// Greater than all values.
    Above,
}

fn position(column: &BoundColumn, literal: &Literal) -> Result<LiteralPosition> {
    let family = &column.family;
    if let Family::Other(name) = family {
        let message = format!(
            "the column {} has the type {name}, whose values cannot be compared: use IS NULL, or one of its \
             fields",
            column.path.join(".")
        );
        return Err(Error::invalid("filter.type", message));
    }
    if *literal == Literal::Null || *family == Family::Void {
        return Ok(LiteralPosition::Null);
    }
    let padded = match (literal, column.char_length) {
        (Literal::String(text), Some(characters)) => {
            Some(Literal::String(trim_and_pad(text, characters).into_owned()))
        }
        _ => None,
    };
    try_position(family, padded.as_ref().unwrap_or(literal)).ok_or_else(|| {
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
    let bytes = |value: &[u8]| {
        let value = Value::Bytes(value.to_vec());
        Some(LiteralPosition::At(Form::Bytes, value))
    };
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
        (Family::String | Family::Binary, Literal::String(text)) => bytes(text.as_bytes()),
        (Family::String | Family::Binary, Literal::Binary(value)) => bytes(value),
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

fn among_decimals((value, scale): (i128, u8), column_scale: u8) -> LiteralPosition {
    if scale <= column_scale {
        return match value.checked_mul(power_of_ten(column_scale - scale)) {
            Some(value) => LiteralPosition::At(Form::Decimal, Value::Decimal(value)),
            None if value < 0 => LiteralPosition::Below,
            None => LiteralPosition::Above,
        };
    }
    let unit = power_of_ten(scale - column_scale);
    let floor = Value::Decimal(value.div_euclid(unit));
    if value.rem_euclid(unit) == 0 {
        LiteralPosition::At(Form::Decimal, floor)
    } else {
        LiteralPosition::After(Form::Decimal, floor)
    }
}

/// Returns `true` if strings are compared with another type: they are cast to it row by row.
fn casts_strings(left: &Family, right: &Family) -> bool {
    let is_target = |family: &Family| {
        !matches!(
            family,
            Family::String | Family::Binary | Family::Void | Family::Other(_)
        )
    };
    (*left == Family::String && is_target(right)) || (is_target(left) && *right == Family::String)
}

/// Returns the form in which columns of two families are compared; `None` if they cannot be.
fn common_form(left: &Family, right: &Family) -> Option<Form> {
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

/// Compares two literals, one of them as the value of a column of its type.
fn compare_literals(left: &Literal, op: Op, right: &Literal) -> Result<Option<bool>> {
    let family = match left {
        Literal::Null if *right == Literal::Null => {
            return Ok((op == Op::NullSafeEq).then_some(true));
        }
        Literal::Null => return compare_literals(right, op.flipped(), left),
        // a string is cast to the other's type
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
        family,
    };
    let node = comparison(&Arc::new(column), op, right)?;
    let result = Evaluator::of_value(&values).condition(&node)?;
    Ok(result.iter().next().flatten())
}

/// Builds a comparison that bounds can decide: of a column with a constant, of two columns, or of two
/// constants. `None` for other expressions, and for strings that are cast row by row.
pub(super) fn simple_comparison(op: Op, left: &Node, right: &Node) -> Option<Result<Node>> {
    match (left, right) {
        (Node::Constant(left), Node::Constant(right)) => {
            let (left, right) = (Literal::of(left)?, Literal::of(right)?);
            Some(compare_literals(&left, op, &right).map(Node::boolean))
        }
        (column, Node::Constant(value)) => compare_constant(column, op, value),
        (Node::Constant(value), column) => compare_constant(column, op.flipped(), value),
        (Node::Column(left), Node::Column(right)) => {
            let lengths = left.char_length.zip(right.char_length);
            let unequal = lengths.is_some_and(|(left, right)| left != right);
            let cast = unequal || casts_strings(&left.family, &right.family);
            (!cast).then(|| compare_columns(left, op, right))
        }
        _ => None,
    }
}

fn compare_constant(column: &Node, op: Op, value: &ArrayRef) -> Option<Result<Node>> {
    let column = match column {
        Node::Column(column) => column,
        // a date is compared as its midnight, a local timestamp as one in UTC
        Node::Cast {
            value,
            data_type: ArrowType::Timestamp(..),
            ..
        } => match value.as_ref() {
            Node::Column(column) if column.data_type.is_temporal() => column,
            _ => return None,
        },
        _ => return None,
    };
    let literal = Literal::of(value)?;
    (!column.family.casts_for(&literal)).then(|| comparison(column, op, &literal))
}

/// Builds `IN` of a column and literals.
pub(super) fn membership(column: &Arc<BoundColumn>, list: &[Literal]) -> Result<Node> {
    column.check_collation()?;
    if column.family == Family::Void {
        return Ok(Node::boolean(list.is_empty().then_some(false)));
    }
    let mut or_null = false;
    let mut forms: Vec<(Form, Vec<Value>)> = Vec::new();
    for literal in list {
        match position(column, literal)? {
            LiteralPosition::Null => or_null = true,
            LiteralPosition::At(form, value) => {
                match forms.iter_mut().find(|(known, _)| *known == form) {
                    Some((_, values)) => values.push(value),
                    None => forms.push((form, vec![value])),
                }
            }
            LiteralPosition::After(..) | LiteralPosition::Below | LiteralPosition::Above => {}
        }
    }
    if forms.is_empty() {
        return Ok(match (list.is_empty(), or_null) {
            (true, _) => Node::boolean(Some(false)),
            (false, true) => Node::boolean(None),
            (false, false) => if_not_null(column, false),
        });
    }
    let node = |(form, values)| Node::In {
        column: Arc::clone(column),
        form,
        list: Arc::new(in_list(values)),
        or_null,
    };
    // floating-point numbers in a list with exact ones are compared separately
    let nodes = forms.into_iter().map(node).collect::<Vec<_>>();
    Ok(match <[Node; 1]>::try_from(nodes) {
        Ok([only]) => only,
        Err(nodes) => Node::Or(nodes),
    })
}

fn is_null(column: &Arc<BoundColumn>) -> Node {
    Node::IsNull(Box::new(Node::Column(Arc::clone(column))))
}

/// Builds a condition with this result for rows where the column is not null, and null for others.
fn if_not_null(column: &Arc<BoundColumn>, result: bool) -> Node {
    let (is_null, null) = (is_null(column), Node::boolean(None));
    if result {
        Node::Or(vec![is_null.negated(), null])
    } else {
        Node::And(vec![is_null, null])
    }
}

fn comparison(column: &Arc<BoundColumn>, op: Op, literal: &Literal) -> Result<Node> {
    column.check_collation()?;
    let position = position(column, literal)?;
    Ok(match (op, &position) {
        (Op::NullSafeEq, _) if *literal == Literal::Null => is_null(column),
        (Op::NullSafeEq, LiteralPosition::Null) => Node::boolean(Some(false)),
        (Op::NullSafeEq, _) => {
            Node::IsTrue(Box::new(base_comparison(column, BaseOp::Eq, position)))
        }
        (Op::NotEq, _) => base_comparison(column, BaseOp::Eq, position).negated(),
        _ => base_comparison(column, op.base(), position),
    })
}

fn base_comparison(column: &Arc<BoundColumn>, op: BaseOp, position: LiteralPosition) -> Node {
    let column = Arc::clone(column);
    let (form, op, value) = match (position, op) {
        (LiteralPosition::Null, _) => return Node::boolean(None),
        (LiteralPosition::Below, op) => {
            return if_not_null(&column, matches!(op, BaseOp::Gt | BaseOp::GtEq));
        }
        (LiteralPosition::Above, op) => {
            return if_not_null(&column, matches!(op, BaseOp::Lt | BaseOp::LtEq));
        }
        (LiteralPosition::At(form, value), op) => (form, op, value),
        // between two neighbours: "not greater than the lower one" is "less than the literal"
        (LiteralPosition::After(form, value), BaseOp::Lt | BaseOp::LtEq) => {
            (form, BaseOp::LtEq, value)
        }
        (LiteralPosition::After(form, value), BaseOp::Gt | BaseOp::GtEq) => {
            (form, BaseOp::Gt, value)
        }
        (LiteralPosition::After(..), BaseOp::Eq) => return if_not_null(&column, false),
    };
    let value = value.scalar(&column.data_type);
    Node::CompareConstant {
        column,
        form,
        op,
        value,
    }
}

fn compare_columns(left: &Arc<BoundColumn>, op: Op, right: &Arc<BoundColumn>) -> Result<Node> {
    left.check_collation()?;
    right.check_collation()?;
    let comparison = if left.family == Family::Void || right.family == Family::Void {
        Node::boolean(None)
    } else if let Some(form) = common_form(&left.family, &right.family) {
        Node::CompareColumns {
            left: Arc::clone(left),
            right: Arc::clone(right),
            form,
            op: op.base(),
        }
    } else {
        let message = format!(
            "the columns {} ({}) and {} ({}) cannot be compared",
            left.path.join("."),
            left.family,
            right.path.join("."),
            right.family
        );
        return Err(Error::invalid("filter.type", message));
    };
    Ok(match op {
        Op::NotEq => comparison.negated(),
        Op::NullSafeEq => Node::Or(vec![
            Node::IsTrue(Box::new(comparison)),
            Node::And(vec![is_null(left), is_null(right)]),
        ]),
        _ => comparison,
    })
}
