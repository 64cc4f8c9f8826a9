//! Options of a job, as its file or its command line gave them.

use std::collections::BTreeMap;

use super::output::Job;

/// Options of a job, followed by the global ones.
pub(super) struct Options<'a> {
    own: &'a BTreeMap<String, String>,
    global: &'a BTreeMap<String, String>,
}

/// Engines that wait for each operation, whatever `iodepth` says.
const ONE_AT_A_TIME: [&str; 7] = ["sync", "psync", "vsync", "pvsync", "pvsync2", "mmap", "ftruncate"];

impl<'a> Options<'a> {
    pub fn new(global: &'a BTreeMap<String, String>, job: &'a Job) -> Self {
        Self { own: &job.options, global }
    }

    pub fn get(&self, name: &str) -> Option<&'a str> {
        self.own.get(name).or_else(|| self.global.get(name)).map(|text| text.trim())
    }

    /// The first of an option's names that is given.
    fn either(&self, names: [&str; 2]) -> Option<&'a str> {
        names.into_iter().find_map(|name| self.get(name))
    }

    pub fn number(&self, name: &str) -> Option<u64> {
        self.get(name)?.parse().ok()
    }

    /// True for a flag that is given and not 0.
    pub fn is_set(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| value != "0")
    }

    /// Operations in flight per process.
    pub fn depth(&self) -> u64 {
        let engine = self.get("ioengine").unwrap_or("psync");
        if ONE_AT_A_TIME.contains(&engine) { 1 } else { self.number("iodepth").unwrap_or(1).max(1) }
    }

    /// Our name of what the job did, given the directions in which it moved data.
    pub fn test(&self, moved: &[&str]) -> Result<String, String> {
        let pattern = self.either(["rw", "readwrite"]).unwrap_or("read");
        // `randread:8` skips records; only its name shows that.
        let pattern = pattern.split(':').next().unwrap_or(pattern);
        let test = match pattern {
            "read" => "read",
            "write" if self.is_set("overwrite") => "rewrite",
            "write" => "write",
            "randread" => "random-read",
            "randwrite" => "random-write",
            "rw" | "readwrite" => "mix",
            "randrw" => "random-mix",
            "trim" => "trim",
            "randtrim" => "random-trim",
            "trimwrite" | "randtrimwrite" => pattern,
            other => return Err(format!("rw={other} is not known; is it from a newer fio?")),
        };
        // Writes that are verified are read back as well; such a job is not what its pattern says.
        let sides = match test {
            "mix" | "random-mix" | "trimwrite" | "randtrimwrite" => 2,
            _ => 1,
        };
        if moved.len() > sides {
            return Err(format!("rw={pattern} moved data by {}", moved.join(" and ")));
        }
        let mapped = self.get("ioengine") == Some("mmap");
        Ok(if mapped { format!("mmap-{test}") } else { test.to_owned() })
    }

    /// Bytes per operation; of `read,write,trim` the one that the test uses.
    pub fn block_size(&self, test: &str) -> Result<u64, String> {
        let Some(sizes) = self.either(["bs", "blocksize"]) else { return Ok(4096) };
        if self.either(["bsrange", "blocksize_range"]).is_some() || self.get("bssplit").is_some() {
            return Err(
                "operations of several sizes (bsrange, bssplit) have no place on the record axis".into()
            );
        }
        let list: Vec<&str> = sizes.split(',').collect();
        let at = if test.contains("trim") { 2 } else { usize::from(test.contains("write")) };
        let chosen = list.get(at).filter(|size| !size.is_empty()).or(list.first()).copied().unwrap_or(sizes);
        let several = list.iter().any(|size| !size.is_empty() && *size != chosen);
        if several && test.contains("mix") {
            return Err(format!(
                "a mix with operations of several sizes (bs={sizes}) has no place on the record axis"
            ));
        }
        self.size(chosen).ok_or_else(|| format!("bs={sizes} is not a number of bytes"))
    }

    /// Bytes per process and file; none where it is not given in bytes.
    pub fn file_size(&self) -> Result<Option<u64>, String> {
        let files = self.number("nrfiles").unwrap_or(1).max(1);
        match (self.get("filesize"), self.get("size")) {
            (Some(text), _) if !text.contains('-') => {
                self.size(text).map(Some).ok_or_else(|| format!("filesize={text} is not a number of bytes"))
            }
            (None, Some(text)) if !text.ends_with('%') => {
                let size = self.size(text).ok_or_else(|| format!("size={text} is not a number of bytes"))?;
                Ok(Some(size / files))
            }
            _ => Ok(None),
        }
    }

    /// fio's sizes: by its default `kb_base` of 1024 both `k` and `kb` are 1024, and `ki` and `kib` 1000.
    fn size(&self, text: &str) -> Option<u64> {
        let lower = text.to_ascii_lowercase();
        let end = lower.find(|c: char| !c.is_ascii_digit()).unwrap_or(lower.len());
        let (digits, unit) = lower.split_at(end);
        let unit = unit.strip_suffix('b').unwrap_or(unit);
        let (letter, inverse) = unit.strip_suffix('i').map_or((unit, false), |letter| (letter, true));
        let binary = (self.get("kb_base") != Some("1000")) != inverse;
        let base: u64 = if binary { 1024 } else { 1000 };
        let power = ["", "k", "m", "g", "t", "p"].iter().position(|known| *known == letter)?;
        digits.parse::<u64>().ok()?.checked_mul(base.checked_pow(power as u32)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(pairs: &[(&str, &str)], check: impl Fn(&Options<'_>)) {
        let own = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        check(&Options { own: &own, global: &BTreeMap::new() });
    }

    #[test]
    fn sizes_parse_as_in_fio() {
        with(&[], |options| {
            let sizes = ["4096", "4k", "4KB", "4KiB", "1m", "2g", "k", "4x", "1.5m", "99999999999p"];
            let read = sizes.map(|size| options.size(size));
            let gib = Some(2 << 30);
            let expected =
                [Some(4096), Some(4096), Some(4096), Some(4000), Some(1 << 20), gib, None, None, None, None];
            assert_eq!(read, expected);
        });
        with(&[("kb_base", "1000")], |options| {
            assert_eq!((options.size("4k"), options.size("4ki")), (Some(4000), Some(4096)));
        });
    }

    #[test]
    fn blocks_depths_and_tests_follow_the_options() {
        with(&[("bs", "4k,64k"), ("rw", "randwrite"), ("ioengine", "libaio"), ("iodepth", "8")], |options| {
            assert_eq!(options.block_size("random-write"), Ok(65_536));
            assert_eq!(options.block_size("random-read"), Ok(4096));
            assert!(options.block_size("random-mix").is_err());
            assert_eq!((options.depth(), options.test(&["write"])), (8, Ok("random-write".into())));
            assert!(options.test(&["read", "write"]).is_err());
        });
        with(&[("iodepth", "8"), ("rw", "write"), ("overwrite", "1"), ("size", "50%")], |options| {
            assert_eq!((options.depth(), options.test(&["write"])), (1, Ok("rewrite".into())));
            assert_eq!(options.file_size(), Ok(None));
        });
        with(&[("rw", "sideways")], |options| assert!(options.test(&["read"]).is_err()));
    }
}
