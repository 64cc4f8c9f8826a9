//! Names in loadfiles: where the file was recorded, case did not count.

use std::collections::BTreeMap;

use super::parse::{Wrong, wrong};

/// Most levels of a path: each request on a name looks up all of them, and every client creates them.
const MAX_LEVELS: usize = 64;
/// Most bytes of a path: a target may add its own directory, and systems limit the sum to 4,096 bytes.
const MAX_PATH: usize = 1024;

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
        let parts = || path.split(['\\', '/']).filter(|part| !part.is_empty());
        let levels = parts().count();
        if levels > MAX_LEVELS || path.len() > MAX_PATH {
            let start: String = path.chars().take(40).collect();
            let problem = format!("the path \"{start}...\" has {levels} levels and {} bytes", path.len());
            return Err(wrong(problem, format!("at most {MAX_LEVELS} levels and {MAX_PATH} bytes")));
        }
        for part in parts() {
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
