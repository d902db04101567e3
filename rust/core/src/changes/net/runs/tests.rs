use super::*;

fn run(id: i64, rows: u32, piece: u32) -> Run {
    Run {
        id,
        row: 100 * u64::from(piece) + u64::try_from(id).unwrap(),
        version: 7,
        piece,
        rows,
    }
}

/// Lists the ids of both sides one by one.
fn described(joined: Joined) -> Vec<(i64, Option<u64>, Option<u64>)> {
    let rows = |run: Run| (0..i64::from(run.rows)).zip(run.row..);
    match joined {
        Joined::Before(old) => rows(old)
            .map(|(at, row)| (old.id + at, Some(row), None))
            .collect(),
        Joined::After(new) => rows(new)
            .map(|(at, row)| (new.id + at, None, Some(row)))
            .collect(),
        Joined::Both(old, new) => {
            assert_eq!((old.id, old.rows), (new.id, new.rows));
            rows(old)
                .zip(rows(new))
                .map(|((at, before), (_, after))| (old.id + at, Some(before), Some(after)))
                .collect()
        }
    }
}

/// Joins every pair of sets of ids below eight, as runs.
#[test]
fn join_matches_equal_ids() {
    let runs = |bits: u32, piece: u32| {
        let mut runs: Vec<Run> = Vec::new();
        for id in (0..8).filter(|id| bits >> id & 1 == 1) {
            match runs.last_mut() {
                Some(last) if last.end() == id => last.rows += 1,
                _ => runs.push(run(id, 1, piece)),
            }
        }
        runs
    };
    for before in 0..256_u32 {
        for after in 0..256_u32 {
            let mut actual = Vec::new();
            join(&runs(before, 1), &runs(after, 2), &mut |joined| {
                actual.extend(described(joined));
                Some(())
            });
            let has = |bits: u32, id: i64, first: u64| {
                (bits >> id & 1 == 1).then(|| first + u64::try_from(id).unwrap())
            };
            let expected: Vec<_> = (0..8)
                .map(|id| (id, has(before, id, 100), has(after, id, 200)))
                .filter(|(_, old, new)| old.is_some() || new.is_some())
                .collect();
            assert_eq!(actual, expected, "{before:08b} {after:08b}");
        }
    }
}

#[test]
fn join_stops_when_visit_returns_none() {
    let mut seen = 0;
    let all = join(&[run(0, 2, 0), run(5, 1, 0)], &[run(1, 1, 1)], &mut |_| {
        seen += 1;
        (seen < 2).then_some(())
    });
    assert_eq!((all, seen), (None, 2));
}

#[test]
fn detects_duplicate_ids_in_sorted_runs() {
    let mut runs = vec![run(6, 2, 0), run(0, 3, 1), run(3, 3, 2)];
    sort(&mut runs).unwrap();
    assert_eq!(runs.iter().map(|run| run.id).collect::<Vec<_>>(), [0, 3, 6]);
    assert!(!has_duplicates(&runs));
    runs[0].rows = 4;
    assert!(has_duplicates(&runs));
}

#[test]
fn cut_returns_the_rows_of_some_ids() {
    let part = run(10, 5, 1).cut(12, 14);
    assert_eq!((part.id, part.row, part.rows, part.end()), (12, 112, 2, 14));
}
