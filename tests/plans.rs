//! Plans the tests run, and what to look for afterwards.

use std::fs;
use std::path::Path;

use sharebench_target::is_working_directory;

/// A sweep of small cells over targets given as name and URL.
pub fn sweep(targets: &[(&str, &str)], sample: &str, repetitions: u32) -> String {
    let target = |(name, url): &(&str, &str)| format!("[[target]]\nname = '{name}'\nurl = '{url}'\n");
    let targets: String = targets.iter().map(target).collect();
    format!(
        "title = 'test'\nseed = 7\nrepetitions = {repetitions}\nmin_sample_time = '{sample}'\n{targets}
[sweep]\nfile_sizes = ['64KiB', '1MiB']\nrecord_sizes = ['4KiB', '64KiB']
tests = ['write', 'rewrite', 'read', 'random-read']\n"
    )
}

/// Steps of [`sweep`] per target and repetition.
pub const SWEEP_STEPS: usize = 2 * 2 * 4;

/// What sharebench left in a directory: its own directories, by long and 8.3 names.
pub fn left_in(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    names.filter(|name| is_working_directory(name)).collect()
}
