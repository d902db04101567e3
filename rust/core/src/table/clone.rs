//! CLONE and GENERATE, as methods of the table.

use std::collections::BTreeMap;

use super::{At, Table};
use crate::error::{Error, Result};
use crate::maintenance::clone::{self, ClonePlan, SourceVersion, copy_files};
use crate::maintenance::symlinks;
use crate::snapshot::Snapshot;
use crate::storage::transfer::FileCopy;
use crate::transaction::TransactionOptions;

/// The options of a clone.
#[derive(Clone, Debug, Default)]
pub struct CloneOptions {
    /// Reference the source's files, instead of copying them.
    pub shallow: bool,
    /// Replace an existing table.
    pub replace: bool,
    /// Properties that are added to those of the source, or replace them.
    pub properties: BTreeMap<String, String>,
}

/// A planned clone.
#[derive(Debug)]
pub struct Cloning {
    source: Table,
    snapshot: Snapshot,
    target: Table,
    existing: Option<Snapshot>,
    plan: ClonePlan,
    options: CloneOptions,
}

impl Cloning {
    /// Plans a clone of a version of `source`.
    ///
    /// # Errors
    ///
    /// Invalid argument: `table.exists`; as [`Table::snapshot`] for a table to replace; as [`clone::plan`].
    pub fn new(
        source: &Table,
        snapshot: &Snapshot,
        target: &Table,
        options: CloneOptions,
    ) -> Result<Self> {
        let exists = target.exists()?;
        if exists && !options.replace {
            let message =
                "there is a table already: pass or_replace=True, or choose another location";
            return Err(Error::invalid("table.exists", message).at_path(target.uri()));
        }
        let existing = exists
            .then(|| target.snapshot(At::Latest, None))
            .transpose()?;
        let version = SourceVersion {
            source: source.source(),
            snapshot,
        };
        let plan = clone::plan(version, target.source(), existing.as_ref(), options.shallow)?;
        Ok(Self {
            source: source.clone(),
            snapshot: snapshot.clone(),
            target: target.clone(),
            existing,
            plan,
            options,
        })
    }

    /// Returns the files to copy before the commit.
    pub fn copies(&self) -> &[FileCopy] {
        &self.plan.copies
    }

    /// Copies the files of [`Cloning::copies`]; returns the number of bytes.
    ///
    /// # Errors
    ///
    /// As [`copy_files`].
    pub fn copy(&self) -> Result<u64> {
        let copies = self.plan.copies.clone();
        copy_files(self.source.source(), self.target.source(), copies)
    }

    /// Commits the clone, once its files are copied; returns the version.
    ///
    /// # Errors
    ///
    /// As [`clone::transaction`] and [`Table::commit`].
    pub fn commit(self, options: TransactionOptions) -> Result<Option<u64>> {
        let version = SourceVersion {
            source: self.source.source(),
            snapshot: &self.snapshot,
        };
        let transaction = clone::transaction(
            version,
            self.target.source(),
            self.existing.as_ref(),
            self.plan,
            &self.options.properties,
            options,
        )?;
        Ok(self.target.commit(transaction)?.commit.version)
    }
}

impl Table {
    /// Writes the symlink manifests of the newest version; returns their number.
    ///
    /// # Errors
    ///
    /// As [`Table::snapshot`] and [`symlinks::generate`].
    pub fn generate_symlinks(&self) -> Result<usize> {
        let snapshot = self.snapshot(At::Latest, None)?;
        symlinks::generate(&self.source, &snapshot)
    }
}
