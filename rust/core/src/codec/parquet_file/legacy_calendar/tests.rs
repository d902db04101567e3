use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    Date32Array, Int64Array, ListArray, StructArray, TimestampMicrosecondArray,
    TimestampMillisecondArray,
};
use arrow_schema::{DataType, Field};

use super::*;

fn utc() -> LegacyCalendar {
    LegacyCalendar(Arc::new(LegacyZone::named("UTC")))
}

fn micros(values: Vec<Option<i64>>) -> ArrayRef {
    Arc::new(TimestampMicrosecondArray::from(values).with_timezone("UTC"))
}

#[test]
fn nested_dates_are_rebased() {
    let days: ArrayRef = Arc::new(Date32Array::from(vec![Some(-171_595), None]));
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![-171_595, 1]));
    let local: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![i64::MIN, 0]));
    let field =
        |name: &str, data_type: &DataType| Arc::new(Field::new(name, data_type.clone(), true));
    let lists_of = |days: &ArrayRef| -> ArrayRef {
        let parts = StructArray::from(vec![
            (field("d", days.data_type()), Arc::clone(days)),
            (field("n", numbers.data_type()), Arc::clone(&numbers)),
            (field("l", local.data_type()), Arc::clone(&local)),
        ]);
        let lists =
            ListArray::from_iter_primitive::<Int32Type, _, _>([Some([Some(1)]), Some([None])]);
        let (_, offsets, _, nulls) = lists.into_parts();
        let item = field("item", parts.data_type());
        Arc::new(ListArray::try_new(item, offsets, Arc::new(parts), nulls).unwrap())
    };
    let expected: ArrayRef = Arc::new(Date32Array::from(vec![Some(-171_605), None]));

    assert_eq!(
        &utc().rebase(&lists_of(&days)).unwrap(),
        &lists_of(&expected)
    );
}

#[test]
fn modern_values_are_not_copied() {
    let modern = micros(vec![Some(0), None, Some(i64::MAX)]);

    let rebased = utc().rebase(&modern).unwrap();

    assert!(Arc::ptr_eq(&rebased, &modern));
}

#[test]
fn ambiguous_timestamps_are_refused_or_null() {
    let unnamed = LegacyCalendar(Arc::new(LegacyZone::Unnamed));
    let old = micros(vec![Some(i64::MIN), Some(0)]);

    let error = unnamed.rebase(&old).unwrap_err();

    let ArrowError::ExternalError(missing) = error else {
        panic!("{error}");
    };
    assert!(missing.downcast_ref::<ZoneMissing>().is_some());
    assert_eq!(
        &unnamed.rebase_or_null(&old).unwrap(),
        &micros(vec![None, Some(0)])
    );
}

#[test]
fn uncertain_bounds_of_timestamps_become_null() {
    let certain = (MODERN_SECOND + MAX_LATE_DIFFERENCE) * 1_000;
    let bounds: ArrayRef = Arc::new(TimestampMillisecondArray::from(vec![certain - 1, certain]));
    let expected: ArrayRef = Arc::new(TimestampMillisecondArray::from(vec![None, Some(certain)]));

    assert_eq!(&utc().rebase_bounds(&bounds).unwrap(), &expected);
}
