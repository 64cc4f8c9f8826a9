//! `sharebench learn SHARE`: an inventory of a share as a workload file. The file contains no names.

use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use sharebench_engine::{Refusal, Survey, survey};
use sharebench_model::units::{ByteSize, counted, parse_duration, percent};
use sharebench_report::plain;

use crate::exit::Failure;
use crate::files;
use crate::flags::login::LoginFlags;
use crate::flags::output::QuietFlags;
use crate::output::{line, print_out};
use crate::run::{named_targets, targets};

/// Files that are described at most.
const MAX_FILES: u64 = 1_000_000;
/// Files in the data set of the workload.
const FILES: u64 = 1_000;
/// Longest wait for a reply of the target.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Options of a survey.
#[derive(Debug, Args, Clone, Default)]
#[command(next_help_heading = "Survey of a share")]
pub struct SurveyFlags {
    /// Describe at most N files: if the share has more, a random sample of N of them. All directories are listed [default:
    /// 1000000].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_files: Option<u64>,
    /// Number of files in the data set of the workload, which keeps the shares of types and sizes [default: 1000].
    #[arg(long, value_name = "N")]
    pub files: Option<u64>,
    /// Longest wait for a reply of the target [default: 30s].
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub timeout: Option<Duration>,
    #[command(flatten)]
    pub login: LoginFlags,
}

impl SurveyFlags {
    /// An option that was given.
    pub fn given(&self) -> Option<&'static str> {
        let given = [
            ("--max-files", self.max_files.is_some()),
            ("--files", self.files.is_some()),
            ("--timeout", self.timeout.is_some()),
            ("--password-file or --identity", self.login.any()),
        ];
        given.into_iter().find(|(_, given)| *given).map(|(flag, _)| flag)
    }
}

/// Surveys a share, and writes the workload to `output` or prints it.
pub fn run(
    share: &str,
    output: Option<&Path>,
    flags: &SurveyFlags,
    quiet: QuietFlags,
) -> Result<ExitCode, Failure> {
    let target = targets::open(&named_targets::url(share)?, &flags.login.read()?)?;
    let max_files = flags.max_files.unwrap_or(MAX_FILES);
    let found = survey(target.as_ref(), max_files, flags.timeout.unwrap_or(TIMEOUT))?;
    if !quiet.quiet {
        report_gaps(&found);
    }
    if found.files() == 0 {
        return Err(Failure::usage(format!("{share}: no file has content")));
    }
    let text = workload(&found, flags.files.unwrap_or(FILES).clamp(1, found.files()));
    let Some(path) = output.filter(|path| *path != Path::new(files::STANDARD_OUTPUT)) else {
        return print_out(&text);
    };
    files::write(path, text.as_bytes())
        .map_err(|error| Failure::usage(format!("--output {}: {error}", path.display())))?;
    if !quiet.quiet {
        line(format_args!(
            "{}: {}; use it with: sharebench load TARGET --preset {}",
            path.display(),
            counted(found.files(), "file"),
            path.display()
        ));
    }
    Ok(ExitCode::SUCCESS)
}

/// States on the terminal what the survey leaves out.
fn report_gaps(found: &Survey) {
    if found.is_sample {
        line(format_args!(
            "note: the target has {} files; the survey describes a random sample of {} of them (--max-files)",
            found.seen,
            found.described()
        ));
    }
    for Refusal { path, error } in &found.refusals {
        line(format_args!("note: not surveyed: {}: {}", plain(path), plain(&error.to_string())));
    }
    let others = found.refused - found.refusals.len() as u64;
    if others > 0 {
        line(format_args!("note: not surveyed: {others} more names"));
    }
}

/// The inventory as comments, and a workload of about `files` files with the same shares of types and sizes.
fn workload(found: &Survey, files: u64) -> String {
    let mut text = summary(found);
    text.push_str(
        "\n[load]\nworkload = \"surveyed\"\nusers = [1, 5, 10, 20]\nthink = \"lognormal 2s 20s\"\n\n[workload]\n\
         name = \"surveyed\"\nsource = \"Files: a survey of a share, sizes rounded up to powers of two. Operations: a \
         placeholder that lists directories and reads whole files.\"\norder = \"weighted\"\n",
    );
    let fan_out = (found.entries.saturating_sub(found.seen) / found.directories.max(1)).clamp(2, 100);
    let deepest = found.depths.iter().max_by_key(|(_, files)| **files).map_or(0, |(depth, _)| *depth);
    let mut transactions = String::new();
    let all = found.files();
    for (data, of_type) in &found.types {
        let here: u64 = of_type.sizes.values().sum();
        let count = (here * files).div_ceil(all);
        let sizes: Vec<String> =
            of_type.sizes.iter().map(|(size, count)| format!("{}:{count}", ByteSize(*size))).collect();
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "\n[[workload.files]]\nname = \"{data}\"\ncount = {count}\nsize = \"{}\"\ndata = \"{data}\"\nfan_out = {fan_out}\n\
             depth = {}\n",
            sizes.join(","),
            deepest.min(4)
        );
        let _ = write!(
            transactions,
            "\n[[workload.transactions]]\nname = \"read-{data}\"\nweight = {count}\nfiles = \"{data}\"\n\
             operations = [\"list\", \"stat\", \"open\", \"read 64KiB all\", \"close\"]\n"
        );
    }
    text + &transactions
}

fn summary(found: &Survey) -> String {
    let bytes = found.types.values().fold(0u64, |sum, of_type| sum.saturating_add(of_type.bytes));
    let mut text = format!(
        "# {} files with {bytes} bytes in {} directories, {} empty files, {} names refused.\n",
        found.files(),
        found.directories,
        found.empty,
        found.refused,
    );
    if found.is_sample {
        let _ =
            writeln!(text, "# They are a random sample: the share has {} files (--max-files).", found.seen);
    }
    let small: u64 = found.types.values().flat_map(|t| t.sizes.range(..=65_536)).map(|(_, n)| n).sum();
    let _ = writeln!(
        text,
        "# {} of the files have at most 64 KiB.",
        percent(small as f64 / found.files().max(1) as f64, 0)
    );
    for (data, of_type) in &found.types {
        let count: u64 = of_type.sizes.values().sum();
        let _ = writeln!(text, "#   {data}: {count} files, {} bytes", of_type.bytes);
    }
    let depths = found.depths.iter().map(|(depth, files)| format!("{files} at {depth}"));
    let _ = writeln!(
        text,
        "# files by levels of directories above them: {}",
        depths.collect::<Vec<_>>().join(", ")
    );
    text
}

#[cfg(test)]
mod tests {
    use sharebench_plan::Plan;

    use super::*;

    #[test]
    fn survey_becomes_a_valid_preset_with_the_same_shares() {
        let mut found = Survey { directories: 4, entries: 24, seen: 20, ..Survey::default() };
        found.depths = [(0, 2), (1, 18)].into();
        for (name, size, count) in [("text", 4096, 15), ("image-compressed", 1 << 20, 5)] {
            let of_type = found.types.entry(name.parse().unwrap()).or_default();
            of_type.sizes.insert(size, count);
            of_type.bytes += size * count;
        }
        let text = workload(&found, 8);
        assert!(text.starts_with("# 20 files with 5304320 bytes in 4 directories"), "{text}");
        assert!(text.contains("# 75 % of the files have at most 64 KiB."), "{text}");
        let plan = Plan::parse(&format!("[[target]]\nurl = '/a'\n{text}")).unwrap().resolve().unwrap();
        let sharebench_plan::Work::Transactions(work) = &plan.loads[0].1 else { panic!("no load") };
        let counts: Vec<usize> = work.workload.set.classes.iter().map(|(_, files)| files.len()).collect();
        assert_eq!(counts, [6, 2]);
        assert!(!text.contains("sample"), "{text}");
        found.seen = 1000;
        found.is_sample = true;
        let text = workload(&found, 8);
        assert!(text.contains("a random sample: the share has 1000 files"), "{text}");
    }
}
