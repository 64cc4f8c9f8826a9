//! Positions in words.

use crate::types::Section;

pub(crate) fn position(section: &Section, position: &[Option<sharebench_model::Value>]) -> String {
    let named =
        section.axes.iter().zip(position).filter_map(|(axis, value)| Some(value.as_ref()?.on_axis(axis)));
    named.collect::<Vec<_>>().join(", ")
}
