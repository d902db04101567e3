use arrow_array::builder::{MapBuilder, StringViewBuilder};
use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn keeps_selected_strings(rows in prop::collection::vec((prop::option::of("[a-zé]{0,30}"), any::<bool>()), 0..60)) {
        let strings: StringViewArray = rows.iter().map(|(text, _)| text.as_deref()).collect();
        let bits = BooleanBuffer::from_iter(rows.iter().map(|(_, keep)| *keep));
        let keep = SelectedRows::new(bits);
        let kept = filter_concat(&[(&(Arc::new(strings) as ArrayRef), &keep)]).unwrap();
        let expected: StringArray =
            rows.iter().filter(|(_, keep)| *keep).map(|(text, _)| text.as_deref()).collect();
        prop_assert_eq!(kept.as_string::<i32>(), &expected);
        prop_assert_eq!(keep.ranges.iter().cloned().flatten().count(), keep.num_rows());
    }

    #[test]
    fn maps_keep_their_entries(rows in prop::collection::vec(
        (prop::option::of(prop::collection::vec(("[a-c]{1,20}", prop::option::of("[x-z]{0,20}")), 0..4)), any::<bool>()), 0..40)) {
        let mut builder = MapBuilder::new(None, StringViewBuilder::new(), StringViewBuilder::new());
        for (map, _) in &rows {
            for (key, value) in map.iter().flatten() {
                builder.keys().append_value(key);
                builder.values().append_option(value.as_deref());
            }
            builder.append(map.is_some()).unwrap();
        }
        let map: ArrayRef = Arc::new(builder.finish());
        let keep = SelectedRows::new(BooleanBuffer::from_iter(rows.iter().map(|(_, keep)| *keep)));
        let kept = filter_concat(&[(&map, &keep)]).unwrap();
        let kept = kept.as_map();
        for (row, (expected, _)) in rows.iter().filter(|(_, keep)| *keep).enumerate() {
            prop_assert_eq!(kept.is_valid(row), expected.is_some());
            let entries = kept.value(row);
            let keys = entries.column(0).as_string::<i32>().iter().map(|key| key.unwrap().to_owned());
            let values = entries.column(1).as_string::<i32>().iter().map(|value| value.map(str::to_owned));
            let result: Vec<_> = keys.zip(values).collect();
            prop_assert_eq!(&result, expected.as_deref().unwrap_or_default());
        }
    }
}
