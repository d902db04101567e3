//! UPDATE: sets new values in some columns of rows.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, BooleanArray, RecordBatch, StructArray, UInt32Array, make_array,
};
use arrow_buffer::NullBuffer;
use arrow_schema::{ArrowError, DataType as ArrowType, Fields, SchemaRef};
use serde_json::json;

use super::change::Changer;
use super::row_plan::{RowPlan, RowPlanner};
use super::write::{
    no_changes, predicate_parameter, row_metrics, set_times, set_txn, write_options,
};
use crate::error::{Error, Result};
use crate::expr::{BoundFormula, Formula, Predicate, closest_columns};
use crate::spec::arrow::field_index;
use crate::spec::column_path::{column_path_text, named_path};
use crate::spec::json::clipped;
use crate::spec::schema::{DataType, StructField, StructType};
use crate::spec::{Metadata, Protocol};
use crate::table::{At, RowsOptions, RowsWritten, Table};
use crate::transaction::metric_strings;
use crate::write::coerce::{check, coerce, null_inside};
use crate::write::columns::{columns_mismatch, nullable};
use crate::write::{InputConverter, WrittenFiles};

/// Columns or fields of structs, each with the expression of its new value.
pub type Assignments = [(String, String)];

/// An assignment: the indexes on the path to the field, and its dotted name.
#[derive(Debug)]
struct Assignment {
    indexes: Vec<usize>,
    name: String,
    data_type: DataType,
    formula: BoundFormula,
}

/// Sets columns of rows.
#[derive(Debug)]
pub(super) struct Setter {
    schema: StructType,
    values: Vec<Assignment>,
    /// True if fields that a struct value lacks stay unchanged.
    partial: bool,
    converter: InputConverter,
    /// The columns that the converter takes: the table's without the generated ones that are not set.
    input_schema: SchemaRef,
}

impl Setter {
    /// Creates a setter; `scope`: the columns that expressions can use; `partial`: fields that a struct value
    /// lacks stay unchanged.
    pub(crate) fn new(
        metadata: &Metadata,
        protocol: &Protocol,
        set: &Assignments,
        scope: &Fields,
        partial: bool,
    ) -> Result<Self> {
        let schema = StructType::parse(&metadata.schema_string)?;
        let mut values: Vec<Assignment> = Vec::with_capacity(set.len());
        let mut names: Vec<String> = Vec::with_capacity(set.len());
        for (name, text) in set {
            let (indexes, fields) = field_path(&schema, name)?;
            let (Some(first), Some(field)) = (fields.first(), fields.last()) else {
                continue;
            };
            let overlaps = |earlier: &Assignment| {
                earlier.indexes.starts_with(&indexes) || indexes.starts_with(&earlier.indexes)
            };
            if values.iter().any(overlaps) {
                let message = format!("the column {} is set twice", clipped(name));
                return Err(Error::invalid("rows.column", message));
            }
            let path: Vec<String> = fields.iter().map(|field| field.name.clone()).collect();
            let name = column_path_text(&path);
            let parsed = Formula::parse(text)?;
            let formula = parsed.bind(scope)?;
            let check = if partial { check_partial } else { check };
            check(formula.data_type(), &field.data_type, &name)?;
            // a constant that does not fit is reported before any row is read
            if let Ok(constant) = parsed.bind(&Fields::empty()) {
                coerce(&constant.constant_value()?, &field.data_type, &name)?;
            }
            names.push(first.name.clone());
            values.push(Assignment {
                indexes,
                name,
                data_type: field.data_type.clone(),
                formula,
            });
        }
        let (converter, input_schema) = InputConverter::for_update(metadata, protocol, &names)?;
        Ok(Self {
            schema,
            values,
            partial,
            converter,
            input_schema,
        })
    }

    /// Returns the formulas of the values.
    pub(super) fn formulas(&self) -> impl Iterator<Item = &BoundFormula> {
        self.values.iter().map(|assignment| &assignment.formula)
    }

    /// Returns the indexes of the columns whose old values are needed, at least in part.
    pub(crate) fn kept(&self) -> impl Iterator<Item = usize> {
        let is_replaced = |index: usize, data_type: &DataType| {
            let is_overlaid = self.partial && matches!(data_type, DataType::Struct(_));
            let mut values = self.values.iter();
            !is_overlaid && values.any(|assignment| assignment.indexes == [index])
        };
        let fields = self.schema.fields().iter().enumerate();
        let kept = fields.filter(move |(index, field)| {
            self.input_schema.index_of(&field.name).is_ok()
                && !is_replaced(*index, &field.data_type)
        });
        kept.map(|(index, _)| index)
    }

    /// Returns the rows with their new values; `scope` has the columns of expressions for the same rows.
    pub(crate) fn set(&mut self, rows: &RecordBatch, scope: &RecordBatch) -> Result<RecordBatch> {
        let mut columns = rows.columns().to_vec();
        for assignment in &self.values {
            let value = assignment.formula.evaluate(scope)?;
            if let Some((index, nested)) = assignment.indexes.split_first()
                && let Some(column) = columns.get_mut(*index)
            {
                *column = if self.partial {
                    overlaid(column, &value, &assignment.data_type, &assignment.name)?
                } else {
                    let value = coerce(&value, &assignment.data_type, &assignment.name)?;
                    with_part(column, nested, value, &assignment.name)?
                };
            }
        }
        let input: Vec<ArrayRef> = self
            .schema
            .fields()
            .iter()
            .zip(columns)
            .filter(|(field, _)| self.input_schema.index_of(&field.name).is_ok())
            .map(|(_, column)| column)
            .collect();
        let input = RecordBatch::try_new(Arc::clone(&self.input_schema), input);
        self.converter.convert(&input.map_err(columns_mismatch)?)
    }
}

/// Returns the indexes on the path to a column, or to a field of a struct, and the fields along it.
fn field_path<'a>(
    schema: &'a StructType,
    name: &str,
) -> Result<(Vec<usize>, Vec<&'a StructField>)> {
    let refused = |message: String| Err(Error::invalid("rows.column", message));
    let (mut indexes, mut fields_of_path): (Vec<usize>, Vec<&StructField>) =
        (Vec::new(), Vec::new());
    for step in named_path(schema, name) {
        let fields = match fields_of_path.last().map(|field| &field.data_type) {
            None => schema,
            Some(DataType::Struct(fields)) => fields,
            Some(_) => {
                return refused(format!(
                    "{} cannot be set: only columns and fields of structs can",
                    clipped(name)
                ));
            }
        };
        let Some(field) = fields.field(&step) else {
            let suggestion = closest_columns(name, schema);
            return refused(format!(
                "the table has no column {}: {suggestion}",
                clipped(name)
            ));
        };
        let mut candidates = fields.fields().iter();
        indexes.extend(candidates.position(|candidate| candidate.name == field.name));
        fields_of_path.push(field);
    }
    Ok((indexes, fields_of_path))
}

/// Replaces a part of a column's values, at these indexes. As in delta-spark, a null struct becomes one
/// whose other fields are null.
fn with_part(values: &ArrayRef, indexes: &[usize], part: ArrayRef, name: &str) -> Result<ArrayRef> {
    let Some((index, nested)) = indexes.split_first() else {
        return Ok(part);
    };
    let Some(structure) = values.as_struct_opt() else {
        return Err(columns_mismatch(ArrowError::CastError(format!(
            "{name} is not a struct"
        ))));
    };
    let mut columns = masked(structure)?;
    if let Some(column) = columns.get_mut(*index) {
        *column = with_part(column, nested, part, name)?;
    }
    let array = StructArray::try_new(structure.fields().clone(), columns, None);
    Ok(Arc::new(array.map_err(|_| null_inside(name))?))
}

/// Returns the fields of a struct, null where the struct is.
fn masked(structure: &StructArray) -> Result<Vec<ArrayRef>> {
    let masked = |column: &ArrayRef| {
        let nulls = NullBuffer::union(column.nulls(), structure.nulls());
        let column_data = column.to_data().into_builder().nulls(nulls).build();
        column_data.map(make_array).map_err(columns_mismatch)
    };
    structure.columns().iter().map(masked).collect()
}

/// Returns `true` if a struct has all fields of another, recursively.
fn covers(source: &Fields, target: &StructType) -> bool {
    target.fields().iter().all(|part| {
        let field = field_index(source, &part.name).and_then(|index| source.get(index));
        match (field.map(|field| field.data_type()), &part.data_type) {
            (None, _) => false,
            (Some(ArrowType::Struct(source)), DataType::Struct(target)) => covers(source, target),
            _ => true,
        }
    })
}

/// Checks a value as [`check`] does, except that its structs may lack fields.
fn check_partial(source: &ArrowType, target: &DataType, name: &str) -> Result<()> {
    let (ArrowType::Struct(source_parts), DataType::Struct(parts)) = (source, target) else {
        return check(source, target, name);
    };
    if covers(source_parts, parts) {
        return check(source, target, name);
    }
    for part in parts.fields() {
        let field = field_index(source_parts, &part.name).and_then(|index| source_parts.get(index));
        if let Some(field) = field {
            let nested = format!("{name}.{}", part.name);
            check_partial(field.data_type(), &part.data_type, &nested)?;
        }
    }
    Ok(())
}

/// Sets new values of a column. As in delta-spark, fields that the new values lack are kept, and a struct is
/// null if both the old and the new one are.
fn overlaid(old: &ArrayRef, new: &ArrayRef, target: &DataType, name: &str) -> Result<ArrayRef> {
    let (DataType::Struct(parts), Some(before), Some(after)) =
        (target, old.as_struct_opt(), new.as_struct_opt())
    else {
        return coerce(new, target, name);
    };
    if covers(after.fields(), parts) {
        return coerce(new, target, name);
    }
    let (mut columns, others) = (masked(before)?, masked(after)?);
    for (column, part) in columns.iter_mut().zip(parts.fields()) {
        let other = field_index(after.fields(), &part.name).and_then(|index| others.get(index));
        if let Some(other) = other {
            let nested = format!("{name}.{}", part.name);
            *column = overlaid(column, other, &part.data_type, &nested)?;
        }
    }
    let valid = |row: usize| before.is_valid(row) || after.is_valid(row);
    let nulls: NullBuffer = (0..before.len()).map(valid).collect::<Vec<_>>().into();
    let array = StructArray::try_new(before.fields().clone(), columns, Some(nulls));
    Ok(Arc::new(array.map_err(|_| null_inside(name))?))
}

/// Sets columns in all rows.
#[derive(Debug)]
pub(super) struct UpdatePlanner {
    setter: Setter,
}

impl UpdatePlanner {
    /// Creates a planner of these assignments, whose expressions refer to the table's columns.
    ///
    /// # Errors
    ///
    /// Invalid argument: `rows.column`, `rows.type`, `rows.missing` for a required field of a struct,
    /// `rows.value` for a constant that does not fit, `rows.identity`, those of formulas. Unsupported:
    /// `rows.expression`, `rows.unsupported`.
    pub(super) fn new(metadata: &Metadata, protocol: &Protocol, set: &Assignments) -> Result<Self> {
        let schema = StructType::parse(&metadata.schema_string)?;
        let scope = nullable(&schema);
        Ok(Self {
            setter: Setter::new(metadata, protocol, set, scope.fields(), false)?,
        })
    }
}

impl RowPlanner for UpdatePlanner {
    fn columns(&self) -> Option<Vec<String>> {
        let fields = self.setter.schema.fields().iter();
        Some(fields.map(|field| field.name.clone()).collect())
    }

    fn may_repeat(&self) -> bool {
        true
    }

    fn plan(&mut self, rows: &RecordBatch) -> Result<RowPlan> {
        let count = u32::try_from(rows.num_rows()).unwrap_or(u32::MAX);
        Ok(RowPlan {
            removed: BooleanArray::from(vec![true; rows.num_rows()]),
            updated: Some((
                UInt32Array::from_iter_values(0..count),
                self.setter.set(rows, rows)?,
            )),
        })
    }
}

impl Table {
    /// Sets columns of the rows that satisfy a condition, or of all.
    ///
    /// # Errors
    ///
    /// Invalid argument: a row that breaks a rule of the table; as [`Table::snapshot`], [`Predicate::bind`],
    /// [`UpdatePlanner::new`], [`Changer::change`] and [`Table::commit`].
    pub fn update_rows(
        &self,
        condition: Option<&Predicate>,
        set: &Assignments,
        options: RowsOptions,
    ) -> Result<RowsWritten> {
        if set.is_empty() {
            let message = "an update needs a column to set";
            return Err(Error::invalid("rows.column", message));
        }
        let snapshot = self.snapshot(At::Latest, None)?;
        // as in delta-spark, an update of all rows has no predicate
        let parameters = match condition {
            None => [("predicate", json!("[]"))],
            Some(_) => predicate_parameter(condition),
        };
        let mut transaction = self.begin(&snapshot, "UPDATE", parameters, &options)?;
        if set_txn(&mut transaction, &options)? {
            return self.commit_written(transaction, WrittenFiles::new(self.source()));
        }
        let (metadata, protocol) = transaction.effective()?;
        let write = write_options(&options);
        let mut changer = Changer::new(self.source(), &snapshot, metadata, protocol, write, true)?;
        let mut planner = UpdatePlanner::new(metadata, protocol, set)?;
        transaction.read(condition)?;
        let bound = condition
            .map(|condition| condition.bind(snapshot.schema()))
            .transpose()?;
        let filter = condition
            .map(|condition| snapshot.filter_of(condition))
            .transpose()?;
        let files = changer.candidates(filter)?;
        changer.change(files, bound.as_ref(), &mut planner)?;
        if changer.is_empty() && options.txn.is_none() {
            return Ok(no_changes(["numUpdatedRows"]));
        }
        let (written, counts) = changer.stage(&mut transaction)?;
        let mut metrics = row_metrics(&written, &counts);
        metrics.remove("numDeletedRows");
        metrics.extend(metric_strings([("numUpdatedRows", counts.updated)]));
        transaction.description().metrics = metrics;
        set_times(&mut transaction, &counts);
        self.commit_written(transaction, written)
    }
}
