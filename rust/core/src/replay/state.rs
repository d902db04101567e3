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
        for transaction in &control.transactions {
            state.set_transaction(transaction);
        }
        for domain in &control.domains {
            state.set_domain(domain);
        }
        state
    }

    /// Applies newer actions.
    pub fn apply(&mut self, batch: &ActionBatch) {
        if let Some(protocol) = batch.protocol() {
            self.protocol = Some(protocol.clone());
        }
        if let Some(metadata) = batch.metadata() {
            self.metadata = Some(metadata.clone());
        }
        for (_, transaction) in &batch.transactions {
            self.set_transaction(transaction);
        }
        for (_, domain) in &batch.domains {
            self.set_domain(domain);
        }
    }

    fn set_transaction(&mut self, transaction: &SetTransaction) {
        let app_id = transaction.app_id.clone();
        self.transactions.insert(app_id, transaction.clone());
    }

    fn set_domain(&mut self, domain: &DomainMetadata) {
        if domain.removed {
            self.domains.remove(&domain.domain);
        } else {
            self.domains.insert(domain.domain.clone(), domain.clone());
        }
    }
}
