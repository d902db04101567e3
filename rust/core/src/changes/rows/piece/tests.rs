use super::*;

#[test]
fn change_codes_round_trip() {
    let changes = [
        ChangeType::Delete,
        ChangeType::UpdatePreimage,
        ChangeType::UpdatePostimage,
        ChangeType::Insert,
    ];
    for change in changes {
        for stamp in [0, 1, 12_345, (1 << 29) - 1] {
            let code = ChangeCode::from_number(ChangeCode::new(change, stamp).unwrap().number());
            assert_eq!((code.change(), code.stamp()), (change, stamp));
            assert_ne!(code, ChangeCode::NONE);
        }
    }
    assert_eq!(ChangeCode::new(ChangeType::Insert, 1 << 29), None);
}
