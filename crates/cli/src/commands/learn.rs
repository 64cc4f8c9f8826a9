//! `sharebench learn`: captures, traces and logs as a preset, a loadfile and a report on the captured server; counters of NFS
//! mounts as a report; the files of a share as a preset.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use sharebench_learn::{
    Contents, Learned, Observed, ReadOptions, SessionKeyTable, Snapshot, learn, loadfile, mount_reports,
    mounts_to_json, preset, server_report, to_json,
};
use sharebench_model::units::counted;
use sharebench_plan::target_url;
use sharebench_report::plain;
use sharebench_target::wipe;

use crate::commands::learn_mounts_text;
use crate::commands::learn_text::text;
use crate::commands::survey::{self, SurveyFlags};
use crate::exit::Failure;
use crate::files;
use crate::flags::output::QuietFlags;
use crate::output::{line, print_notes, print_object, print_out, style};

/// Name of the workload in a preset whose file name has no letters for one.
const USUAL_NAME: &str = "learned";

/// Examples of `learn --help`.
pub const LEARN_HELP: &str =
    "Names and data of the users are in none of the outputs. docs/measure/learn.md describes
what is learned, how well it fits, and what a capture cannot show.

Examples:
  sharebench learn monday.pcapng -o mine.toml
  sharebench learn smb://alice@nas/share -o mine.toml      # a survey: sizes, types and depths of its files
  sharebench load smb://alice@nas/share --preset mine.toml
  tcpdump -w - port 2049 | sharebench learn - --loadfile mine.load
  sharebench load nfs://nas/export --loadfile mine.load --pace x2 --users 1
  strace -f -y -ttt -T -o build.trace make; sharebench learn build.trace --below /srv -o build.toml
  sharebench learn /var/log/samba/audit.log -o office.toml
  sharebench learn encrypted.pcapng --keys ~/.config/wireshark/smb2_seskey_list -o mine.toml
  sharebench learn monday.pcapng --json

Counters of the NFS mounts of a Linux client, without a workload:
  cp /proc/self/mountstats before; make; cp /proc/self/mountstats after
  sharebench learn before after";

#[derive(Debug, Args)]
pub struct LearnArgs {
    /// Captures (pcap, pcapng), traces (strace -f -y -ttt -T), audit logs of Samba, or copies of /proc/self/mountstats,
    /// also with gzip, in the order of their time; - for standard input. Or one share to survey: a directory or a URL.
    #[arg(required = true, value_name = "SOURCE")]
    pub sources: Vec<PathBuf>,
    /// Write the learned workload as a preset to FILE, which is replaced if it exists [of a share: standard output].
    #[arg(long, short, value_name = "FILE.toml")]
    pub output: Option<PathBuf>,
    /// Write all operations with their time stamps as a loadfile to FILE, which is replaced if it exists.
    #[arg(long, value_name = "FILE.load")]
    pub loadfile: Option<PathBuf>,
    /// Address of the server, if the captures show several.
    #[arg(long, value_name = "ADDRESS")]
    pub server: Option<String>,
    /// Of traces, learn only what happens to files below this directory.
    #[arg(long, value_name = "DIRECTORY")]
    pub below: Option<String>,
    /// Decrypt SMB 3 with the session keys of FILE, in the format of Wireshark's table of SMB 2 session keys.
    #[arg(long, value_name = "FILE")]
    pub keys: Option<PathBuf>,
    /// Print the report and the learned workload as one JSON object (docs/schemas/learn-1.json).
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub quiet: QuietFlags,
    #[command(flatten)]
    pub survey: SurveyFlags,
}

/// Learns from the inputs, writes what is requested and prints the report.
pub fn run(args: &LearnArgs) -> Result<ExitCode, Failure> {
    if let Some(share) = share(args)? {
        return survey::run(&share, args.output.as_deref(), &args.survey, args.quiet);
    }
    if let Some(flag) = args.survey.given() {
        return Err(Failure::usage(format!(
            "{flag}: only the survey of a share has a use for it; leave it out"
        )));
    }
    check_outputs(args)?;
    let observed = match read(args)? {
        Contents::Operations(observed) => observed,
        Contents::Mounts(snapshots) => return run_mounts(args, &snapshots),
    };
    print_notes(&observed.key_notes, args.quiet.quiet);
    if observed.operations.is_empty() {
        let names: Vec<String> = args.sources.iter().map(|path| plain(&path.display().to_string())).collect();
        return Err(Failure::usage(format!("{}: no operation of a file server is in it", names.join(", "))));
    }
    let report = server_report(&observed);
    let learned = learn(&observed);
    if let Some(path) = &args.output {
        write_preset(path, &learned, args.quiet)?;
    }
    if let Some(path) = &args.loadfile {
        write_loadfile(path, &observed, args.quiet)?;
    }
    if args.json {
        print_object(&to_json(&report, &learned));
        return Ok(ExitCode::SUCCESS);
    }
    // Standard output has the workload and nothing else.
    if [&args.output, &args.loadfile].into_iter().flatten().any(|path| is_standard_output(path)) {
        return Ok(ExitCode::SUCCESS);
    }
    print_out(&text(&report, &learned, style()))
}

/// The share to survey; none for captures.
fn share(args: &LearnArgs) -> Result<Option<String>, Failure> {
    let share_of = |source: &Path| -> Result<Option<String>, Failure> {
        match source.to_str() {
            None | Some("-") => Ok(None),
            // A named target; a file of that name is ./@NAME.
            Some(text) if text.starts_with('@') => Ok(Some(text.to_owned())),
            Some(text) if source.is_dir() => Ok(Some(text.to_owned())),
            Some(_) if source.exists() => Ok(None),
            Some(text) => {
                let url = target_url(text).map_err(|why| Failure::usage(format!("SOURCE: {why}")))?;
                Ok(Some(url).filter(|url| url.contains("://")))
            }
        }
    };
    let mut found = None;
    for source in &args.sources {
        found = found.or(share_of(source)?);
    }
    let Some(share) = found else { return Ok(None) };
    if args.sources.len() > 1 {
        return Err(Failure::usage(format!("SOURCE: '{share}' is a share to survey; give it alone")));
    }
    let of_captures = [
        ("--loadfile", args.loadfile.is_some()),
        ("--server", args.server.is_some()),
        ("--below", args.below.is_some()),
        ("--keys", args.keys.is_some()),
        ("--json", args.json),
    ];
    match of_captures.into_iter().find(|(_, given)| *given) {
        Some((flag, _)) => Err(Failure::usage(format!(
            "{flag}: '{share}' is a share, and a survey finds files, but no operations; leave it out, or give a capture"
        ))),
        None => Ok(Some(share)),
    }
}

/// Reports on mounts. Their counters have no sequences, so that they do not become a workload.
fn run_mounts(args: &LearnArgs, snapshots: &[Snapshot]) -> Result<ExitCode, Failure> {
    let outputs = [("--output", &args.output), ("--loadfile", &args.loadfile)];
    if let Some((flag, path)) = outputs.iter().find_map(|(flag, path)| Some((flag, path.as_ref()?))) {
        let names: Vec<String> = args.sources.iter().map(|path| plain(&path.display().to_string())).collect();
        return Err(Failure::usage(format!(
            "{flag} {}: {} count operations and do not show their sequence; capture them with: tcpdump -s 512 -w FILE port 2049",
            path.display(),
            names.join(", ")
        )));
    }
    let reports = mount_reports(snapshots);
    if args.json {
        print_object(&mounts_to_json(&reports, snapshots.len()));
        return Ok(ExitCode::SUCCESS);
    }
    print_out(&learn_mounts_text::text(&reports, snapshots.len()))
}

fn is_standard_output(path: &Path) -> bool {
    path == Path::new(files::STANDARD_OUTPUT)
}

/// An output must be neither an input nor the other output.
fn check_outputs(args: &LearnArgs) -> Result<(), Failure> {
    let outputs = [("--output", &args.output), ("--loadfile", &args.loadfile)];
    for (flag, path) in outputs.iter().filter_map(|(flag, path)| Some((flag, path.as_ref()?))) {
        let is_same = |other: &Path| !is_standard_output(path) && (other == path || same_file(other, path));
        if args.sources.iter().any(|capture| is_same(capture)) {
            return Err(Failure::usage(format!("{flag} {}: it would replace a capture", path.display())));
        }
        if args.keys.as_ref().is_some_and(|keys| is_same(keys)) {
            return Err(Failure::usage(format!("{flag} {}: it would replace the keys", path.display())));
        }
    }
    match (&args.output, &args.loadfile) {
        (Some(preset), Some(loadfile)) if preset == loadfile || same_file(preset, loadfile) => {
            Err(Failure::usage(format!("--loadfile {}: it is the file of --output too", loadfile.display())))
        }
        _ => Ok(()),
    }
}

fn same_file(first: &Path, second: &Path) -> bool {
    match (first.canonicalize(), second.canonicalize()) {
        (Ok(first), Ok(second)) => first == second,
        _ => false,
    }
}

fn read(args: &LearnArgs) -> Result<Contents, Failure> {
    let keys = args.keys.as_deref().map(read_keys).transpose()?;
    let options = ReadOptions { server: args.server.clone(), below: args.below.clone(), keys };
    let mut inputs: Vec<(String, Box<dyn Read>)> = Vec::new();
    for path in &args.sources {
        let input: Box<dyn Read> = if path.as_os_str() == "-" {
            Box::new(std::io::stdin().lock())
        } else {
            let file = File::open(path).and_then(|file| {
                let is_directory = file.metadata()?.is_dir();
                if is_directory { Err(std::io::ErrorKind::IsADirectory.into()) } else { Ok(file) }
            });
            Box::new(file.map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?)
        };
        inputs.push((path.display().to_string(), input));
    }
    sharebench_learn::read(inputs.into_iter(), &options).map_err(Failure::usage)
}

/// Reads the session keys. Their text is overwritten.
fn read_keys(path: &Path) -> Result<SessionKeyTable, Failure> {
    let name = path.display().to_string();
    let text = files::read_text(path).map_err(|error| Failure::usage(format!("--keys {name}: {error}")))?;
    let keys = SessionKeyTable::parse(&name, &text);
    wipe(text.into_bytes());
    keys.map_err(Failure::usage)
}

fn write_preset(path: &Path, learned: &Learned, quiet: QuietFlags) -> Result<(), Failure> {
    let Some(text) = preset(learned, &workload_name(path)) else {
        return Err(Failure::usage(format!(
            "--output {}: none of the operations is one that a preset can have",
            path.display()
        )));
    };
    let verb = write("--output", path, text.as_bytes())?;
    if !quiet.quiet && !is_standard_output(path) {
        line(format_args!(
            "{}: {verb}; use it with: sharebench load TARGET --preset {0}",
            plain(&path.display().to_string())
        ));
    }
    Ok(())
}

fn write_loadfile(path: &Path, observed: &Observed, quiet: QuietFlags) -> Result<(), Failure> {
    let written = loadfile(observed);
    if written.lines == 0 {
        return Err(Failure::usage(format!(
            "--loadfile {}: none of the operations is one that a loadfile can have",
            path.display()
        )));
    }
    let verb = write("--loadfile", path, written.text.as_bytes())?;
    if quiet.quiet {
        return Ok(());
    }
    let name = plain(&path.display().to_string());
    line(format_args!(
        "{name}: {verb}, {}; use it with: sharebench load TARGET --loadfile {name} --users 1",
        counted(written.lines, "operation")
    ));
    for left_out in &written.left_out {
        line(format_args!("note: {name}: not in it: {}: {}", left_out.what, left_out.operations));
    }
    Ok(())
}

/// Writes an output; whether it replaced a file.
fn write(flag: &str, path: &Path, bytes: &[u8]) -> Result<&'static str, Failure> {
    let existed = path.exists();
    files::write(path, bytes)
        .map_err(|error| Failure::usage(format!("{flag} {}: {error}", path.display())))?;
    Ok(if existed { "replaced" } else { "written" })
}

/// The name of the file without its extension, as far as names of workloads have its letters.
fn workload_name(path: &Path) -> String {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let name: String =
        stem.chars().filter(|c| c.is_ascii_alphanumeric() || "-_.".contains(*c)).take(64).collect();
    let is_preset = sharebench_plan::Plan::from_preset(&name).is_ok();
    if name.is_empty() || name.starts_with('.') || is_preset { USUAL_NAME.to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workload_is_named_after_its_file() {
        for (path, name) in
            [("/tmp/mine.toml", "mine"), ("mo n\u{e4}.toml", "mon"), ("-", "-"), ("office.toml", "learned")]
        {
            assert_eq!(workload_name(Path::new(path)), name);
        }
    }

    #[test]
    fn an_output_never_replaces_an_input() {
        let args = |output: &str, loadfile: &str| LearnArgs {
            sources: vec!["a.pcap".into()],
            output: Some(output.into()),
            loadfile: Some(loadfile.into()),
            server: None,
            below: None,
            keys: Some("keys".into()),
            json: false,
            quiet: QuietFlags { quiet: true },
            survey: SurveyFlags::default(),
        };
        let problem =
            |output: &str, loadfile: &str| check_outputs(&args(output, loadfile)).unwrap_err().to_string();
        assert!(problem("a.pcap", "b").contains("--output a.pcap: it would replace a capture"));
        assert!(problem("b", "a.pcap").contains("--loadfile a.pcap"));
        assert!(problem("keys", "b").contains("--output keys: it would replace the keys"));
        assert!(problem("b", "b").contains("the file of --output too"));
        assert!(check_outputs(&args("b", "c")).is_ok());
    }
}
