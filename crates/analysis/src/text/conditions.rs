//! Warnings about differing conditions.

use crate::text::stages::Stages;
use crate::types::UnlikeCondition;

/// One line, such as `conditions differ: signing AES-CMAC (smb, nas), off (nfs)`.
pub(crate) fn warning(stages: &Stages<'_>, unlike: &UnlikeCondition) -> String {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for known in &unlike.values {
        let name = stages.aligned.systems[known.system].name.as_str();
        match groups.iter_mut().find(|(value, _)| *value == known.value) {
            Some((_, names)) => names.push(name),
            None => groups.push((&known.value, vec![name])),
        }
    }
    let groups: Vec<String> =
        groups.into_iter().map(|(value, names)| format!("{value} ({})", names.join(", "))).collect();
    format!("conditions differ: {} {}", unlike.condition.word(), groups.join(", "))
}
