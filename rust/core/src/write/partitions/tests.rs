use super::*;

#[test]
fn groups_rows_with_equal_values() {
    let first = StringArray::from(vec![Some("a"), None, Some("a"), Some("b"), None]);
    let second = StringArray::from(vec!["x", "x", "y", "x", "x"]);
    let expected = vec![vec![0], vec![1, 4], vec![2], vec![3]];
    assert_eq!(groups(&[first, second], 5), expected);
}
