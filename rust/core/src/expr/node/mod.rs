//! Typed expressions with resolved columns.

pub(super) mod bound_column;
pub(super) mod bound_formula;
pub(super) mod formula;
pub(super) mod predicate;

use std::fmt;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Scalar};
use arrow_schema::DataType;

use crate::expr::evaluate::functions::{Arithmetic, Function};
use crate::expr::evaluate::in_list::InList;
use crate::expr::evaluate::like::LikePattern;
use crate::expr::node::bound_column::BoundColumn;
use crate::expr::node::predicate::{Expr, Predicate};
use crate::expr::value::canonical_order::Form;
use crate::expr::value::comparison::{BaseOp, Op};

/// A condition bound to a schema, ready to be evaluated.
#[derive(Clone)]
pub struct BoundPredicate {
    predicate: Predicate,
    pub(super) root: Node,
    columns: Vec<BoundColumn>,
}

/// An expression with a value for each row. The variants up to `Or` are those that bounds may decide.
#[derive(Clone, Debug)]
pub(super) enum Node {
    /// A constant, as an array of one value.
    Constant(ArrayRef),
    Column(Arc<BoundColumn>),
    CompareConstant {
        column: Arc<BoundColumn>,
        form: Form,
        op: BaseOp,
        value: Scalar<ArrayRef>,
    },
    CompareColumns {
        left: Arc<BoundColumn>,
        right: Arc<BoundColumn>,
        form: Form,
        op: BaseOp,
    },
    In {
        column: Arc<BoundColumn>,
        form: Form,
        list: Arc<InList>,
        /// True if null is in the list: for values that are not in it, the result is then unknown, not false.
        or_null: bool,
    },
    Like {
        text: Box<Node>,
        pattern: Arc<LikePattern>,
    },
    IsNull(Box<Node>),
    IsTrue(Box<Node>),
    Not(Box<Node>),
    And(Vec<Node>),
    Or(Vec<Node>),
    /// Compares values of one type. Except for `<=>`, a second value that can fail is evaluated only where
    /// the first is not null.
    Compare(Op, Box<Node>, Box<Node>),
    /// Calculates with numbers of one type.
    Arithmetic(Arithmetic, Box<Node>, Box<Node>),
    Cast {
        value: Box<Node>,
        data_type: DataType,
        /// True if the cast cannot fail.
        always_fits: bool,
    },
    /// The value of the first branch whose condition is true. All values have one type.
    Case {
        branches: Vec<(Node, Node)>,
        otherwise: Box<Node>,
    },
    /// The first value that is not null; all have one type.
    Coalesce(Vec<Node>),
    Call(Function, Vec<Node>),
    /// Evaluates `value` once, for all uses of the temporary `column` in `root`.
    With {
        value: Box<Node>,
        column: Arc<BoundColumn>,
        root: Box<Node>,
    },
}

impl BoundPredicate {
    pub(super) fn new(predicate: Predicate, root: Node) -> Self {
        let columns = root.columns().into_iter().map(Arc::unwrap_or_clone);
        Self {
            predicate,
            columns: columns.collect(),
            root,
        }
    }

    /// Returns the unbound predicate; its text is the serialized form of a bound predicate.
    pub fn predicate(&self) -> &Predicate {
        &self.predicate
    }

    /// Returns the columns used, each once, in the order of the text. A column whose values cannot matter
    /// (`x = NULL`) is omitted.
    pub fn columns(&self) -> &[BoundColumn] {
        &self.columns
    }

    /// Returns `true` if `keep` accepts all columns used.
    pub fn uses_only(&self, keep: &dyn Fn(&BoundColumn) -> bool) -> bool {
        self.columns.iter().all(keep)
    }

    /// Returns the conditions that must all be true: the parts of an `AND`, or this one alone.
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
    /// Creates a boolean constant.
    pub(super) fn boolean(value: Option<bool>) -> Self {
        Self::Constant(Arc::new(BooleanArray::from(vec![value])))
    }

    pub(super) fn negated(self) -> Self {
        Self::Not(Box::new(self))
    }

    /// Returns `true` for conditions that bounds may decide, other than columns and constants.
    pub(super) fn is_condition(&self) -> bool {
        matches!(
            self,
            Self::CompareConstant { .. }
                | Self::CompareColumns { .. }
                | Self::In { .. }
                | Self::Like { .. }
                | Self::IsNull(_)
                | Self::IsTrue(_)
                | Self::Not(_)
                | Self::And(_)
                | Self::Or(_)
        )
    }

    /// Returns `true` if evaluation can fail for some value: then the expression must not be evaluated on
    /// rows where Spark would skip it.
    pub(super) fn can_fail(&self) -> bool {
        match self {
            Self::Arithmetic(..) | Self::Call(..) => true,
            Self::Cast { always_fits, .. } if !always_fits => true,
            other => {
                let mut any = false;
                other.each_part(&mut |part| any = any || part.can_fail());
                any
            }
        }
    }

    /// Returns `true` if the expression uses no columns.
    pub(super) fn is_constant(&self) -> bool {
        let mut is_constant = true;
        self.each_column(&mut |_| is_constant = false);
        is_constant
    }

    /// Returns the columns used, each once.
    pub(super) fn columns(&self) -> Vec<Arc<BoundColumn>> {
        let mut columns = Vec::new();
        self.each_column(&mut |column| {
            if !columns.contains(column) {
                columns.push(Arc::clone(column));
            }
        });
        columns
    }

    /// Calls `visit` for each use of a column.
    pub(super) fn each_column(&self, visit: &mut dyn FnMut(&Arc<BoundColumn>)) {
        match self {
            Self::Column(column)
            | Self::CompareConstant { column, .. }
            | Self::In { column, .. } => visit(column),
            Self::CompareColumns { left, right, .. } => {
                visit(left);
                visit(right);
            }
            Self::With {
                value,
                column: own,
                root,
            } => {
                value.each_column(visit);
                root.each_column(&mut |column| {
                    if column != own {
                        visit(column);
                    }
                });
            }
            other => other.each_part(&mut |part| part.each_column(visit)),
        }
    }

    /// Calls `visit` for each direct part of this expression.
    pub(super) fn each_part(&self, visit: &mut dyn FnMut(&Self)) {
        match self {
            Self::Constant(_)
            | Self::Column(_)
            | Self::CompareConstant { .. }
            | Self::CompareColumns { .. }
            | Self::In { .. } => {}
            Self::Like { text: part, .. }
            | Self::Cast { value: part, .. }
            | Self::IsNull(part)
            | Self::IsTrue(part)
            | Self::Not(part) => visit(part),
            Self::And(parts) | Self::Or(parts) | Self::Coalesce(parts) | Self::Call(_, parts) => {
                parts.iter().for_each(visit);
            }
            Self::Compare(_, first, second)
            | Self::Arithmetic(_, first, second)
            | Self::With {
                value: first,
                root: second,
                ..
            } => {
                visit(first);
                visit(second);
            }
            Self::Case {
                branches,
                otherwise,
            } => {
                for (condition, value) in branches {
                    visit(condition);
                    visit(value);
                }
                visit(otherwise);
            }
        }
    }
}
