use super::*;

#[test]
fn z_order_interleaves_bits() {
    assert_eq!(z_order(&[0b10, 0b01], 2), 0b1001);
    assert_eq!(z_order(&[0b11, 0b00], 2), 0b1010);
    assert_eq!(z_order(&[7], 3), 7);
}

#[test]
fn the_hilbert_curve_visits_each_cell_once_in_adjacent_steps() {
    for (axes, bits) in [(2_u32, 4_u32), (3, 3), (4, 2)] {
        let side = 1_u32 << bits;
        let cells = side.pow(axes);
        let mut cells_by_position = vec![None; cells as usize];
        for number in 0..cells {
            let cell: Vec<u32> = (0..axes)
                .map(|axis| number / side.pow(axis) % side)
                .collect();
            let position = hilbert(&mut cell.clone(), bits);
            assert!(
                cells_by_position[position as usize].replace(cell).is_none(),
                "{position}"
            );
        }
        let steps: Vec<Vec<u32>> = cells_by_position.into_iter().flatten().collect();
        assert_eq!(steps.len(), cells as usize);
        for pair in steps.windows(2) {
            let apart: u32 = pair[0]
                .iter()
                .zip(&pair[1])
                .map(|(a, b)| a.abs_diff(*b))
                .sum();
            assert_eq!(apart, 1, "{pair:?}");
        }
    }
}
