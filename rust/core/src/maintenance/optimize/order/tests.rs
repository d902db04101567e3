use arrow_array::{Int64Array, StringArray};

use super::*;

fn order(sample: Vec<ArrayRef>, files: usize) -> SampledOrder {
    let columns = (0..sample.len()).map(|at| vec![format!("c{at}")]).collect();
    SampledOrder::new(columns, Curve::ZOrder, &sample, files, 1).unwrap()
}

#[test]
fn sorts_a_single_column_with_nulls_first() {
    let values: Vec<Option<i64>> = vec![Some(3), None, Some(-1), Some(3), Some(7), Some(5)];
    let column: ArrayRef = Arc::new(Int64Array::from(values.clone()));
    let sample: ArrayRef = Arc::new(Int64Array::from(vec![Some(3), None, Some(-1), Some(5)]));
    let positions = order(vec![sample], 2).positions(&[column], 6, 1).unwrap();
    let mut numbered: Vec<(u64, Option<i64>)> = positions.into_iter().zip(values).collect();
    numbered.sort_unstable();
    let sorted: Vec<Option<i64>> = numbered.into_iter().map(|(_, value)| value).collect();
    assert_eq!(sorted, [None, Some(-1), Some(3), Some(3), Some(5), Some(7)]);
}

#[test]
fn splits_a_frequent_value_across_files() {
    let sample: ArrayRef = Arc::new(Int64Array::from(vec![7; 1000]));
    let order = order(vec![Arc::clone(&sample)], 4);
    assert_eq!(order.files(), 4);
    let mut rows = [0; 4];
    for position in order.positions(&[sample], 1000, 5).unwrap() {
        rows[order.part(position)] += 1;
    }
    assert!(
        rows.iter().all(|count| (150..350).contains(count)),
        "{rows:?}"
    );
}

#[test]
fn files_have_narrow_ranges_of_both_columns() {
    let first: Vec<i64> = (0..4096).map(|row| row % 64).collect();
    let second: Vec<String> = (0..4096).map(|row| format!("{:02}", row / 64)).collect();
    let sample: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from(first.clone())),
        Arc::new(StringArray::from(second.clone())),
    ];
    let order = order(sample.clone(), 16);
    let positions = order.positions(&sample, 4096, 3).unwrap();
    let mut bounds = vec![(i64::MAX, i64::MIN, "~".to_owned(), String::new()); 16];
    for ((position, number), text) in positions.into_iter().zip(first).zip(second) {
        let file = &mut bounds[order.part(position)];
        *file = (
            file.0.min(number),
            file.1.max(number),
            file.2.clone().min(text.clone()),
            file.3.clone().max(text),
        );
    }
    let halves = bounds.iter().filter(|(least, most, ..)| most - least < 32);
    assert!(halves.count() >= 14, "{bounds:?}");
    let strings = bounds.iter().filter(|(.., least, most)| {
        most.parse::<i64>().unwrap() - least.parse::<i64>().unwrap() < 32
    });
    assert!(strings.count() >= 14, "{bounds:?}");
}

#[test]
fn cuts_between_files_have_many_trailing_zeros() {
    let positions: Vec<u64> = (0..1024).collect();
    let cuts = |files: usize, parts: usize| {
        let mut cuts = Vec::new();
        divide(&positions, files, parts, &mut cuts);
        cuts
    };
    assert_eq!(cuts(4, 1), [256, 512, 768]);
    assert_eq!(cuts(3, 1), [512, 768]);
    assert_eq!(cuts(7, 1), [256, 384, 512, 640, 768, 896]);
    assert_eq!(cuts(2, 2), [256, 512, 768]);
    assert_eq!(cuts(1, 4), [256, 512, 768]);
    assert_eq!(even_cuts(&positions, 3, 0), [341, 682]);
    let mut same = Vec::new();
    divide(&[7; 10], 3, 2, &mut same);
    assert_eq!(same, [0, 7, 7, 7, 7]);
    let mut many = Vec::new();
    divide(&[7; 10], 8, 1, &mut many);
    assert_eq!(many, [0, 0, 0, 7, 7, 7, 7]);
}

#[test]
fn an_order_round_trips_through_json() {
    let sample: ArrayRef = Arc::new(StringArray::from(vec!["a", "b", "c", "d"]));
    let order = order(vec![Arc::clone(&sample)], 2);
    let json = serde_json::to_string(&order).unwrap();
    let back: SampledOrder = serde_json::from_str(&json).unwrap();
    let positions = |order: &SampledOrder| order.positions(&[Arc::clone(&sample)], 4, 9).unwrap();
    assert_eq!(positions(&order), positions(&back));
    assert_eq!(order.cuts, back.cuts);
}
