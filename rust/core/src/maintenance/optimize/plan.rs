//! The plan of OPTIMIZE: the files to rewrite, and the parameters of its commit.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::bin::Bin;
use super::candidates::{
    by_partition, has_deleted_rows, has_many_deleted_rows, live, packed, size, with_dropped_columns,
};
use super::clustering::{Cubes, PROVIDER, clustering_of};
use super::order::Curve;
use crate::definition::clustering::ordered_columns;
use crate::error::{Error, Result};
use crate::expr::{BoundColumn, Predicate};
use crate::log::catalog::Permission;
use crate::replay::{FileFilter, Source};
use crate::scan::Split;
use crate::scan::data_file::Extras;
use crate::snapshot::Snapshot;
use crate::spec::Metadata;
use crate::spec::column_path::column_path_text;
use crate::spec::file_size::parse_file_size;
use crate::transaction::json_text;
use crate::write::AddFile;
use crate::write::actions::StringMap;

const DEFAULT_TARGET_BYTES: u64 = 1 << 30;

/// The arguments of OPTIMIZE.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The partitions to optimize, as a condition on partition columns.
    pub condition: Option<Predicate>,
    /// Columns for ordering rows along a Z-order curve.
    pub z_order_by: Vec<String>,
    /// Target file size in bytes.
    pub target_file_size: Option<u64>,
    /// Compaction rewrites files below this size, and files with many deleted rows; defaults to the target
    /// size.
    pub min_file_size: Option<u64>,
    /// Rewrite only files with deleted rows or dropped columns.
    pub purge: bool,
    /// Cluster files again that another provider or other columns clustered.
    pub full: bool,
    /// Compact only these partitions, on behalf of a write.
    pub partitions: Option<BTreeSet<StringMap>>,
}

/// The files to rewrite.
#[derive(Debug)]
pub struct Plan {
    /// The snapshot to read.
    pub snapshot: Snapshot,
    /// The operation's name.
    pub operation: &'static str,
    /// The parameters of the commit.
    pub parameters: Map<String, Value>,
    /// The bins, each rewritten on its own.
    pub bins: Vec<Bin>,
    /// The columns that rows are ordered by, and the curve; `None` for compaction only.
    pub order: Option<(Vec<Vec<String>>, Curve)>,
    /// The clustering provider of the new files.
    pub clustering_provider: Option<&'static str>,
    /// Target file size in bytes.
    pub target: u64,
}

impl Plan {
    /// Plans the optimize of a snapshot.
    ///
    /// # Errors
    ///
    /// Invalid argument: `optimize.where` if it uses other than partition columns; `optimize.z_order`, and
    /// `alter.column` for an unknown column; `optimize.clustered` for arguments that a clustered table does
    /// not support; `optimize.purge`; `optimize.full`; `argument.range`. Corrupt: `optimize.clustering`;
    /// Unsupported: `protocol.writer_features`, `catalog.maintenance`.
    pub fn new(source: &Source, snapshot: &Snapshot, request: &Request) -> Result<Self> {
        snapshot.protocol().check_writable()?;
        source.check_allowed(Permission::Optimize)?;
        let metadata = snapshot.metadata();
        let clustered = clustering_of(source, snapshot)?;
        check(request, clustered.as_deref())?;
        let filter = request
            .condition
            .as_ref()
            .map(|condition| partition_filter(snapshot, condition))
            .transpose()?;
        let order = match &clustered {
            _ if request.purge => None,
            Some(columns) if !columns.is_empty() => Some((columns.clone(), Curve::Hilbert)),
            _ if !request.z_order_by.is_empty() => {
                let columns = ordered_columns(metadata, &request.z_order_by)?;
                Some((columns, Curve::ZOrder))
            }
            _ => None,
        };
        let target = request.target_file_size;
        let target = target.unwrap_or_else(|| target_file_size(metadata));
        let names = |columns: &[Vec<String>]| -> Vec<String> {
            columns.iter().map(|path| column_path_text(path)).collect()
        };
        let by_curve = |requested: Curve| match &order {
            Some((columns, curve)) if *curve == requested => names(columns),
            _ => Vec::new(),
        };
        let cluster_by = by_curve(Curve::Hilbert);
        let cubes = (!cluster_by.is_empty()).then(|| Cubes::new(cluster_by.clone(), request.full));
        let packing = Packing {
            source,
            snapshot,
            request,
            filter,
            target,
        };
        let bins = match cubes {
            // clustering covers the whole table, whatever partitions a write has touched
            Some(cubes) => cubes.bins(packing.live(&|_| true)?),
            None => packing.bins(order.is_some())?,
        };
        let mut parameters = Map::new();
        let condition: Vec<String> = request.condition.iter().map(ToString::to_string).collect();
        parameters.insert("predicate".to_owned(), json_text(&condition));
        if request.purge {
            parameters.insert("applyPurge".to_owned(), json!(true));
        } else {
            let z_order_by = by_curve(Curve::ZOrder);
            parameters.insert("zOrderBy".to_owned(), json_text(&z_order_by));
            parameters.insert("clusterBy".to_owned(), json_text(&cluster_by));
            parameters.insert("auto".to_owned(), json!(request.partitions.is_some()));
            if !cluster_by.is_empty() {
                parameters.insert("isFull".to_owned(), json!(request.full));
            }
        }
        Ok(Self {
            snapshot: snapshot.clone(),
            operation: if request.purge { "REORG" } else { "OPTIMIZE" },
            parameters,
            bins,
            clustering_provider: (!cluster_by.is_empty()).then_some(PROVIDER),
            order,
            target,
        })
    }

    /// Returns the rows of a bin as one split, which another process can read.
    pub fn split(&self, bin: &Bin) -> Option<Split> {
        self.splits(bin, u64::MAX).into_iter().next()
    }

    /// Divides the rows of a bin into splits of about `target_size` bytes.
    pub fn splits(&self, bin: &Bin, target_size: u64) -> Vec<Split> {
        let files = bin.files.iter().map(AddFile::scan_file).collect();
        let extras = Extras {
            row_id: self.snapshot.properties().row_tracking,
            ..Extras::default()
        };
        Split::of_files(&self.snapshot, files, extras, target_size)
    }
}

fn check(request: &Request, clustered: Option<&[Vec<String>]>) -> Result<()> {
    let refused = |code, message: &str| Err(Error::invalid(code, message));
    if request.target_file_size == Some(0) {
        let message = "target_file_size is 0: pass at least one byte";
        return refused("argument.range", message);
    }
    if clustered.is_some() {
        if request.condition.is_some() {
            let message = "a clustered table has no partitions: omit the condition";
            return refused("optimize.clustered", message);
        }
        if !request.z_order_by.is_empty() {
            let message = "only clustering columns order the rows of a table with the feature clustering: omit \
                z_order_by";
            return refused("optimize.clustered", message);
        }
    }
    if request.purge && !request.z_order_by.is_empty() {
        let message = "a purge keeps the order of rows: omit z_order_by";
        return refused("optimize.purge", message);
    }
    if request.full && request.purge {
        let message = "a purge keeps the order of rows: omit full";
        return refused("optimize.full", message);
    }
    if request.full && clustered.is_none_or(<[_]>::is_empty) {
        let message = "full needs clustering columns, which the table does not have: omit it, or set the columns";
        return refused("optimize.full", message);
    }
    Ok(())
}

fn partition_filter(snapshot: &Snapshot, condition: &Predicate) -> Result<Arc<FileFilter>> {
    let bound = condition.bind(snapshot.schema())?;
    let partitions = &snapshot.metadata().partition_columns;
    let other = |column: &&BoundColumn| match column.path.as_slice() {
        [name] => !partitions.contains(name),
        _ => true,
    };
    if let Some(column) = bound.columns().iter().find(other) {
        let message = format!(
            "the condition may use only the partition columns, [{}], not {}",
            partitions.join(", "),
            column_path_text(&column.path)
        );
        return Err(Error::invalid("optimize.where", message));
    }
    Ok(Arc::new(snapshot.file_filter(bound)?))
}

/// Selects live files and packs them into bins.
struct Packing<'a> {
    source: &'a Source,
    snapshot: &'a Snapshot,
    request: &'a Request,
    filter: Option<Arc<FileFilter>>,
    target: u64,
}

impl Packing<'_> {
    fn live(&self, keep: &dyn Fn(&AddFile) -> bool) -> Result<Vec<AddFile>> {
        live(self.source, self.snapshot, self.filter.as_ref(), keep)
    }

    /// Returns the files of each partition; packed to the target size unless rows are ordered.
    fn bins(&self, ordered: bool) -> Result<Vec<Bin>> {
        let partitions = self.request.partitions.as_ref();
        let inside = |file: &AddFile| {
            partitions.is_none_or(|partitions| partitions.contains(&file.partition_values))
        };
        let packed = |files: Vec<AddFile>| {
            let partitions = by_partition(files).into_iter();
            partitions.flat_map(|files| packed(files, self.target))
        };
        let plain = |files: Vec<AddFile>| Bin { files, tags: None };
        if ordered {
            let partitions = by_partition(self.live(&inside)?);
            return Ok(partitions.into_iter().map(plain).collect());
        }
        if self.request.purge {
            let mut files = self.live(&|_| true)?;
            let dropped = with_dropped_columns(self.source, self.snapshot, &files)?;
            files.retain(|file| has_deleted_rows(file) || dropped.contains(&file.path));
            return Ok(packed(files).map(plain).collect());
        }
        let min_size = self.request.min_file_size.unwrap_or(self.target);
        let keep =
            |file: &AddFile| inside(file) && (size(file) < min_size || has_many_deleted_rows(file));
        let gains = |bin: &Vec<AddFile>| bin.len() > 1 || bin.iter().any(has_many_deleted_rows);
        let bins = packed(self.live(&keep)?).filter(gains);
        Ok(bins.map(plain).collect())
    }
}

/// Returns the target file size in bytes set by the table properties, or the default.
pub fn target_file_size(metadata: &Metadata) -> u64 {
    let property = metadata.property("delta.targetFileSize");
    property
        .and_then(parse_file_size)
        .unwrap_or(DEFAULT_TARGET_BYTES)
}
