//! Bytes of a protocol are encoded and decoded in the `wire` modules of its crate only.
//!
//! A codec outside them shows by conversions between numbers and bytes of a stated order (`u32::from_be_bytes`). Each file
//! of production code that has some is an exception, with their number as its limit (`codec in PATH`).

use std::collections::BTreeMap;

use crate::module_graph;
use crate::source::Source;

/// Crates that know a protocol.
const CRATES: [&str; 5] = ["crates/learn", "crates/ncp", "crates/nfs", "crates/server", "crates/smb"];
const CONVERSIONS: [&str; 4] = ["from_be_bytes", "from_le_bytes", "to_be_bytes", "to_le_bytes"];

/// The number of conversions in each file outside `wire` that has any.
pub fn outside_of_wire(sources: &[Source]) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for (crate_path, files) in module_graph::crates(sources) {
        if CRATES.contains(&crate_path) {
            for module in module_graph::modules(crate_path, &files) {
                let count: usize = CONVERSIONS.iter().map(|word| module.code.matches(word).count()).sum();
                if count > 0 && !module.path.iter().any(|name| name == "wire") {
                    found.insert(module.file.path.clone(), count);
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{Source, outside_of_wire};

    #[test]
    fn conversions_count_outside_of_wire_and_of_tests() {
        let text = "fn f() { u16::from_le_bytes(x); y.to_be_bytes() }\n// to_be_bytes\n";
        let sources = [
            Source::new("crates/smb/src/client.rs", format!("{text}#[cfg(test)]\nmod tests {{ {text} }}")),
            Source::new("crates/smb/src/lib.rs", "#[cfg(test)]\nmod checks;"),
            Source::new("crates/smb/src/checks.rs", text),
            Source::new("crates/smb/src/wire/header.rs", text),
            Source::new("crates/engine/src/lib.rs", text),
        ];
        let found: Vec<_> = outside_of_wire(&sources).into_iter().collect();
        assert_eq!(found, [("crates/smb/src/client.rs".to_owned(), 2)]);
    }
}
