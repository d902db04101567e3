//! Comparisons with columns of `char(n)`, whose texts are filled up with blanks: texts that are written in the
//! expression are, too.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, StringArray};
use arrow_schema::DataType;
use sqlparser::ast::{Expr, Ident};

use super::equalities::{names_no_column, names_of};
use super::evaluate::FormulaEvaluator;
use crate::spec::arrow::place;
use crate::spec::char_length::{char_length, fitted};

impl FormulaEvaluator<'_> {
    /// The length of a column of `char(n)`.
    pub(super) fn char_length(&self, column: &[Ident]) -> Option<usize> {
        let (first, rest) = column.split_first()?;
        let mut fields = self.schema().fields();
        let mut field = fields.get(place(fields, &first.value)?)?;
        for name in rest {
            let DataType::Struct(parts) = field.data_type() else {
                return None;
            };
            fields = parts;
            field = fields.get(place(fields, &name.value)?)?;
        }
        char_length(field)
    }

    /// The values of an expression to compare with those of another one.
    pub(super) fn beside(&self, other: &Expr, expr: &Expr, values: ArrayRef) -> ArrayRef {
        let (own, other) = (names_of(expr), self.char_length(names_of(other)));
        let Some(letters) = other.max(self.char_length(own)) else {
            return values;
        };
        let is_own = self.char_length(own).is_some();
        match values.as_string_opt::<i32>() {
            Some(texts) if is_own || names_no_column(expr) => {
                let texts = texts.iter();
                let texts = texts.map(|text| text.map(|text| fitted(text, letters)));
                Arc::new(texts.collect::<StringArray>())
            }
            _ => values,
        }
    }
}
