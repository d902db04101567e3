//! Expressions with types; implicit casts of Spark are made explicit.

use std::iter;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, NullArray, StringArray, new_empty_array};
use arrow_schema::DataType;
use sqlparser::ast::BinaryOperator;

use super::values::{membership, simple_comparison};
use crate::error::Result;
use crate::expr::evaluate::Evaluator;
use crate::expr::evaluate::functions::{
    Arithmetic, ColumnarValue, Function, agreed_type, agreed_type_of, always_fits, array,
    cast_value, compared, sql_name, type_error, unsupported,
};
use crate::expr::evaluate::like::LikePattern;
use crate::expr::node::Node;
use crate::expr::node::bound_column::BoundColumn;
use crate::expr::value::comparison::Op;
use crate::expr::value::family::Family;
use crate::expr::value::literal::{Literal, list_compared};
use crate::spec::char_length::trim_and_pad;

#[derive(Clone, Debug)]
pub(super) struct Typed {
    pub(super) node: Node,
    pub(super) data_type: DataType,
}

impl Typed {
    /// Creates an expression and folds constants. An error in a constant is raised where it is evaluated.
    fn new(node: Node, data_type: DataType) -> Self {
        let (mut parts, mut constants) = (0_usize, 0_usize);
        node.each_part(&mut |part| {
            parts += 1;
            constants += usize::from(matches!(part, Node::Constant(_)));
        });
        let folded = (parts > 0 && parts == constants)
            .then(|| Evaluator::of_nulls().value(&node).ok())
            .flatten();
        let node = folded.map_or(node, Node::Constant);
        Self { node, data_type }
    }

    pub(super) fn boolean(node: Node) -> Self {
        Self::new(node, DataType::Boolean)
    }

    pub(super) fn constant(value: ArrayRef) -> Self {
        let data_type = value.data_type().clone();
        let node = Node::Constant(value);
        Self { node, data_type }
    }

    pub(super) fn null() -> Self {
        Self::constant(Arc::new(NullArray::new(1)))
    }

    /// Creates a constant; a list is an error.
    pub(super) fn literal(literal: &Literal) -> Result<Self> {
        literal
            .array()
            .map(Self::constant)
            .ok_or_else(list_compared)
    }

    pub(super) fn column(column: Arc<BoundColumn>) -> Self {
        let data_type = column.data_type.clone();
        let node = Node::Column(column);
        Self { node, data_type }
    }

    pub(super) fn cast(self, data_type: &DataType) -> Result<Self> {
        if self.data_type == *data_type {
            return Ok(self);
        }
        cast_value(&self.empty_array(), data_type)?;
        let node = Node::Cast {
            always_fits: always_fits(&self.data_type, data_type),
            value: Box::new(self.node),
            data_type: data_type.clone(),
        };
        Ok(Self::new(node, data_type.clone()))
    }

    pub(super) fn condition(self) -> Result<Node> {
        match self.data_type {
            DataType::Boolean => Ok(self.node),
            DataType::Null => Ok(self.cast(&DataType::Boolean)?.node),
            other => Err(type_error(&format!(
                "a value of the type {} is not a condition",
                sql_name(&other)
            ))),
        }
    }

    pub(super) fn call(function: Function, arguments: Vec<Self>) -> Result<Self> {
        let empty: Vec<_> = arguments.iter().map(Self::empty_array).collect();
        let data_type = function.call(&empty)?.data_type().clone();
        let arguments = arguments
            .into_iter()
            .map(|argument| argument.node)
            .collect();
        Ok(Self::new(Node::Call(function, arguments), data_type))
    }

    /// Builds a comparison: `=`, `<` and so on.
    pub(super) fn compared(op: Op, left: Self, right: Self) -> Result<Self> {
        if let Some(Ok(node)) = simple_comparison(op, &left.node, &right.node) {
            return Ok(Self::boolean(node));
        }
        let (own, other) = (left.characters(), right.characters());
        let (left, right) = (left.padded_for(other)?, right.padded_for(own)?);
        let common = match agreed_type(&left.data_type, &right.data_type)? {
            DataType::Null => DataType::Boolean,
            common => common,
        };
        if common == DataType::Utf8 {
            left.check_collation()?;
            right.check_collation()?;
        }
        let (left, right) = (left.cast(&common)?, right.cast(&common)?);
        compared(op, &left.empty_value(), &right.empty_value())?;
        let (left, right) = (Box::new(left.node), Box::new(right.node));
        Ok(Self::boolean(Node::Compare(op, left, right)))
    }

    /// Builds arithmetic: `+`, `-`, `*`, `/`, `%`, `DIV`.
    pub(super) fn arithmetic(op: &BinaryOperator, left: Self, right: Self) -> Result<Self> {
        for Self { data_type, .. } in [&left, &right] {
            if !data_type.is_numeric() && !matches!(data_type, DataType::Null | DataType::Utf8) {
                return Err(unsupported(&format!(
                    "{op} of values of the type {}",
                    sql_name(data_type)
                )));
            }
        }
        let arithmetic = Arithmetic::of(op)?;
        let has_integer = left.data_type.is_integer() || right.data_type.is_integer();
        let number = |side: Self| match side.data_type {
            DataType::Utf8 if has_integer => side.cast(&DataType::Int64),
            DataType::Utf8 => side.cast(&DataType::Float64),
            DataType::Null => side.cast(&DataType::Int32),
            _ => Ok(side),
        };
        let (left, right) = (number(left)?, number(right)?);
        let common = arithmetic.operand_type(&left.data_type, &right.data_type)?;
        let (left, right) = (left.cast(&common)?, right.cast(&common)?);
        let values = arithmetic.evaluate(&left.empty_value(), &right.empty_value())?;
        let (left, right) = (Box::new(left.node), Box::new(right.node));
        let node = Node::Arithmetic(arithmetic, left, right);
        Ok(Self::new(node, values.data_type().clone()))
    }

    pub(super) fn between(value: Self, low: Self, high: Self) -> Result<Self> {
        value.with(|value| {
            let above = Self::compared(Op::GtEq, value.clone(), low)?;
            let below = Self::compared(Op::LtEq, value, high)?;
            Ok(Self::boolean(Node::And(vec![above.node, below.node])))
        })
    }

    /// Builds `IN`, with all sides in their common type.
    pub(super) fn in_list(value: Self, list: Vec<Self>) -> Result<Self> {
        if let Some(Ok(node)) = value.among_literals(&list) {
            return Ok(Self::boolean(node));
        }
        let parts = iter::once(&value).chain(&list);
        let common = agreed_type_of(parts.map(|part| &part.data_type))?;
        value.cast(&common)?.with(|value| {
            let same = |element| Ok(Self::compared(Op::Eq, value.clone(), element)?.node);
            let list = list.into_iter().map(same).collect::<Result<_>>()?;
            Ok(Self::boolean(Node::Or(list)))
        })
    }

    /// Builds `IN` of a column and constants; `None` for other expressions, and for strings that are cast
    /// row by row.
    fn among_literals(&self, list: &[Self]) -> Option<Result<Node>> {
        let Node::Column(column) = &self.node else {
            return None;
        };
        let literal = |element: &Self| match &element.node {
            Node::Constant(value) => {
                Literal::of(value).filter(|literal| !column.family.casts_for(literal))
            }
            _ => None,
        };
        let list = list.iter().map(literal).collect::<Option<Vec<_>>>()?;
        Some(membership(column, &list))
    }

    pub(super) fn like(text: Self, pattern: LikePattern) -> Result<Self> {
        text.check_collation()?;
        Ok(Self::boolean(Node::Like {
            text: Box::new(text.cast(&DataType::Utf8)?.node),
            pattern: Arc::new(pattern),
        }))
    }

    /// Builds `NULLIF`: null if both are equal, otherwise the first.
    pub(super) fn null_if(value: Self, equal: Self) -> Result<Self> {
        value.with(|value| {
            let same = Self::compared(Op::Eq, value.clone(), equal)?;
            Self::case(vec![same], vec![Self::null(), value])
        })
    }

    pub(super) fn coalesce(parts: Vec<Self>) -> Result<Self> {
        let (parts, data_type) = Self::to_common_type(parts)?;
        Ok(Self::new(Node::Coalesce(parts), data_type))
    }

    /// Builds `array`, whose elements have the common type of the values.
    pub(super) fn array(values: Vec<Self>) -> Result<Self> {
        if values.is_empty() {
            return array(&[]).map(Self::constant);
        }
        let (nodes, data_type) = Self::to_common_type(values)?;
        let element = |node| Self {
            node,
            data_type: data_type.clone(),
        };
        Self::call(
            Function::Variadic(array),
            nodes.into_iter().map(element).collect(),
        )
    }

    /// Builds `CASE` from conditions and their values; the last value is that of `ELSE`.
    pub(super) fn case(conditions: Vec<Self>, values: Vec<Self>) -> Result<Self> {
        let conditions = conditions.into_iter().map(Self::condition);
        let conditions = conditions.collect::<Result<Vec<_>>>()?;
        let (mut values, data_type) = Self::to_common_type(values)?;
        let otherwise = values
            .pop()
            .ok_or_else(|| type_error("CASE has no values"))?;
        let node = Node::Case {
            branches: conditions.into_iter().zip(values).collect(),
            otherwise: Box::new(otherwise),
        };
        Ok(Self::new(node, data_type))
    }

    /// Builds an expression that uses a value several times, but evaluates it once.
    pub(super) fn with(self, build: impl FnOnce(Self) -> Result<Self>) -> Result<Self> {
        static NEXT_NUMBER: AtomicU64 = AtomicU64::new(0);
        if matches!(self.node, Node::Column(_) | Node::Constant(_)) {
            return build(self);
        }
        let number = NEXT_NUMBER.fetch_add(1, Ordering::Relaxed);
        let column = Arc::new(BoundColumn {
            // no column has an empty name
            path: vec![String::new(), number.to_string()],
            data_type: self.data_type.clone(),
            char_length: None,
            collation: self.collated().and_then(|column| column.collation.clone()),
            family: Family::of_arrow(&self.data_type),
        });
        let result = build(Self::column(Arc::clone(&column)))?;
        let node = Node::With {
            value: Box::new(self.node),
            column,
            root: Box::new(result.node),
        };
        Ok(Self::new(node, result.data_type))
    }

    fn to_common_type(parts: Vec<Self>) -> Result<(Vec<Node>, DataType)> {
        let common = agreed_type_of(parts.iter().map(|part| &part.data_type))?;
        let nodes = parts
            .into_iter()
            .map(|part| Ok(part.cast(&common)?.node))
            .collect::<Result<_>>()?;
        Ok((nodes, common))
    }

    /// Refuses a comparison of strings that come from a column with a collation.
    pub(super) fn check_collation(&self) -> Result<()> {
        self.collated()
            .map_or(Ok(()), |column| column.check_collation())
    }

    fn collated(&self) -> Option<Arc<BoundColumn>> {
        if self.data_type != DataType::Utf8 {
            return None;
        }
        let mut collated = None;
        self.node.each_column(&mut |column| {
            if column.collation.is_some() {
                collated = Some(Arc::clone(column));
            }
        });
        collated
    }

    /// Returns the length of a column of `char(n)`.
    fn characters(&self) -> Option<usize> {
        match &self.node {
            Node::Column(column) => column.char_length,
            _ => None,
        }
    }

    /// Pads a string literal or a `char(n)` column with spaces, for a comparison with a `char(n)` column of
    /// `characters`; the longer length counts.
    fn padded_for(self, characters: Option<usize>) -> Result<Self> {
        let can_be_padded = matches!(self.node, Node::Constant(_)) || self.characters().is_some();
        let Some(characters) = characters.max(self.characters()) else {
            return Ok(self);
        };
        if !can_be_padded || self.data_type != DataType::Utf8 {
            return Ok(self);
        }
        let function = Function::from_closure(move |values| {
            let strings = values.as_string::<i32>().iter();
            let strings = strings.map(|text| text.map(|text| trim_and_pad(text, characters)));
            Ok(Arc::new(strings.collect::<StringArray>()))
        });
        Self::call(function, vec![self])
    }

    fn empty_array(&self) -> ArrayRef {
        new_empty_array(&self.data_type)
    }

    fn empty_value(&self) -> ColumnarValue {
        ColumnarValue::Array(self.empty_array())
    }
}
