//! Files whose dates and timestamps Spark wrote in the hybrid Julian/Gregorian calendar, according to their
//! footers.
//!
//! The files, and the time zone of their timestamps, are determined as in Spark's reader: files of Spark
//! before 3.0 (96-bit timestamps: before 3.1), and later files with a marker. Files of other writers are
//! never affected, whatever markers they have.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, TimestampMicrosecondType, TimestampMillisecondType};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray, make_array};
use arrow_schema::{ArrowError, DataType, TimeUnit};
use parquet::basic::Type as PhysicalType;
use parquet::file::metadata::FileMetaData;

use crate::spec::legacy_calendar::{
    GREGORIAN_DAY, LegacyZone, MAX_LATE_DIFFERENCE, MODERN_SECOND, ZoneMissing, rebase_day,
};

const VERSION: &str = "org.apache.spark.version";
const ZONE: &str = "org.apache.spark.timeZone";
const DATETIME: &str = "org.apache.spark.legacyDateTime";
const INT96: &str = "org.apache.spark.legacyINT96";

/// The environment variable for the time zone of files that name none, or an unknown one.
const DEFAULT_ZONE_VARIABLE: &str = "DELTAREPLAY_LEGACY_TIME_ZONE";

/// The hybrid calendar with the time zone of the timestamps. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LegacyCalendar(Arc<LegacyZone>);

/// The columns of a file that use the legacy calendar.
#[derive(Clone, Debug)]
pub(crate) struct LegacyColumns {
    calendar: LegacyCalendar,
    /// Dates and 64-bit timestamps.
    datetime: bool,
    /// 96-bit timestamps.
    int96: bool,
}

impl LegacyColumns {
    /// Reads the calendar from the footer; `None` for files in the proleptic Gregorian calendar.
    pub(crate) fn of(file: &FileMetaData) -> Option<Self> {
        // the last value of a duplicate key counts
        let value = |key: &str| {
            let mut entries = file.key_value_metadata()?.iter().rev();
            entries.find(|entry| entry.key == key)?.value.as_deref()
        };
        let version = value(VERSION)?;
        let datetime = version < "3.0.0" || value(DATETIME).is_some();
        let int96 = version < "3.1.0" || value(INT96).is_some();
        if !datetime && !int96 {
            return None;
        }
        let named = value(ZONE).map_or(LegacyZone::Unnamed, LegacyZone::named);
        let zone = match (named, std::env::var(DEFAULT_ZONE_VARIABLE)) {
            (LegacyZone::Known(zone), _) => LegacyZone::Known(zone),
            (_, Ok(name)) => LegacyZone::named(&name),
            (named, Err(_)) => named,
        };
        Some(Self {
            calendar: LegacyCalendar(Arc::new(zone)),
            datetime,
            int96,
        })
    }

    /// Returns the calendar of a leaf that holds dates or timestamps.
    pub(crate) fn calendar(&self, leaf: PhysicalType) -> Option<&LegacyCalendar> {
        let legacy = if leaf == PhysicalType::INT96 {
            self.int96
        } else {
            self.datetime
        };
        legacy.then_some(&self.calendar)
    }
}

/// The treatment of a timestamp that cannot be rebased, because its time zone is unknown.
#[derive(Clone, Copy)]
enum UnknownZone {
    Refuse,
    Null,
}

impl LegacyCalendar {
    /// Rebases dates and timestamps to the proleptic Gregorian calendar, also within nested values.
    /// Timestamps without a time zone are unchanged.
    ///
    /// # Errors
    ///
    /// External, a [`ZoneMissing`]: a timestamp before 1900 in an unknown time zone.
    pub(crate) fn rebase(&self, array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
        match array.data_type() {
            DataType::Date32 | DataType::Timestamp(..) => self.leaf(array, UnknownZone::Refuse),
            _ => {
                let data = array.to_data();
                if data.child_data().is_empty() {
                    return Ok(Arc::clone(array));
                }
                let children = data.child_data().iter();
                let children = children
                    .map(|child| Ok(self.rebase(&make_array(child.clone()))?.to_data()))
                    .collect::<Result<_, ArrowError>>()?;
                let data = data.into_builder().child_data(children).build()?;
                Ok(make_array(data))
            }
        }
    }

    /// Rebases dates and timestamps; those that cannot be rebased become null.
    pub(crate) fn rebase_or_null(&self, array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
        self.leaf(array, UnknownZone::Null)
    }

    /// Rebases bounds of values: those that are not certain to bound the rebased values become null. Rebasing
    /// keeps the order of dates, but not always that of timestamps, where a day or an hour is skipped.
    pub(crate) fn rebase_bounds(&self, bounds: &ArrayRef) -> Result<ArrayRef, ArrowError> {
        let certain = MODERN_SECOND + MAX_LATE_DIFFERENCE;
        match bounds.data_type() {
            DataType::Timestamp(TimeUnit::Microsecond, _) => {
                at_least::<TimestampMicrosecondType>(bounds, certain * 1_000_000)
            }
            DataType::Timestamp(TimeUnit::Millisecond, _) => {
                at_least::<TimestampMillisecondType>(bounds, certain * 1_000)
            }
            _ => self.leaf(bounds, UnknownZone::Null),
        }
    }

    fn leaf(&self, array: &ArrayRef, unknown_zone: UnknownZone) -> Result<ArrayRef, ArrowError> {
        match array.data_type() {
            DataType::Date32 => {
                let days = typed::<Date32Type>(array)?;
                if days.values().iter().all(|day| *day >= GREGORIAN_DAY) {
                    return Ok(Arc::clone(array));
                }
                Ok(Arc::new(days.unary::<_, Date32Type>(rebase_day)))
            }
            DataType::Timestamp(TimeUnit::Microsecond, Some(_)) => {
                self.instants::<TimestampMicrosecondType>(array, 1_000_000, unknown_zone)
            }
            DataType::Timestamp(TimeUnit::Millisecond, Some(_)) => {
                self.instants::<TimestampMillisecondType>(array, 1_000, unknown_zone)
            }
            _ => Ok(Arc::clone(array)),
        }
    }

    /// Rebases timestamps; `ticks` is the number of units per second.
    fn instants<T: ArrowPrimitiveType<Native = i64>>(
        &self,
        array: &ArrayRef,
        ticks: i64,
        unknown_zone: UnknownZone,
    ) -> Result<ArrayRef, ArrowError> {
        let values = typed::<T>(array)?;
        let modern = MODERN_SECOND * ticks;
        if values.values().iter().all(|value| *value >= modern) {
            return Ok(Arc::clone(array));
        }
        let rebase = |value: i64| -> Result<i64, ZoneMissing> {
            let difference = self.0.difference_at(value.div_euclid(ticks))?;
            Ok(value.saturating_add(difference * ticks))
        };
        let rebased: PrimitiveArray<T> = match unknown_zone {
            UnknownZone::Null => values.unary_opt(|value| rebase(value).ok()),
            UnknownZone::Refuse => values
                .try_unary(rebase)
                .map_err(|missing| ArrowError::ExternalError(Box::new(missing)))?,
        };
        Ok(Arc::new(rebased.with_data_type(array.data_type().clone())))
    }
}

/// Returns the values from `min` on; smaller ones become null.
fn at_least<T: ArrowPrimitiveType<Native = i64>>(
    array: &ArrayRef,
    min: i64,
) -> Result<ArrayRef, ArrowError> {
    let values: PrimitiveArray<T> =
        typed::<T>(array)?.unary_opt(|value| (value >= min).then_some(value));
    Ok(Arc::new(values.with_data_type(array.data_type().clone())))
}

fn typed<T: ArrowPrimitiveType>(array: &ArrayRef) -> Result<&PrimitiveArray<T>, ArrowError> {
    array
        .as_primitive_opt()
        .ok_or_else(|| ArrowError::SchemaError("an array does not have its stated type".to_owned()))
}

#[cfg(test)]
mod tests;
