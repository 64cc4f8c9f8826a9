//! Maps with a plain truth: which parts `partition_map` names, and what it leaves out.

use sharebench_model::Random;
use sharebench_stats::{
    CellSeries, Direction, Evidence, Map, MapAnswer, MapOptions, PartitionedMap, Rectangle, TestGrid,
    partition_map,
};

const OPTIONS: MapOptions = MapOptions { tolerance: 0.0198, level: 0.95, wider_level: 0.99, seed: 1 };

/// Cells with noise of 1 % around `truth(row, column)`.
fn grid(
    seed: u64,
    (rows, columns): (usize, usize),
    repetitions: u32,
    truth: impl Fn(usize, usize) -> f64,
) -> TestGrid {
    let mut random = Random::new(seed, 31);
    let mut cell = |index: usize| {
        let value = truth(index / columns, index % columns);
        CellSeries((0..repetitions).map(|number| (number, value + 0.01 * random.normal())).collect())
    };
    TestGrid { rows, columns, cells: (0..rows * columns).map(&mut cell).collect(), axes: 0 }
}

fn partition(tests: Vec<TestGrid>) -> PartitionedMap {
    partition_map(&Map { tests }, &OPTIONS).expect("cells with enough repetitions")
}

fn place(rows: (usize, usize), columns: (usize, usize)) -> Rectangle {
    Rectangle { rows, columns }
}

#[test]
fn a_map_that_changes_direction_depends() {
    let found = partition(vec![grid(1, (4, 3), 12, |row, _| if row < 2 { 0.3 } else { -0.4 })]);
    assert_eq!(found.headline.answer, MapAnswer::Depends);
    let named: Vec<(Rectangle, Direction)> = found
        .headline
        .parts
        .iter()
        .map(|part| (found.parts[*part].place, found.parts[*part].direction))
        .collect();
    assert_eq!(
        named,
        [(place((2, 4), (0, 3)), Direction::Slower), (place((0, 2), (0, 3)), Direction::Faster)]
    );
    assert!(found.parts.iter().all(|part| part.evidence == Evidence::EachCell), "{found:?}");
    assert!(found.largest_hidden.abs() < 1e-12, "no cell is left: {found:?}");
    assert!(found.mean.interval.is_some_and(|interval| interval.contains(-0.05)));
}

#[test]
fn no_cell_leaves_the_mean_for_having_fewer_repetitions() {
    let mut test = grid(2, (1, 6), 60, |_, column| if column < 3 { 0.7 } else { -0.26 });
    for cell in &mut test.cells[..3] {
        cell.0.truncate(12);
    }
    let found = partition(vec![test]);
    assert_eq!(found.headline.answer, MapAnswer::Depends);
    assert!((found.mean.value - 0.22).abs() < 0.01, "{:?}", found.mean);
    assert!(found.excluded.is_empty());
}

#[test]
fn cells_with_few_repetitions_are_excluded_by_name_or_not_named_alone() {
    let mut test = grid(3, (2, 3), 12, |_, column| if column == 0 { 0.4 } else { 0.0 });
    test.cells[3] = CellSeries::default();
    test.cells[0].0.truncate(7);
    test.cells[5].0.truncate(5);
    let found = partition(vec![test]);
    assert_eq!(found.excluded, [(0, 5)]);
    assert!(found.cells[0][3].is_none() && found.cells[0][5].is_none());
    assert!(found.cells[0][0].is_some_and(|cell| cell.only_in_means && cell.n == 7));
    // The only cell that differs has too few repetitions to be named, also on average with a neighbour that does not
    // differ, but what it may have is not hidden.
    assert!(found.parts.is_empty(), "{found:?}");
    assert!(found.largest_hidden > 0.4, "{found:?}");
}

#[test]
fn cells_with_six_repetitions_are_named_together_from_four_on() {
    // Cells that differ, with six repetitions, among cells with 6 or 12.
    let rows: [(usize, u32, bool); 6] =
        [(1, 6, false), (2, 6, false), (3, 12, false), (2, 12, false), (4, 12, true), (4, 6, true)];
    for (differing, others, named) in rows {
        let mut test = grid(10, (1, 6), others, |_, column| if column < differing { 0.3 } else { 0.0 });
        test.cells[..differing].iter_mut().for_each(|cell| cell.0.truncate(6));
        let found = partition(vec![test]);
        assert_eq!(!found.parts.is_empty(), named, "{differing} {others}: {:?}", found.parts);
    }
}

#[test]
fn equal_rectangles_of_several_tests_are_one_part() {
    let corner = |row: usize, column: usize| if row < 2 && column < 2 { 0.3 } else { 0.0 };
    let found = partition(vec![
        grid(4, (3, 4), 12, corner),
        grid(5, (3, 4), 12, |_, _| 0.0),
        grid(6, (3, 4), 12, corner),
    ]);
    assert_eq!(found.headline.answer, MapAnswer::OneDirection(Direction::Faster));
    assert_eq!(found.parts.len(), 1, "{:?}", found.parts);
    let part = &found.parts[0];
    assert_eq!((part.tests.as_slice(), part.cells.len()), ([0, 2].as_slice(), 8));
    assert_eq!(part.place, place((0, 2), (0, 2)));
    assert!(part.mean.interval.is_some_and(|interval| interval.contains(0.3)));
    assert!(found.largest_opposite < 0.05, "{}", found.largest_opposite);
}

#[test]
fn tests_with_different_axes_share_no_rectangle() {
    let mut other = grid(8, (5, 2), 12, |_, _| 0.3);
    other.axes = 1;
    let found = partition(vec![grid(7, (3, 4), 12, |_, _| 0.3), other]);
    let mut tests: Vec<&[usize]> = found.parts.iter().map(|part| part.tests.as_slice()).collect();
    tests.sort_unstable();
    assert_eq!(tests, [[0], [1]]);
}

#[test]
fn a_line_and_a_cell_of_a_large_grid_are_found_where_they_are() {
    let truth = |row: usize, column: usize| match (row, column) {
        (17, _) => -0.3,
        (40, 23) => 0.6,
        _ => 0.0,
    };
    let found = partition(vec![grid(9, (60, 40), 10, truth)]);
    let places: Vec<Rectangle> = found.parts.iter().map(|part| part.place).collect();
    assert_eq!(places, [place((17, 18), (0, 40)), place((40, 41), (23, 24))]);
}

#[test]
fn without_noise_the_answer_is_exact_and_without_repetitions_there_is_none() {
    let exact = |value: f64| CellSeries((0..8).map(|number| (number, value)).collect());
    let test = TestGrid { rows: 1, columns: 2, cells: vec![exact(0.1), exact(0.0)], axes: 0 };
    let found = partition(vec![test.clone()]);
    assert_eq!(found.parts.len(), 1);
    assert_eq!(found.parts[0].cells, [(0, 0)]);
    assert!((found.mean.value - 0.05).abs() < 1e-12);
    let five = TestGrid { cells: vec![CellSeries(exact(0.1).0[..5].to_vec()); 2], ..test };
    assert!(partition_map(&Map { tests: vec![five] }, &OPTIONS).is_none());
    assert!(partition_map(&Map::default(), &OPTIONS).is_none());
}
