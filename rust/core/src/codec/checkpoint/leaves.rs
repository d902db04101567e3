//! Selection of the leaf columns of a checkpoint file to decode.

use arrow_schema::{DataType, Fields};

use super::units::{all_null, nulls_of};
use super::{CheckpointFile, FileAction};
use crate::codec::file_actions::{DELETION_VECTOR_FIELDS, FileField};
use crate::codec::file_columns::{FileColumns, NUM_RECORDS, STATS};
use crate::codec::statistics::has_values_for;

/// The form in which a file stores the requested statistics.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stats {
    Absent,
    Text,
    Struct,
}

impl CheckpointFile {
    /// Returns the leaves that every read needs, path and deletion vector, and those of the requested
    /// columns.
    pub(super) fn row_leaves(&self, action: FileAction, columns: &FileColumns) -> Vec<usize> {
        let key = FileColumns::fields_only(&[FileField::Path, FileField::DeletionVector]);
        self.column_leaves(action, &columns.merged(&key))
    }

    /// Returns the leaves from which the requested columns are read or derived.
    pub(super) fn column_leaves(&self, action: FileAction, columns: &FileColumns) -> Vec<usize> {
        let fields = columns.fields();
        let stats = self.stats_form(action, columns);
        let shape = columns.stats_fields();
        let is_unknown = |name: &String| DELETION_VECTOR_FIELDS.find(name).is_none();
        self.leaves(|parts| match parts {
            [root, field, rest @ ..] if root == action.name() => match field.as_str() {
                "stats" => stats == Stats::Text,
                STATS => {
                    stats == Stats::Struct
                        && (columns.has(FileField::Stats) || has_leaf(&shape, rest))
                }
                "deletionVector" if rest.first().is_none_or(is_unknown) => false,
                name => fields.iter().any(|field| field.name() == name),
            },
            _ => false,
        })
    }

    /// Chooses the form of statistics to read. JSON is rendered from the struct only if the file has no JSON.
    /// Columns derived from statistics use the struct if it contains everything needed, for as many rows as
    /// there are JSON texts.
    fn stats_form(&self, action: FileAction, columns: &FileColumns) -> Stats {
        let shape = columns.stats_fields();
        let needs_text = columns.has(FileField::Stats);
        if !needs_text && shape.is_empty() {
            return Stats::Absent;
        }
        let typed = self.typed_stats(action);
        let Some(text) = self.leaf(&[action.name(), FileField::Stats.name()]) else {
            return typed.map_or(Stats::Absent, |_| Stats::Struct);
        };
        let Some(typed) = typed else {
            return Stats::Text;
        };
        let mut groups = self.metadata().row_groups().iter();
        let no_text = groups.all(|group| all_null(group, text));
        if no_text
            || (!needs_text
                && has_values_for(typed, &shape)
                && self.has_all_row_counts(action, text))
        {
            Stats::Struct
        } else {
            Stats::Text
        }
    }

    /// Returns the fields of the typed statistics.
    fn typed_stats(&self, action: FileAction) -> Option<&Fields> {
        let (_, root) = self.arrow.schema().fields().find(action.name())?;
        let DataType::Struct(fields) = root.data_type() else {
            return None;
        };
        match fields.find(STATS)?.1.data_type() {
            DataType::Struct(typed) => Some(typed),
            _ => None,
        }
    }

    /// Returns `true` if the struct has a row count for every JSON text, or for every row with the action.
    fn has_all_row_counts(&self, action: FileAction, text: usize) -> bool {
        let Some(count) = self.leaf(&[action.name(), STATS, NUM_RECORDS]) else {
            return false;
        };
        let others = [
            Some(text),
            self.leaf(&[action.name(), FileField::Path.name()]),
        ];
        self.metadata().row_groups().iter().all(|group| {
            let has_as_many = |other: usize| {
                let nulls = (nulls_of(group, count), nulls_of(group, other));
                matches!(nulls, (Some(count), Some(other)) if count <= other)
            };
            others.into_iter().flatten().any(has_as_many)
        })
    }
}

/// Returns `true` if the shape has a leaf at this path. Recurses along the shape, whose depth is bounded.
fn has_leaf(shape: &Fields, path: &[String]) -> bool {
    let Some((name, rest)) = path.split_first() else {
        return false;
    };
    let Some((_, field)) = shape.find(name) else {
        return false;
    };
    match field.data_type() {
        DataType::Struct(fields) => has_leaf(fields, rest),
        _ => rest.is_empty(),
    }
}
