//! Comparisons with columns of `char(n)`, whose texts are filled up with blanks: texts that are written in the
//! expression are, too.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, BooleanArray, StringArray};
use sqlparser::ast::{BinaryOperator, Expr};

use super::equalities::{names_no_column, names_of};
use super::evaluate::{Rows, place};
use super::operators::compared;
use crate::error::Result;
use crate::spec::char_length::{char_length, fitted};

impl Rows<'_> {
    /// `left op right`
    pub(super) fn comparison(
        &self,
        left: &Expr,
        op: &BinaryOperator,
        right: &Expr,
    ) -> Result<BooleanArray> {
        let (of_left, of_right) = (self.char_length(left), self.char_length(right));
        let longest = of_left.max(of_right);
        compared(
            op,
            &self.fitted(left, longest)?,
            &self.fitted(right, longest)?,
        )
    }

    /// The length of a column of `char(n)`, where the expression is one.
    pub(super) fn char_length(&self, expr: &Expr) -> Option<usize> {
        let (first, rest) = names_of(expr).split_first()?;
        let mut fields = self.schema().fields();
        let mut field = fields.get(place(fields, &first.value)?)?;
        for name in rest {
            let arrow_schema::DataType::Struct(parts) = field.data_type() else {
                return None;
            };
            fields = parts;
            field = fields.get(place(fields, &name.value)?)?;
        }
        char_length(field)
    }

    /// The values of an expression to compare with texts of so many letters.
    pub(super) fn fitted(&self, expr: &Expr, letters: Option<usize>) -> Result<ArrayRef> {
        let values = self.value(expr)?;
        let Some(letters) = letters else {
            return Ok(values);
        };
        if self.char_length(expr).is_none() && !names_no_column(expr) {
            return Ok(values);
        }
        let Some(texts) = values.as_string_opt::<i32>() else {
            return Ok(values);
        };
        let texts = texts
            .iter()
            .map(|text| text.map(|text| fitted(text, letters)));
        Ok(Arc::new(texts.collect::<StringArray>()))
    }
}
