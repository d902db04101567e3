//! MERGE: target rows joined with source rows, and the clauses that apply to each pair.
//!
//! The keys of the source are held in memory, and its rows up to a limit; the columns of the table that
//! expressions use are read once, batch by batch. The first clause whose condition is true applies.

use std::collections::BTreeSet;

use arrow_array::{RecordBatch, UInt32Array};
use arrow_schema::SchemaRef;

mod bound_clause;
mod clauses;
mod evolution;
mod execution;
mod inserts;
mod join;
mod key_range;
mod keys;
mod scope;
mod source;
mod unused;

use bound_clause::{BoundClause, BoundThen, MergedRows};
pub use clauses::{Clause, MergeDefinition, Then, When};
use evolution::all_columns;
use inserts::{InsertClause, UnmatchedRows, taken};
use join::Join;
use key_range::KeyRange;
use scope::{Scope, VisibleSide, null_rows};
use source::SourceRows;

use super::row_plan::{RowPlan, RowPlanner};
use super::update::Setter;
use crate::error::{Error, Result};
use crate::expr::Formula;
use crate::spec::schema::StructType;
use crate::spec::{Metadata, Protocol};
use crate::write::columns::{columns_mismatch, nullable};
use crate::write::{InputConverter, STEP_BYTES, row_display};

/// A merge of source rows into target rows.
#[derive(Debug)]
pub(super) struct Merge {
    source: SourceRows,
    join: Join,
    scope: Scope,
    /// The scope of the clauses WHEN NOT MATCHED BY SOURCE.
    target_scope: Scope,
    source_scope: Scope,
    matched: Vec<BoundClause>,
    not_matched_by_source: Vec<BoundClause>,
    inserts: Vec<InsertClause>,
    /// Marks the source rows that match a target row.
    used: Vec<bool>,
    schema: SchemaRef,
    read_columns: BTreeSet<usize>,
    /// Nulls for the other columns.
    nulls: RecordBatch,
}

impl Merge {
    /// Builds the hash table of the source. `partial`: `SET *` keeps columns that the source lacks.
    ///
    /// # Errors
    ///
    /// Invalid argument: `rows.merge` for invalid clauses, or keys without a common type.
    pub(super) fn new(
        metadata: &Metadata,
        protocol: &Protocol,
        definition: &MergeDefinition,
        partial: bool,
        source: SourceRows,
    ) -> Result<Self> {
        let schema = StructType::parse(&metadata.schema_string)?;
        let schema = nullable(&schema);
        let (target_name, source_name) = (&definition.target_name, &definition.source_name);
        let scope = |columns| {
            let target = (target_name.as_str(), schema.fields());
            Scope::new(target, (source_name, source.schema().fields()), columns)
        };
        let both = scope(VisibleSide::Both);
        let mut merge = Self {
            used: vec![false; source.num_rows() as usize],
            join: Join::new(&definition.on, &both, &source)?,
            matched: Vec::new(),
            not_matched_by_source: Vec::new(),
            inserts: Vec::new(),
            read_columns: BTreeSet::new(),
            nulls: RecordBatch::new_empty(schema.clone()),
            schema: schema.clone(),
            target_scope: scope(VisibleSide::Target),
            source_scope: scope(VisibleSide::Source),
            scope: both,
            source,
        };
        merge.bind_clauses(metadata, protocol, definition, partial)?;
        merge.read_columns = merge.target_columns();
        Ok(merge)
    }

    /// Returns the indexes of the table's columns that `on` or a clause uses, or that an update keeps.
    fn target_columns(&self) -> BTreeSet<usize> {
        let mut columns = self.join.target_columns(&self.scope);
        let matched = self.matched.iter().map(|clause| (clause, &self.scope));
        let not_matched_by_source = self
            .not_matched_by_source
            .iter()
            .map(|clause| (clause, &self.target_scope));
        for (clause, scope) in matched.chain(not_matched_by_source) {
            for formula in clause.formulas() {
                columns.extend(scope.target_columns(formula));
            }
            if let BoundThen::Update(setter) = &clause.then {
                columns.extend(setter.kept());
            }
        }
        columns
    }

    /// Adds the columns that were not read, as nulls.
    fn with_unread_columns(&mut self, read: &RecordBatch) -> Result<RecordBatch> {
        let rows = read.num_rows();
        if self.nulls.num_rows() < rows {
            self.nulls = null_rows(&self.nulls, rows)?;
        }
        let columns = self.schema.fields().iter().zip(self.nulls.columns());
        let columns = columns.map(|(field, nulls)| match read.column_by_name(field.name()) {
            Some(column) => column.clone(),
            None => nulls.slice(0, rows),
        });
        RecordBatch::try_new(self.schema.clone(), columns.collect()).map_err(columns_mismatch)
    }

    fn bind_clauses(
        &mut self,
        metadata: &Metadata,
        protocol: &Protocol,
        definition: &MergeDefinition,
        partial: bool,
    ) -> Result<()> {
        if definition.clauses.is_empty() {
            return Err(invalid_merge("a merge needs at least one clause"));
        }
        for (number, clause) in definition.clauses.iter().enumerate() {
            let later = definition.clauses.get(number + 1..).unwrap_or_default();
            if clause.condition.is_none() && later.iter().any(|other| other.when == clause.when) {
                let message = "only the last clause of a kind may have no condition";
                return Err(invalid_merge(message));
            }
            let scope = match clause.when {
                When::Matched => &self.scope,
                When::NotMatched => &self.source_scope,
                When::NotMatchedBySource => &self.target_scope,
            };
            let condition = match &clause.condition {
                Some(text) => Some(Formula::parse(text)?.bind_condition(&scope.fields)?),
                None => None,
            };
            let then = match (clause.when, &clause.then) {
                (When::NotMatched, Then::Insert(values)) => {
                    if let Some(condition) = &condition {
                        scope.check_side(condition)?;
                    }
                    let insert = InsertClause::new(condition, values.as_deref(), scope)?;
                    self.inserts.push(insert);
                    continue;
                }
                (When::Matched | When::NotMatchedBySource, Then::Delete) => BoundThen::Delete,
                (When::Matched, Then::Update(None)) => {
                    let schema = StructType::parse(&metadata.schema_string)?;
                    let source = self.source.schema();
                    let [_, name] = &self.scope.names;
                    let all = all_columns(&schema, source.fields(), name, partial);
                    let setter = Setter::new(metadata, protocol, &all, &scope.fields, partial)?;
                    BoundThen::Update(Box::new(setter))
                }
                (When::Matched | When::NotMatchedBySource, Then::Update(Some(set))) => {
                    let setter = Setter::new(metadata, protocol, set, &scope.fields, false)?;
                    BoundThen::Update(Box::new(setter))
                }
                _ => {
                    return Err(invalid_merge(
                        "a clause of this kind cannot take this action",
                    ));
                }
            };
            let bound = BoundClause { condition, then };
            for formula in bound.formulas() {
                scope.check_side(formula)?;
            }
            match clause.when {
                When::Matched => self.matched.push(bound),
                _ => self.not_matched_by_source.push(bound),
            }
        }
        Ok(())
    }

    pub(super) fn source_rows(&self) -> u64 {
        self.source.num_rows().into()
    }

    /// Returns `true` if the merge affects only target rows that match a source row: others need not be read.
    pub(super) fn affects_only_matches(&self) -> bool {
        self.not_matched_by_source.is_empty()
    }

    /// Returns the ranges of the source's keys for the plain columns that `on` compares and whose types
    /// [`KeyRange::new`] accepts.
    pub(super) fn key_ranges(&self) -> &[KeyRange] {
        &self.join.key_ranges
    }

    /// Validates the inserts before any row is read.
    pub(super) fn check_inserts(&self, metadata: &Metadata, protocol: &Protocol) -> Result<()> {
        for clause in &self.inserts {
            InputConverter::new(metadata, protocol, clause.schema())?;
        }
        Ok(())
    }

    /// Returns the clauses that insert and the rows for them, once all target rows were read.
    pub(super) fn into_inserts(self) -> (Vec<InsertClause>, UnmatchedRows) {
        let rows = UnmatchedRows::new(self.source, self.source_scope, self.used);
        (self.inserts, rows)
    }

    /// Returns `true` if several source rows may match one target row: the merge only inserts, or its only
    /// clause WHEN MATCHED always deletes. As in delta-spark, a source row matches even if no clause applies to
    /// the pair, and a clause WHEN NOT MATCHED BY SOURCE without a clause WHEN MATCHED allows one match only.
    fn allows_several_matches(&self) -> bool {
        match self.matched.as_slice() {
            [] => self.not_matched_by_source.is_empty(),
            [only] => only.condition.is_none() && matches!(only.then, BoundThen::Delete),
            _ => false,
        }
    }

    /// Returns the matching pairs, at most one for a target row: indexes in the batch, indexes in the
    /// source.
    fn pairs(&mut self, rows: &RecordBatch) -> Result<(Vec<u32>, Vec<u32>)> {
        let mut first: Vec<Option<u32>> = vec![None; rows.num_rows()];
        let allows_several_matches = self.allows_several_matches();
        let mut used = std::mem::take(&mut self.used);
        let (scope, source) = (&self.scope, &self.source);
        self.join
            .each_pair(scope, rows, source, &mut |row, other| {
                if let Some(used) = used.get_mut(other as usize) {
                    *used = true;
                }
                let Some(slot) = first.get_mut(row as usize) else {
                    return Ok(());
                };
                match *slot {
                    Some(before) if !allows_several_matches => {
                        Err(self.ambiguous(rows, row as usize, before, other)?)
                    }
                    Some(_) => Ok(()),
                    None => {
                        *slot = Some(other);
                        Ok(())
                    }
                }
            })?;
        self.used = used;
        let pairs = (0_u32..).zip(first);
        Ok(pairs.filter_map(|(row, other)| Some((row, other?))).unzip())
    }

    fn joined(
        &self,
        rows: &RecordBatch,
        target_rows: &[u32],
        source_rows: &[u32],
    ) -> Result<RecordBatch> {
        let target = taken(rows, target_rows)?;
        let source = self.source.take(&UInt32Array::from(source_rows.to_vec()))?;
        self.scope.batch(&target, &source)
    }

    fn ambiguous(&self, rows: &RecordBatch, row: usize, first: u32, second: u32) -> Result<Error> {
        // without the columns that were not read
        let read_columns: Vec<usize> = self.read_columns.iter().copied().collect();
        let target = rows.project(&read_columns).map_err(columns_mismatch)?;
        let matches = self.source.take(&UInt32Array::from(vec![first, second]))?;
        let message = format!(
            "several rows of the source match the row {} of the table, such as {} and {}: at most one may \
             match, whatever the conditions of the clauses; make the source's keys unique, or refine `on`; \
             nothing was written",
            row_display(&target, row),
            row_display(&matches, 0),
            row_display(&matches, 1)
        );
        Ok(Error::invalid("rows.ambiguous", message))
    }
}

impl RowPlanner for Merge {
    fn columns(&self) -> Option<Vec<String>> {
        let fields = self.read_columns.iter();
        let fields = fields.map(|index| self.schema.fields().get(*index));
        Some(fields.flatten().map(|field| field.name().clone()).collect())
    }

    fn max_rows(&self) -> usize {
        let rows = STEP_BYTES / self.source.longest_row().max(1);
        usize::try_from(rows.max(1)).unwrap_or(usize::MAX)
    }

    fn plan(&mut self, rows: &RecordBatch) -> Result<RowPlan> {
        let rows = self.with_unread_columns(rows)?;
        let (target_rows, source_rows) = self.pairs(&rows)?;
        let mut merged = MergedRows::new(&rows);
        if !self.matched.is_empty() && !target_rows.is_empty() {
            let scope = self.joined(&rows, &target_rows, &source_rows)?;
            merged.apply(&mut self.matched, &target_rows, &scope)?;
        }
        if !self.not_matched_by_source.is_empty() {
            let mut paired = vec![false; rows.num_rows()];
            for row in &target_rows {
                if let Some(paired) = paired.get_mut(*row as usize) {
                    *paired = true;
                }
            }
            let positions: Vec<u32> = (0_u32..)
                .zip(paired)
                .filter(|(_, paired)| !paired)
                .map(|(row, _)| row)
                .collect();
            let unmatched = taken(&rows, &positions)?;
            let no_source = null_rows(&self.source.empty(), positions.len())?;
            let scope = self.target_scope.batch(&unmatched, &no_source)?;
            merged.apply(&mut self.not_matched_by_source, &positions, &scope)?;
        }
        merged.into_plan()
    }
}

fn invalid_merge(message: &str) -> Error {
    Error::invalid("rows.merge", message)
}
