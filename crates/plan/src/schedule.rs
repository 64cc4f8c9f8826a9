//! The order of steps: repetitions outermost, cells in random order, targets side by side (R1).

use sharebench_model::Random;

use crate::StepPlan;
use crate::resolved::Work;
use sharebench_model::Coordinates;

/// Cells that are measured on every target.
pub(crate) type Cell = (Coordinates, Work);

/// Streams of the seed, so that adding cells to one study does not reorder another.
const CELL_STREAM: u64 = 1;
const TARGET_STREAM: u64 = 2;

/// Appends `repetitions` rounds of `cells` on each of `targets`. With `shuffled` the cells of each round
/// come in random order (sweeps); without, in the order given (rising user loads). The targets of one
/// cell always follow each other, in random order, so that each pair shares its conditions.
pub(crate) fn append(
    steps: &mut Vec<StepPlan>,
    cells: &[Cell],
    targets: u32,
    repetitions: u32,
    seed: u64,
    shuffled: bool,
) {
    let mut cell_order = Random::new(seed, CELL_STREAM);
    let mut target_order = Random::new(seed, TARGET_STREAM);
    for repetition in 0..repetitions {
        let mut order: Vec<usize> = (0..cells.len()).collect();
        if shuffled {
            cell_order.shuffle(&mut order);
        }
        for cell in order {
            let mut sides: Vec<u32> = (0..targets).collect();
            target_order.shuffle(&mut sides);
            for target in sides {
                let (coordinates, work) = cells[cell].clone();
                steps.push(StepPlan { index: steps.len() as u32, target, repetition, coordinates, work });
            }
        }
    }
}
