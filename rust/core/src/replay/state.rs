//! The state of a table without its files: the latest protocol, metadata, transactions and domains.
//!
//! Protocol: "Action Reconciliation".

use std::collections::BTreeMap;

use crate::codec::checkpoint::Control;
use crate::codec::commit::ActionBatch;
use crate::spec::{DomainMetadata, Metadata, Protocol, SetTransaction};

/// The effective control actions at one version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogState {
    /// The protocol.
    pub protocol: Option<Protocol>,
    /// The metadata.
    pub metadata: Option<Metadata>,
    /// The latest transaction of each application.
    pub transactions: BTreeMap<String, SetTransaction>,
    /// Live domains.
    pub domains: BTreeMap<String, DomainMetadata>,
}

impl LogState {
    /// Creates the state of a checkpoint.
    pub fn of_checkpoint(control: &Control) -> Self {
        let mut state = Self {
            protocol: control.protocol.clone(),
            metadata: control.metadata.clone(),
            ..Self::default()
        };
        control
            .transactions
            .iter()
            .for_each(|txn| state.transaction(txn));
        control
            .domains
            .iter()
            .for_each(|domain| state.domain(domain));
        state
    }

    /// Applies newer actions.
    pub fn newer(&mut self, batch: &ActionBatch) {
        if let Some(protocol) = batch.protocol() {
            self.protocol = Some(protocol.clone());
        }
        if let Some(metadata) = batch.metadata() {
            self.metadata = Some(metadata.clone());
        }
        batch
            .transactions
            .iter()
            .for_each(|(_, txn)| self.transaction(txn));
        batch
            .domains
            .iter()
            .for_each(|(_, domain)| self.domain(domain));
    }

    fn transaction(&mut self, txn: &SetTransaction) {
        self.transactions.insert(txn.app_id.clone(), txn.clone());
    }

    fn domain(&mut self, domain: &DomainMetadata) {
        if domain.removed {
            self.domains.remove(&domain.domain);
        } else {
            self.domains.insert(domain.domain.clone(), domain.clone());
        }
    }
}
