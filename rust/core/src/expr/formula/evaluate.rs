//! The value of an expression for each row.

use std::sync::Arc;

use arrow_arith::boolean::{is_null, not};
use arrow_arith::numeric::neg;
use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Decimal128Array, Float64Array, Int32Array,
    Int64Array, RecordBatch, StringArray, UInt32Array, new_null_array,
};
use arrow_schema::{DataType, Schema};
use arrow_select::take::take;
use arrow_select::zip::zip;
use sqlparser::ast::{BinaryOperator, CaseWhen, CastKind, Expr, Ident, UnaryOperator, Value};

use super::cast::named_type;
use super::operators::{agreed, compared};
use super::{Context, cast_value, failed, mistyped, unsupported};
use crate::error::{Error, Result};
use crate::expr::floats::all_one_nan;
use crate::expr::like::{DEFAULT_ESCAPE, Matcher};
use crate::expr::quoted;
use crate::expr::{Decimal, nested};
use crate::spec::arrow::place;
use crate::spec::char_length::filled_up;
use crate::spec::json::clipped;

/// Evaluates formulas over the rows of a batch.
pub(super) struct FormulaEvaluator<'a> {
    pub(super) batch: &'a RecordBatch,
    pub(super) context: &'a Context,
}

impl<'a> FormulaEvaluator<'a> {
    pub(super) fn new(batch: &'a RecordBatch, context: &'a Context) -> Self {
        Self { batch, context }
    }

    pub(super) fn schema(&self) -> &Schema {
        self.batch.schema_ref()
    }

    /// One value for each row. Recurses as deep as the parser does.
    pub(super) fn value(&self, expr: &Expr) -> Result<ArrayRef> {
        match expr {
            Expr::Nested(inner) => self.value(inner),
            Expr::Identifier(name) => self.column(std::slice::from_ref(name)),
            Expr::CompoundIdentifier(names) => self.column(names),
            Expr::Value(value) => match &value.value {
                Value::HexStringLiteral(digits) if !quoted::is_number(value, digits) => {
                    let bytes = quoted::bytes(digits)
                        .ok_or_else(|| mistyped("bytes are pairs of hexadecimal digits"))?;
                    self.repeated(&(Arc::new(BinaryArray::from_vec(vec![&bytes])) as ArrayRef))
                }
                plain => self.literal(plain),
            },
            Expr::TypedString(typed) => {
                let name = typed.data_type.to_string();
                let wanted = named_type(&name).ok_or_else(|| unsupported(&name))?;
                let text = self.literal(&typed.value.value)?;
                cast_value(&text, &wanted)
            }
            Expr::UnaryOp { op, expr } => self.unary(*op, expr),
            Expr::BinaryOp { left, op, right } => self.binary(left, op, right),
            Expr::IsNull(inner) => self.nulls(inner, false),
            Expr::IsNotNull(inner) => self.nulls(inner, true),
            Expr::IsTrue(inner) => self.is(inner, true, false),
            Expr::IsNotTrue(inner) => self.is(inner, true, true),
            Expr::IsFalse(inner) => self.is(inner, false, false),
            Expr::IsNotFalse(inner) => self.is(inner, false, true),
            Expr::IsDistinctFrom(left, right) => {
                let same = self.binary(left, &BinaryOperator::Spaceship, right)?;
                Ok(Arc::new(not(&answers(&same)?).map_err(failed)?))
            }
            Expr::IsNotDistinctFrom(left, right) => {
                self.binary(left, &BinaryOperator::Spaceship, right)
            }
            Expr::Between {
                expr,
                negated,
                low,
                high,
            } => self.between(expr, low, high, *negated),
            Expr::InList {
                expr,
                list,
                negated,
            } => self.in_list(expr, list, *negated),
            Expr::Like {
                negated,
                any: false,
                expr,
                pattern,
                escape_char,
            } => self.like(expr, pattern, escape_char.as_deref(), *negated, false),
            Expr::ILike {
                negated,
                any: false,
                expr,
                pattern,
                escape_char,
            } => self.like(expr, pattern, escape_char.as_deref(), *negated, true),
            Expr::RLike {
                negated,
                expr,
                pattern,
                ..
            } => either(self.matched(expr, pattern)?, *negated),
            Expr::Interval(_) => Err(unsupported(
                "an interval that is not added to a date or a timestamp",
            )),
            Expr::Cast {
                kind: CastKind::Cast | CastKind::DoubleColon,
                expr,
                data_type,
                format: None,
            } => {
                let name = data_type.to_string();
                let wanted = named_type(&name)
                    .ok_or_else(|| unsupported(&format!("a cast to {}", clipped(&name))))?;
                cast_value(&self.value(expr)?, &wanted)
            }
            Expr::Case {
                operand,
                conditions,
                else_result,
                ..
            } => self.case(operand.as_deref(), conditions, else_result.as_deref()),
            other => self.call(other),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.batch.num_rows()
    }

    fn column(&self, names: &[Ident]) -> Result<ArrayRef> {
        let unknown = || {
            let names: Vec<&str> = names.iter().map(|name| name.value.as_str()).collect();
            let known: Vec<&str> = self
                .batch
                .schema_ref()
                .fields()
                .iter()
                .take(50)
                .map(|field| field.name().as_str())
                .collect();
            let message = format!(
                "there is no column {}; there are {}",
                clipped(&names.join(".")),
                known.join(", ")
            );
            Error::invalid("formula.column", message)
        };
        let (first, rest) = names.split_first().ok_or_else(unknown)?;
        let fields = self.batch.schema_ref().fields();
        let at = place(fields, &first.value).ok_or_else(unknown)?;
        let column = self.batch.columns().get(at).ok_or_else(unknown)?;
        let mut path = Vec::with_capacity(rest.len());
        let mut kind = column.data_type();
        for name in rest {
            let DataType::Struct(parts) = kind else {
                return Err(unknown());
            };
            let part = place(parts, &name.value).and_then(|at| parts.get(at));
            let part = part.ok_or_else(unknown)?;
            path.push(part.name().clone());
            kind = part.data_type();
        }
        let values = nested(column, &path)?.ok_or_else(unknown)?;
        Ok(match self.char_length(names) {
            Some(letters) => filled_up(&values, letters),
            None => values,
        })
    }

    fn literal(&self, value: &Value) -> Result<ArrayRef> {
        let one: ArrayRef = match value {
            Value::Null => return Ok(new_null_array(&DataType::Null, self.len())),
            Value::Boolean(value) => Arc::new(BooleanArray::from(vec![*value])),
            Value::SingleQuotedString(text) | Value::DoubleQuotedString(text) => {
                Arc::new(StringArray::from(vec![quoted::value(text)]))
            }
            Value::Number(text, long) => number(text, *long)?,
            other => return Err(unsupported(&format!("the literal {other}"))),
        };
        self.repeated(&one)
    }

    /// One value for all rows.
    pub(super) fn repeated(&self, one: &ArrayRef) -> Result<ArrayRef> {
        let zeros = UInt32Array::from(vec![0; self.len()]);
        take(one, &zeros, None).map_err(failed)
    }

    fn unary(&self, op: UnaryOperator, expr: &Expr) -> Result<ArrayRef> {
        // the least whole number is one, though its digits alone are too many
        if let (UnaryOperator::Minus, Expr::Value(value)) = (op, expr)
            && let Value::Number(digits, long) = &value.value
        {
            return self.repeated(&number(&format!("-{digits}"), *long)?);
        }
        let value = self.value(expr)?;
        match op {
            UnaryOperator::Plus => Ok(value),
            UnaryOperator::Minus if value.data_type().is_numeric() => {
                Ok(all_one_nan(&neg(&value).map_err(failed)?))
            }
            UnaryOperator::Not | UnaryOperator::BangNot => {
                Ok(Arc::new(not(&answers(&value)?).map_err(failed)?))
            }
            other => Err(unsupported(&format!("the operator {other} here"))),
        }
    }

    fn nulls(&self, inner: &Expr, negated: bool) -> Result<ArrayRef> {
        let value = self.value(inner)?;
        let missing = match value.logical_nulls() {
            Some(nulls) => BooleanArray::new(!nulls.inner(), None),
            None => BooleanArray::from(vec![false; value.len()]),
        };
        either(missing, negated)
    }

    fn is(&self, inner: &Expr, wanted: bool, negated: bool) -> Result<ArrayRef> {
        let answers = answers(&self.value(inner)?)?;
        let same: BooleanArray = answers
            .iter()
            .map(|answer| Some(answer == Some(wanted)))
            .collect();
        either(same, negated)
    }

    fn like(
        &self,
        expr: &Expr,
        pattern: &Expr,
        escape: Option<&Expr>,
        negated: bool,
        folds: bool,
    ) -> Result<ArrayRef> {
        let fold = |text: String| if folds { text.to_lowercase() } else { text };
        let pattern = text(pattern)
            .map(fold)
            .ok_or_else(|| unsupported("LIKE with a pattern that is no text in quotes"))?;
        let escape = match escape {
            None => DEFAULT_ESCAPE,
            Some(escape) => text(escape)
                .and_then(|text| text.parse().ok())
                .ok_or_else(|| mistyped("ESCAPE takes one letter in quotes"))?,
        };
        let matcher = Matcher::new(&pattern, escape).map_err(mistyped)?;
        let texts = cast_value(&self.value(expr)?, &DataType::Utf8)?;
        let found: BooleanArray = texts
            .as_string::<i32>()
            .iter()
            .map(|text| {
                text.map(|text| match folds {
                    true => matcher.matches(text.to_lowercase().as_bytes()),
                    false => matcher.matches(text.as_bytes()),
                })
            })
            .collect();
        either(found, negated)
    }

    /// `RLIKE`: whether a pattern is found anywhere in the texts.
    pub(super) fn matched(&self, expr: &Expr, pattern: &Expr) -> Result<BooleanArray> {
        let texts = cast_value(&self.value(expr)?, &DataType::Utf8)?;
        if let Expr::Value(value) = pattern
            && value.value == Value::Null
        {
            return Ok(BooleanArray::new_null(texts.len()));
        }
        let pattern = text(pattern)
            .ok_or_else(|| unsupported("RLIKE with a pattern that is no text in quotes"))?;
        let regex = self.context.patterns.regex(&pattern).map_err(|why| {
            unsupported(&format!(
                "the regular expression {}: {why}",
                clipped(&pattern)
            ))
        })?;
        Ok(texts
            .as_string::<i32>()
            .iter()
            .map(|text| text.map(|text| regex.is_match(text)))
            .collect())
    }

    fn case(
        &self,
        operand: Option<&Expr>,
        conditions: &[CaseWhen],
        otherwise: Option<&Expr>,
    ) -> Result<ArrayRef> {
        let operand = operand.map(|operand| self.value(operand)).transpose()?;
        let mut open = BooleanArray::from(vec![true; self.len()]);
        let mut branches = Vec::with_capacity(conditions.len());
        for when in conditions {
            let condition = self.value_on(&open, &when.condition)?;
            let chosen = match &operand {
                Some(operand) => compared(&BinaryOperator::Eq, operand, &condition)?,
                None => answers(&condition)?,
            };
            let both = open.iter().zip(chosen.iter());
            let mine: BooleanArray = both
                .map(|(open, chosen)| Some(open == Some(true) && chosen == Some(true)))
                .collect();
            let left = open.iter().zip(mine.iter());
            open = left
                .map(|(open, mine)| Some(open == Some(true) && mine != Some(true)))
                .collect();
            let value = self.value_on(&mine, &when.result)?;
            branches.push((mine, value));
        }
        let mut result = match otherwise {
            Some(otherwise) => self.value_on(&open, otherwise)?,
            None => new_null_array(&DataType::Null, self.len()),
        };
        for (mine, value) in branches.into_iter().rev() {
            result = chosen_of(&mine, &value, &result)?;
        }
        Ok(result)
    }

    /// `if(condition, yes, no)`.
    pub(super) fn one_of(&self, condition: &Expr, yes: &Expr, no: &Expr) -> Result<ArrayRef> {
        let answers = answers(&self.value(condition)?)?;
        let holds: BooleanArray = answers
            .iter()
            .map(|answer| Some(answer == Some(true)))
            .collect();
        let fails = not(&holds).map_err(failed)?;
        let (yes, no) = (self.value_on(&holds, yes)?, self.value_on(&fails, no)?);
        chosen_of(&holds, &yes, &no)
    }
}

/// A text that is written in the expression.
fn text(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => Some(quoted::value(text)),
            _ => None,
        },
        _ => None,
    }
}

/// The values of the rows that the mask is true of, at their places among all rows: null on the others.
pub(crate) fn spread(values: &dyn Array, mask: &BooleanArray) -> Result<ArrayRef> {
    let mut next = 0;
    let places = mask.iter().map(|one| {
        let place = (one == Some(true)).then_some(next);
        next += u32::from(place.is_some());
        place
    });
    take(values, &places.collect::<UInt32Array>(), None).map_err(failed)
}

/// The first where the answer is true, the other where it is not.
pub(super) fn chosen_of(answers: &BooleanArray, yes: &ArrayRef, no: &ArrayRef) -> Result<ArrayRef> {
    let (yes, no) = agreed(yes, no)?;
    if *yes.data_type() == DataType::Null {
        return Ok(yes);
    }
    let known: BooleanArray = answers
        .iter()
        .map(|answer| Some(answer == Some(true)))
        .collect();
    zip(&known, &yes, &no).map_err(failed)
}

pub(super) fn either(answers: BooleanArray, negated: bool) -> Result<ArrayRef> {
    Ok(if negated {
        Arc::new(not(&answers).map_err(failed)?)
    } else {
        Arc::new(answers)
    })
}

pub(super) fn answers(values: &ArrayRef) -> Result<BooleanArray> {
    match values.data_type() {
        DataType::Null => Ok(BooleanArray::new_null(values.len())),
        _ => values.as_boolean_opt().cloned().ok_or_else(|| {
            mistyped(&format!(
                "a value of the type {} is not a condition",
                values.data_type()
            ))
        }),
    }
}

fn number(text: &str, long: bool) -> Result<ArrayRef> {
    let wrong = || mistyped(&format!("{} is not a number", clipped(text)));
    if text.contains(['e', 'E']) {
        let value: f64 = text.parse().map_err(|_| wrong())?;
        return Ok(Arc::new(Float64Array::from(vec![value])));
    }
    if !text.contains('.') {
        if let Ok(value) = text.parse::<i32>()
            && !long
        {
            return Ok(Arc::new(Int32Array::from(vec![value])));
        }
        if let Ok(value) = text.parse::<i64>() {
            return Ok(Arc::new(Int64Array::from(vec![value])));
        }
    }
    let decimal = Decimal::parse(text).ok_or_else(wrong)?;
    let digits = decimal.unscaled().unsigned_abs().to_string().len();
    let precision = digits.max(usize::from(decimal.scale())).max(1);
    let precision = u8::try_from(precision).map_err(|_| wrong())?;
    let scale = i8::try_from(decimal.scale()).map_err(|_| wrong())?;
    let array = Decimal128Array::from(vec![decimal.unscaled()]);
    let array = array
        .with_precision_and_scale(precision, scale)
        .map_err(failed)?;
    Ok(Arc::new(array))
}

/// Whether each value is null.
pub(super) fn missing(values: &ArrayRef) -> Result<BooleanArray> {
    if *values.data_type() == DataType::Null {
        return Ok(BooleanArray::from(vec![true; values.len()]));
    }
    is_null(values).map_err(failed)
}
