//! The columns that the expressions of a merge can refer to.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, StructArray, new_null_array};
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema};

use super::columns_mismatch;
use crate::error::{Error, Result};
use crate::expr::{BoundFormula, Side};
use crate::spec::arrow::field_index;
use crate::spec::json::clipped;
use crate::spec::schema::same_name;
use crate::write::columns::batch;

/// The side whose columns need no alias.
#[derive(Clone, Copy, Debug)]
pub(super) enum VisibleSide {
    /// Both, for columns that only one side has.
    Both,
    Target,
    Source,
}

/// The columns that expressions can refer to: both sides as structs, and columns without alias.
#[derive(Clone, Debug)]
pub(super) struct Scope {
    pub(super) names: [String; 2],
    pub(super) fields: Fields,
    columns: VisibleSide,
    /// Side and index of the columns after the structs, which need no alias.
    unqualified: Vec<(usize, usize)>,
}

impl Scope {
    pub(super) fn new(
        target: (&str, &Fields),
        source: (&str, &Fields),
        columns: VisibleSide,
    ) -> Self {
        let sides = [target, source];
        let side = |(name, fields): &(&str, &Fields)| -> FieldRef {
            Arc::new(Field::new(*name, DataType::Struct((*fields).clone()), true))
        };
        let mut all: Vec<FieldRef> = sides.iter().map(side).collect();
        let mut unqualified = Vec::new();
        for (number, (_, fields)) in sides.iter().enumerate() {
            let other = if number == 0 { source } else { target };
            let taken = |name: &str| {
                let same = |candidate: &str| same_name(candidate, name);
                let by_other = match (columns, number) {
                    (VisibleSide::Both, _) => other.1.iter().any(|field| same(field.name())),
                    (VisibleSide::Target, 0) | (VisibleSide::Source, 1) => false,
                    _ => true,
                };
                by_other || same(target.0) || same(source.0)
            };
            for (index, field) in fields.iter().enumerate() {
                if !taken(field.name()) {
                    unqualified.push((number, index));
                    all.push(Arc::new(Field::clone(field).with_nullable(true)));
                }
            }
        }
        Self {
            names: [target.0.to_owned(), source.0.to_owned()],
            fields: Fields::from(all),
            columns,
            unqualified,
        }
    }

    /// Returns the columns of the table, 0, or of the source, 1.
    pub(super) fn side_fields(&self, side: usize) -> Fields {
        match self.fields.get(side).map(|field| field.data_type()) {
            Some(DataType::Struct(parts)) => parts.clone(),
            _ => Fields::empty(),
        }
    }

    /// Returns the side of a name, and whether the name is the alias of that side.
    pub(super) fn side_of(&self, name: &str) -> Option<(Side, bool)> {
        let index = field_index(&self.fields, name)?;
        let (side, is_alias) = match index.checked_sub(self.names.len()) {
            None => (index, true),
            Some(unqualified) => (self.unqualified.get(unqualified)?.0, false),
        };
        let side = [Side::Target, Side::Source].into_iter().nth(side)?;
        Some((side, is_alias))
    }

    /// Checks that an expression uses no column of the side of which a clause has no row.
    ///
    /// # Errors
    ///
    /// Invalid argument: `formula.column`.
    pub(super) fn check_side(&self, formula: &BoundFormula) -> Result<()> {
        let (absent, rows) = match self.columns {
            VisibleSide::Both => return Ok(()),
            VisibleSide::Target => (Side::Source, "WHEN NOT MATCHED BY SOURCE has no source row"),
            VisibleSide::Source => (Side::Target, "WHEN NOT MATCHED has no target row"),
        };
        let mut refused = None;
        formula.each_column(&mut |path| {
            let side = path.first().and_then(|first| self.side_of(first));
            if side.is_some_and(|(side, _)| side == absent) {
                refused = Some(path.join("."));
            }
        });
        refused.map_or(Ok(()), |column| {
            let message = format!("{} cannot be used here: {rows}", clipped(&column));
            Err(Error::invalid("formula.column", message))
        })
    }

    /// Returns the indexes of the table's columns that an expression uses.
    pub(super) fn target_columns(&self, formula: &BoundFormula) -> BTreeSet<usize> {
        let target = self.side_fields(0);
        let mut columns = BTreeSet::new();
        formula.each_column(&mut |path| {
            let side = path.first().and_then(|first| self.side_of(first));
            let Some((Side::Target, is_alias)) = side else {
                return;
            };
            match path.get(usize::from(is_alias)) {
                Some(name) => columns.extend(field_index(&target, name)),
                None => columns.extend(0..target.len()),
            }
        });
        columns
    }

    /// Returns the scope restricted to columns with these names, and the positions of its columns on both
    /// sides.
    pub(super) fn narrowed(&self, words: &BTreeSet<String>) -> (Self, [Vec<usize>; 2]) {
        let [target, source] = [0, 1].map(|side| self.side_fields(side));
        let named = |fields: &Fields| -> Vec<usize> {
            let is_named =
                |(_, field): &(usize, &FieldRef)| words.contains(&field.name().to_lowercase());
            let fields = fields.iter().enumerate();
            fields.filter(is_named).map(|(index, _)| index).collect()
        };
        let (target_columns, source_columns) = (named(&target), named(&source));
        let projected = |fields: &Fields, indexes: &[usize]| -> Fields {
            let field = |index: &usize| fields.get(*index).cloned();
            indexes.iter().filter_map(field).collect()
        };
        let [target_name, source_name] = &self.names;
        let scope = Self::new(
            (target_name, &projected(&target, &target_columns)),
            (source_name, &projected(&source, &source_columns)),
            VisibleSide::Both,
        );
        (scope, [target_columns, source_columns])
    }

    /// Returns the columns of the scope for pairs of rows: equally many rows of both sides.
    pub(super) fn batch(&self, target: &RecordBatch, source: &RecordBatch) -> Result<RecordBatch> {
        let sides = [target, source];
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(self.fields.len());
        for (side, field) in sides.iter().zip(&self.fields) {
            let DataType::Struct(parts) = field.data_type() else {
                continue;
            };
            let values = side.columns().to_vec();
            let structure =
                StructArray::try_new_with_length(parts.clone(), values, None, side.num_rows());
            columns.push(Arc::new(structure.map_err(columns_mismatch)?));
        }
        for (side, index) in &self.unqualified {
            let column = sides.get(*side).and_then(|side| side.columns().get(*index));
            columns.extend(column.cloned());
        }
        RecordBatch::try_new(Arc::new(Schema::new(self.fields.clone())), columns)
            .map_err(columns_mismatch)
    }
}

pub(super) fn empty_batch(fields: Fields) -> RecordBatch {
    RecordBatch::new_empty(Arc::new(Schema::new(fields)))
}

/// Returns a batch of nulls with the columns of another batch.
pub(super) fn null_rows(like: &RecordBatch, rows: usize) -> Result<RecordBatch> {
    let columns = like.columns().iter();
    let columns = columns.map(|column| new_null_array(column.data_type(), rows));
    batch(&like.schema(), columns.collect(), rows)
}
