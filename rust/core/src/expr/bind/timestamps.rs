//! Predicates in a time zone: local timestamps in them are converted to instants.
//!
//! A string, a date or a `TIMESTAMP` without a zone that is compared with a timestamp is a local time in
//! the session's time zone. A caller who knows the zone requests these local times and returns the
//! instants. A condition that depends on the zone in another way, such as `hour(at) = 3`, is dropped; so
//! are conditions on timestamps that partition a table, whose strings in the log may be local times, too.

use std::collections::{BTreeMap, BTreeSet};

use super::columns::Columns;
use crate::error::Result;
use crate::expr::node::formula::Formula;
use crate::expr::node::predicate::{Expr, Operand, Path, Predicate};
use crate::expr::value::family::Family;
use crate::expr::value::literal::Literal;
use crate::spec::schema::{StructType, same_name};
use crate::spec::values::has_zone;

impl Predicate {
    /// Returns the local times that are compared with timestamps, as strings.
    ///
    /// # Arguments
    ///
    /// * `partitions`: the table's partition columns.
    pub fn local_times(
        &self,
        schema: &StructType,
        partitions: &[String],
    ) -> Result<BTreeSet<String>> {
        let mut times = BTreeSet::new();
        let mut lookup = |text: &str| {
            times.insert(text.to_owned());
            Some(0)
        };
        TimeZoneConverter::new(schema, partitions, &mut lookup).implied(&self.root)?;
        Ok(times)
    }

    /// Returns a predicate that this one implies: with instants instead of local times, without conditions
    /// that depend on the time zone in another way. `None` if nothing is left.
    ///
    /// # Arguments
    ///
    /// * `partitions`: the table's partition columns.
    /// * `timestamps`: microseconds since 1970-01-01T00:00:00 UTC for the results of [`Self::local_times`].
    pub fn with_timestamps(
        &self,
        schema: &StructType,
        partitions: &[String],
        timestamps: &BTreeMap<String, i64>,
    ) -> Result<Option<Self>> {
        let mut lookup = |text: &str| timestamps.get(text).copied();
        let root = TimeZoneConverter::new(schema, partitions, &mut lookup).implied(&self.root)?;
        Ok(root.map(|root| Self { root }))
    }
}

/// Converts local timestamps of a predicate to instants.
struct TimeZoneConverter<'a> {
    schema: &'a StructType,
    partitions: &'a [String],
    columns: Columns<'a>,
    lookup: &'a mut dyn FnMut(&str) -> Option<i64>,
}

impl<'a> TimeZoneConverter<'a> {
    fn new(
        schema: &'a StructType,
        partitions: &'a [String],
        lookup: &'a mut dyn FnMut(&str) -> Option<i64>,
    ) -> Self {
        Self {
            schema,
            partitions,
            columns: Columns::new(schema),
            lookup,
        }
    }

    /// Returns a condition that this one implies.
    fn implied(&mut self, expr: &Expr) -> Result<Option<Expr>> {
        Ok(match expr {
            Expr::And(parts) => {
                let parts = self.each(parts, Self::implied)?;
                let parts: Vec<_> = parts.into_iter().flatten().collect();
                (!parts.is_empty()).then(|| Expr::all(parts))
            }
            Expr::Or(parts) => {
                let parts = self.each(parts, Self::implied)?;
                parts.into_iter().collect::<Option<_>>().map(Expr::any)
            }
            other => self.equivalent(other)?,
        })
    }

    /// Returns an equivalent condition; `None` if it depends on the time zone.
    fn equivalent(&mut self, expr: &Expr) -> Result<Option<Expr>> {
        let boxed = |inner: Option<Expr>| inner.map(Box::new);
        Ok(match expr {
            Expr::And(parts) => {
                let parts = self.each(parts, Self::equivalent)?;
                parts.into_iter().collect::<Option<_>>().map(Expr::all)
            }
            Expr::Or(parts) => {
                let parts = self.each(parts, Self::equivalent)?;
                parts.into_iter().collect::<Option<_>>().map(Expr::any)
            }
            Expr::Not(inner) => boxed(self.equivalent(inner)?).map(Expr::Not),
            Expr::IsNull(inner) => boxed(self.equivalent(inner)?).map(Expr::IsNull),
            Expr::Is(inner, value) => {
                boxed(self.equivalent(inner)?).map(|inner| Expr::Is(inner, *value))
            }
            Expr::Compare(left, op, right) => {
                let sides = match (left, right) {
                    (Operand::Column(path), Operand::Literal(literal)) => self
                        .literal(path, literal)?
                        .map(|literal| (left.clone(), Operand::Literal(literal))),
                    (Operand::Literal(literal), Operand::Column(path)) => self
                        .literal(path, literal)?
                        .map(|literal| (Operand::Literal(literal), right.clone())),
                    (Operand::Column(left_path), Operand::Column(right_path)) => {
                        let is_zoned = self.columns.find(left_path)?.family == Family::Timestamp;
                        let is_same = is_zoned
                            == (self.columns.find(right_path)?.family == Family::Timestamp);
                        let is_local = is_zoned
                            && (self.is_partition(left_path) || self.is_partition(right_path));
                        (is_same && !is_local).then(|| (left.clone(), right.clone()))
                    }
                    (Operand::Literal(_), Operand::Literal(_)) => None,
                };
                sides.map(|(left, right)| Expr::Compare(left, *op, right))
            }
            Expr::In(path, list) => {
                let mut timestamps = Vec::with_capacity(list.len());
                for literal in list {
                    timestamps.push(self.literal(path, literal)?);
                }
                let list = timestamps.into_iter().collect::<Option<_>>();
                list.map(|list| Expr::In(path.clone(), list))
            }
            Expr::Formula(formula) => (!self.depends_on_time_zone(formula)).then(|| expr.clone()),
            Expr::Like { column, .. } => {
                let is_zoned = self.columns.find(column)?.family == Family::Timestamp;
                (!is_zoned).then(|| expr.clone())
            }
            Expr::Value(_) => Some(expr.clone()),
        })
    }

    fn each(
        &mut self,
        parts: &[Expr],
        convert: fn(&mut Self, &Expr) -> Result<Option<Expr>>,
    ) -> Result<Vec<Option<Expr>>> {
        parts.iter().map(|part| convert(self, part)).collect()
    }

    /// Converts a literal that is compared with a column.
    fn literal(&mut self, path: &Path, literal: &Literal) -> Result<Option<Literal>> {
        let column = self.columns.find(path)?;
        let family = &column.family;
        if *family == Family::Timestamp && self.is_partition(path) {
            return Ok(None);
        }
        let local_time = match (family, literal) {
            (Family::Timestamp, Literal::String(text)) if !has_zone(text) => text.clone(),
            (
                Family::Timestamp,
                Literal::Date(_) | Literal::TimestampNtz(_) | Literal::LocalTimestamp(_),
            ) => text(literal),
            (Family::Date | Family::TimestampNtz | Family::String, Literal::Timestamp(_))
            | (Family::TimestampNtz | Family::String, Literal::LocalTimestamp(_)) => {
                return Ok(None);
            }
            _ => return Ok(Some(literal.clone())),
        };
        Ok((self.lookup)(&local_time).map(Literal::Timestamp))
    }

    fn is_partition(&self, path: &Path) -> bool {
        let is = |name: &String| matches!(path.0.as_slice(), [only] if same_name(only, name));
        self.partitions.iter().any(is)
    }

    /// Returns `true` if the value of a formula may depend on the time zone.
    fn depends_on_time_zone(&self, formula: &Formula) -> bool {
        formula
            .words()
            .iter()
            .any(|word| match self.schema.field(word) {
                Some(field) => matches!(
                    Family::of(&field.data_type),
                    Family::Date
                        | Family::Timestamp
                        | Family::TimestampNtz
                        | Family::Other("struct")
                ),
                None => {
                    matches!(word.as_str(), "now" | "hour" | "minute" | "interval")
                        || word.contains("time")
                        || word.contains("date")
                }
            })
    }
}

/// Returns the text between the quotes of a printed literal.
fn text(literal: &Literal) -> String {
    let printed = literal.to_string();
    let text = printed.split('\'').nth(1);
    text.unwrap_or_default().to_owned()
}
