//! Whether two systems of one run took turns.

use sharebench_model::StepResult;

/// True when each repetition of both systems was finished before the next one began. Both lists are of one run.
pub(crate) fn took_turns(a: &[&StepResult], b: &[&StepResult]) -> bool {
    if a.len() < 2 || b.len() < 2 {
        return false;
    }
    let mut order: Vec<(u32, u32)> = a.iter().chain(b).map(|step| (step.index, step.repetition)).collect();
    order.sort_unstable();
    order.is_sorted_by_key(|(_, repetition)| *repetition)
}
