//! A predicate with its columns found and its types in agreement.

use std::fmt;
use std::sync::Arc;

use arrow_array::{ArrayRef, Scalar};

use crate::expr::bound_column::BoundColumn;
use crate::expr::computed::BoundComputed;
use crate::expr::in_list::InList;
use crate::expr::like::Matcher;
use crate::expr::normal::Form;
use crate::expr::predicate::{Expr, Predicate};

/// A condition bound to a schema, ready to be evaluated.
#[derive(Clone)]
pub struct BoundPredicate {
    predicate: Predicate,
    pub(super) root: Node,
    columns: Vec<BoundColumn>,
}

/// A condition. The parts of `And` and `Or` stand in the order of the predicate's.
#[derive(Clone, Debug)]
pub(super) enum Node {
    Constant(Option<bool>),
    /// A boolean column.
    Column(Arc<BoundColumn>),
    /// This answer where the column is not null, null where it is.
    IfPresent(Arc<BoundColumn>, bool),
    Compare {
        column: Arc<BoundColumn>,
        form: Form,
        order: Order,
        value: Scalar<ArrayRef>,
    },
    CompareColumns {
        left: Arc<BoundColumn>,
        right: Arc<BoundColumn>,
        form: Form,
        order: Order,
    },
    In {
        column: Arc<BoundColumn>,
        form: Form,
        list: Arc<InList>,
        /// Whether null is in the list: what is not found is unknown then.
        or_null: bool,
    },
    Like {
        column: Arc<BoundColumn>,
        matcher: Arc<Matcher>,
    },
    Computed(Arc<BoundComputed>),
    ColumnIsNull(Arc<BoundColumn>),
    IsNull(Box<Node>),
    IsTrue(Box<Node>),
    Not(Box<Node>),
    And(Vec<Node>),
    Or(Vec<Node>),
}

/// The comparisons that are left once the others are put in their terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Eq,
    Lt,
    LtEq,
    Gt,
    GtEq,
}

impl BoundPredicate {
    pub(super) fn new(predicate: Predicate, root: Node) -> Self {
        let mut columns: Vec<BoundColumn> = Vec::new();
        root.visit(&mut |column| {
            if !columns.contains(column) {
                columns.push(column.clone());
            }
        });
        Self {
            predicate,
            root,
            columns,
        }
    }

    /// The predicate that was bound; its text is how a bound predicate travels.
    pub fn predicate(&self) -> &Predicate {
        &self.predicate
    }

    /// The columns used, each once, in the order of the text. A column whose values cannot matter
    /// (`x = NULL`) is not among them.
    pub fn columns(&self) -> &[BoundColumn] {
        &self.columns
    }

    /// Whether all columns used are such as `keep` says.
    pub fn uses_only(&self, keep: &dyn Fn(&BoundColumn) -> bool) -> bool {
        self.columns.iter().all(keep)
    }

    /// The conditions that all have to be true: the parts of an `AND`, or this one alone.
    pub fn conjuncts(&self) -> Vec<Self> {
        match (&self.predicate.root, &self.root) {
            (Expr::And(parts), Node::And(nodes)) if parts.len() == nodes.len() => parts
                .iter()
                .zip(nodes)
                .map(|(part, node)| Self::new(Predicate { root: part.clone() }, node.clone()))
                .collect(),
            _ => vec![self.clone()],
        }
    }
}

impl fmt::Debug for BoundPredicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BoundPredicate({})", self.predicate)
    }
}

impl Node {
    pub(super) fn negated(self) -> Self {
        Self::Not(Box::new(self))
    }

    /// Whether there is a formula in it: what cannot be computed is an error, which no other condition has.
    pub(super) fn computes(&self) -> bool {
        match self {
            Self::Computed(_) => true,
            Self::IsNull(inner) | Self::IsTrue(inner) | Self::Not(inner) => inner.computes(),
            Self::And(parts) | Self::Or(parts) => parts.iter().any(Self::computes),
            _ => false,
        }
    }

    /// Calls `found` for each use of a column.
    pub(super) fn visit(&self, found: &mut dyn FnMut(&BoundColumn)) {
        match self {
            Self::Constant(_) => {}
            Self::Column(column)
            | Self::IfPresent(column, _)
            | Self::Compare { column, .. }
            | Self::In { column, .. }
            | Self::Like { column, .. }
            | Self::ColumnIsNull(column) => found(column),
            Self::CompareColumns { left, right, .. } => {
                found(left);
                found(right);
            }
            Self::Computed(computed) => {
                for column in &computed.columns {
                    found(column);
                }
            }
            Self::IsNull(inner) | Self::IsTrue(inner) | Self::Not(inner) => inner.visit(found),
            Self::And(parts) | Self::Or(parts) => {
                for part in parts {
                    part.visit(found);
                }
            }
        }
    }
}
