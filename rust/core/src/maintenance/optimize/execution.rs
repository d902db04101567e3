//! Optimize in one process: plans, rewrites and commits.

use std::sync::Arc;

use super::bin::{Bin, metrics};
use super::ordered::write_ordered;
use super::pack::{RewriteSettings, pack};
use super::plan::{Plan, Request};
use super::sample::sample_order;
use super::spill::{SpilledFile, spill_piece};
use crate::error::Result;
use crate::storage::Scratch;
use crate::storage::pool::{ordered, threads};
use crate::table::{At, RowsOptions, RowsWritten, Table};
use crate::write::random::{new_id, now_after};
use crate::write::{RemoveFile, WrittenFiles};

/// The maximum total size of files that are written at the same time.
const PARALLEL_BYTES: u64 = 2 << 30;
/// The size in bytes of the data files, or parts of one, whose rows go to one temporary file.
const PIECE_BYTES: u64 = 32 << 20;

impl Table {
    /// Compacts small files of the newest version, or orders their rows.
    ///
    /// # Errors
    ///
    /// As [`Table::snapshot`], [`Plan::new`], [`pack`], [`sample_order`], [`spill_piece`], [`write_ordered`]
    /// and [`Table::commit`].
    pub fn optimize(&self, request: &Request, options: RowsOptions) -> Result<RowsWritten> {
        // files may be read twice: footers and samples to plan, then all rows
        let table = self.with_file_cache();
        let snapshot = self.snapshot(At::Latest, None)?;
        let plan = Plan::new(table.source(), &snapshot, request)?;
        let written = table.rewrite_bins(&plan, options.transaction.durable)?;
        self.commit_optimized(&plan, written, options)
    }

    pub(super) fn rewrite_bins(&self, plan: &Plan, durable: bool) -> Result<WrittenFiles> {
        let settings = RewriteSettings {
            metadata: plan.snapshot.metadata().clone(),
            protocol: plan.snapshot.protocol().clone(),
            durable,
        };
        let mut all = WrittenFiles::new(self.source());
        if plan.order.is_some() {
            for bin in &plan.bins {
                let mut written = self.write_in_order(plan, bin, &settings)?;
                for file in &mut written.adds {
                    file.tags.clone_from(&bin.tags);
                }
                all.join(written);
            }
            return Ok(all);
        }
        let splits: Vec<_> = plan.bins.iter().filter_map(|bin| plan.split(bin)).collect();
        let at_once = max_parallel_files(plan.bins.iter().map(Bin::bytes).max());
        let decoders = (threads() / at_once).max(1);
        let source = self.source().clone();
        for written in ordered(splits, at_once, move |split| {
            pack(&source, &settings, &split, decoders)
        }) {
            all.join(written?);
        }
        Ok(all)
    }

    fn write_in_order(
        &self,
        plan: &Plan,
        bin: &Bin,
        settings: &RewriteSettings,
    ) -> Result<WrittenFiles> {
        let mut all = WrittenFiles::new(self.source());
        let Some(order) = sample_order(self.source(), plan, bin)? else {
            return Ok(all);
        };
        let scratch = Scratch::new()?;
        let order = Arc::new(order);
        let pieces = plan.splits(bin, PIECE_BYTES);
        let (source, spill) = (self.source().clone(), Arc::clone(scratch.storage()));
        let order_of_pieces = Arc::clone(&order);
        let spilled = ordered(pieces, threads(), move |piece| {
            spill_piece(&source, &order_of_pieces, &piece, &*spill, new_id())
        });
        let spilled: Arc<[SpilledFile]> = spilled.collect::<Result<Vec<_>>>()?.into();
        let files: Vec<usize> = (0..order.files()).collect();
        let at_once = max_parallel_files(Some(bin.bytes() / order.files().max(1) as u64));
        let (source, spill) = (self.source().clone(), Arc::clone(scratch.storage()));
        let settings = settings.clone();
        for written in ordered(files, at_once, move |file| {
            write_ordered(&source, &settings, &order, file, &spilled, &*spill)
        }) {
            all.join(written?);
        }
        Ok(all)
    }

    /// Commits the files that replace those of a plan.
    ///
    /// # Errors
    ///
    /// As [`Table::commit`].
    pub fn commit_optimized(
        &self,
        plan: &Plan,
        mut written: WrittenFiles,
        options: RowsOptions,
    ) -> Result<RowsWritten> {
        let metrics = metrics(&plan.bins, &written.adds);
        if plan.bins.is_empty() {
            return Ok(RowsWritten {
                version: None,
                metrics,
                afterwards: None,
            });
        }
        for file in &mut written.adds {
            file.data_change = false;
            file.clustering_provider = plan.clustering_provider.map(str::to_owned);
        }
        let parameters = plan.parameters.iter();
        let parameters = parameters.map(|(name, value)| (name.as_str(), value.clone()));
        let mut transaction = self.begin(&plan.snapshot, plan.operation, parameters, &options)?;
        let time = now_after(&plan.snapshot);
        let removed = || plan.bins.iter().flat_map(|bin| &bin.files);
        transaction.read_files(removed().map(|file| &file.path));
        let removes: Vec<RemoveFile> = removed().map(|file| file.removed(time, false)).collect();
        transaction.remove(removes);
        let description = transaction.description();
        description.metrics = metrics;
        if plan.snapshot.properties().row_tracking {
            let key = "delta.rowTracking.preserved".to_owned();
            description.tags.insert(key, "true".to_owned());
        }
        self.commit_files(transaction, written)
    }
}

/// Returns the number of files of this size to write at the same time.
fn max_parallel_files(bytes: Option<u64>) -> usize {
    let fitting = PARALLEL_BYTES / bytes.unwrap_or(1).max(1);
    usize::try_from(fitting)
        .unwrap_or(usize::MAX)
        .clamp(1, threads())
}
