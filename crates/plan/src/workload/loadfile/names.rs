//! Names in loadfiles: where the file was recorded, case did not count.

use std::collections::BTreeMap;

use super::parse::{Wrong, wrong};

/// Paths, each once.
pub(super) struct Names {
    index: BTreeMap<String, u32>,
    /// Every path, parents before what is in them; the first is the client's directory.
    pub all: Vec<String>,
    /// Index of the directory of each name.
    pub parents: Vec<u32>,
}

impl Default for Names {
    fn default() -> Self {
        Self { index: BTreeMap::new(), all: vec![String::new()], parents: vec![0] }
    }
}

impl Names {
    /// The index of a path; parents get theirs before it.
    pub fn path(&mut self, path: &str) -> Result<u32, Wrong> {
        let mut at = 0;
        for part in path.split(['\\', '/']).filter(|part| !part.is_empty()) {
            if part == "." || part == ".." {
                return Err(wrong(
                    format!("\"{path}\" leaves its directory"),
                    "write the path without . and ..",
                ));
            }
            if part.len() > 255 || part.chars().any(|c| c.is_control() || "*?<>|".contains(c)) {
                let hint = "at most 255 bytes, and wildcards in FIND_FIRST only";
                return Err(wrong(format!("'{part}' is no name"), hint));
            }
            let parent = &self.all[at as usize];
            let whole = if parent.is_empty() { part.to_owned() } else { format!("{parent}/{part}") };
            let next = self.all.len() as u32;
            let names = &mut self.all;
            let parents = &mut self.parents;
            at = *self.index.entry(whole.to_lowercase()).or_insert_with(|| {
                names.push(whole);
                parents.push(at);
                next
            });
        }
        Ok(at)
    }
}
