//! `survey`: an inventory of a share as a workload file; names never leave the machine, nor stand in the file.

use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use sharebench_engine::{Survey, survey};
use sharebench_model::units::ByteSize;

use crate::exit::Failure;
use crate::flags::GlobalFlags;
use crate::run::targets;

#[derive(Debug, Args)]
pub struct SurveyArgs {
    /// A directory, or any other target.
    #[arg(value_name = "PATH|TARGET")]
    pub target: String,
    /// Where to write the workload; standard output unless given.
    #[arg(long, short, value_name = "FILE.toml")]
    pub output: Option<PathBuf>,
    /// Look at no more files than this.
    #[arg(long, default_value_t = 1_000_000)]
    pub most: u64,
    /// Files of the data set it describes: the shares of types and sizes stay.
    #[arg(long, default_value_t = 1_000)]
    pub files: u64,
}

/// Looks, sums up, and writes a workload file.
pub fn run(args: &SurveyArgs, flags: &GlobalFlags) -> Result<ExitCode, Failure> {
    let target = targets::open(&args.target, flags.password_file.as_deref())?;
    let found = survey(target.as_ref(), args.most, Duration::from_secs(30))?;
    if found.files() == 0 {
        return Err(Failure::usage(format!("{}: no files with content to describe", args.target)));
    }
    let text = workload(&found, args.files.clamp(1, found.files()));
    match &args.output {
        Some(path) => {
            std::fs::write(path, text)
                .map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?;
            eprintln!(
                "{}: {} files described; use it by: sharebench load TARGET --preset {}",
                path.display(),
                found.files(),
                path.display()
            );
        }
        None => print!("{text}"),
    }
    Ok(ExitCode::SUCCESS)
}

/// The inventory in comments, and a workload of about `files` files with its shares of types and sizes.
fn workload(found: &Survey, files: u64) -> String {
    let mut text = summary(found);
    text.push_str(
        "\n[load]\nworkload = \"surveyed\"\nusers = [1, 5, 10, 20]\nthink = \"lognormal 2s 20s\"\n\n[workload]\n\
         name = \"surveyed\"\nsource = \"The files: a survey of a share, sizes rounded up to powers of two. What is done with \
         them is a placeholder: look, and read whole files.\"\norder = \"weighted\"\n",
    );
    let (directories, entries) = found.directories;
    let fan_out = (entries.saturating_sub(found.files() + found.empty) / directories.max(1)).clamp(2, 100);
    let deepest = found.depths.iter().max_by_key(|(_, files)| **files).map_or(0, |(depth, _)| *depth);
    let (mut transactions, all) = (String::new(), found.files());
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
        if found.cut { "; there was more (--most)" } else { "" }
    );
    let small: u64 = found.types.values().flat_map(|t| t.sizes.range(..=65_536)).map(|(_, n)| n).sum();
    let _ = writeln!(
        text,
        "# {:.0} % of the files have at most 64 KiB.",
        small as f64 * 100.0 / found.files().max(1) as f64
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
    fn what_is_written_is_a_valid_preset_with_the_shares_of_the_survey() {
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
        let sharebench_plan::Work::Transactions(work) = &plan.loads[0].1 else { panic!("no users") };
        let counts: Vec<usize> = work.workload.set.classes.iter().map(|(_, files)| files.len()).collect();
        assert_eq!(counts, [6, 2]);
    }
}
