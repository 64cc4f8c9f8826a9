//! `sharebench survey`: an inventory of a share as a workload file. The file contains no names.

use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use sharebench_engine::{Survey, survey};
use sharebench_model::units::{ByteSize, parse_duration, percent};

use crate::exit::Failure;
use crate::files;
use crate::flags::password::PasswordFlags;
use crate::output::{line, print_out};
use crate::run::targets;

pub const SURVEY_HELP: &str = "Examples:
  sharebench survey /mnt/nas -o mine.toml
  sharebench load smb://alice@nas/share --preset mine.toml";

#[derive(Debug, Args)]
pub struct SurveyArgs {
    /// Directory or other target to survey.
    #[arg(value_name = "PATH|TARGET")]
    pub target: String,
    /// Write the workload to FILE [default: standard output].
    #[arg(long, short, value_name = "FILE.toml")]
    pub output: Option<PathBuf>,
    /// Read at most N files.
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    pub max_files: u64,
    /// Number of files in the data set of the workload, which keeps the shares of types and sizes.
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    pub files: u64,
    /// Longest wait for a reply of the target.
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_duration)]
    pub timeout: Duration,
    #[command(flatten)]
    pub password: PasswordFlags,
}

/// Surveys the target and writes a workload file.
pub fn run(args: &SurveyArgs) -> Result<ExitCode, Failure> {
    let target = targets::open(&args.target, args.password.file())?;
    let found = survey(target.as_ref(), args.max_files, args.timeout)?;
    if found.files() == 0 {
        return Err(Failure::usage(format!("{}: no file has content", args.target)));
    }
    let text = workload(&found, args.files.clamp(1, found.files()));
    match &args.output {
        Some(path) => {
            files::write(path, text.as_bytes())
                .map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?;
            line(format_args!(
                "{}: {} files; use it with: sharebench load TARGET --preset {}",
                path.display(),
                found.files(),
                path.display()
            ));
            Ok(ExitCode::SUCCESS)
        }
        None => print_out(&text),
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
    let (directories, entries) = found.directories;
    let fan_out = (entries.saturating_sub(found.files() + found.empty) / directories.max(1)).clamp(2, 100);
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
    let bytes: u64 = found.types.values().map(|of_type| of_type.bytes).sum();
    let mut text = format!(
        "# {} files with {bytes} bytes in {} directories, {} empty files, {} names refused{}.\n",
        found.files(),
        found.directories.0,
        found.empty,
        found.refused,
        if found.cut { "; there was more (--max-files)" } else { "" }
    );
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
        let mut found =
            Survey { directories: (4, 24), depths: [(0, 2), (1, 18)].into(), ..Survey::default() };
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
    }
}
