//! The survey of `learn` compared with programs that list a whole share: `nfs-ls -R` on nfs-ganesha, `smbclient` on smbd.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use sharebench_tests::{Ganesha, GaneshaOptions, Need, Smbd, SmbdOptions};

use crate::table::{Bar, Spread, Table};
use crate::usage::Usage;
use crate::{Failure, live};

/// Largest ratio of the wall time to that of the opponent.
const BAR: f64 = 1.2;
/// Directories of the share, and files in each.
const DIRECTORIES: usize = 200;
const FILES: usize = 1_000;

/// A program that lists a whole share, and its Debian package.
struct Opponent {
    program: &'static str,
    package: &'static str,
}

const NFS_LS: Opponent = Opponent { program: "nfs-ls", package: "libnfs-utils" };
const SMBCLIENT: Opponent = Opponent { program: "smbclient", package: "smbclient" };

impl Opponent {
    fn is_installed(&self) -> bool {
        let missing = Need::Program(self.program).unmet();
        if missing.is_some() {
            println!("| {} is missing (Debian package {}) |", self.program, self.package);
        }
        missing.is_none()
    }
}

/// Prints the table.
pub fn measure(table: &mut Table, scratch: &Path) -> Result<(), Failure> {
    println!("\n### `learn` of a share of {} files in {DIRECTORIES} directories\n", DIRECTORIES * FILES);
    println!(
        "| {:<20} | {:<12} | {:>6} | {:>6} | {:<17} | {:<12} | {:>9} | {:>9} | {:<17} |",
        "us",
        "against",
        "our s",
        "its s",
        "ratio (range)",
        "bar",
        "our CPU s",
        "its CPU s",
        "CPU ratio (range)"
    );
    println!("|---|---|---:|---:|---|---|---:|---:|---|");
    let program = live::program()?;
    let preset = scratch.join("survey.toml");
    let survey = |url: &str| {
        let mut command = Command::new(&program);
        command.args(["learn", url, "-o"]).arg(&preset).env("SHAREBENCH_PASSWORD", Smbd::PASSWORD);
        command
    };
    if NFS_LS.is_installed() {
        let ganesha = Ganesha::start(&GaneshaOptions::default())?;
        make_files(&ganesha.directory())?;
        let url = format!(
            "nfs://127.0.0.1{}?version=3&nfsport={}&mountport={}&auto-traverse-mounts=0",
            ganesha.export(),
            ganesha.port(),
            ganesha.mount_port()
        );
        let mut list = Command::new(NFS_LS.program);
        list.args(["-R", &url]);
        contest(table, "survey on ganesha", &NFS_LS, survey(&ganesha.url("", "uid=0&gid=0")), list)?;
    }
    if SMBCLIENT.is_installed() {
        let smbd = Smbd::start(&SmbdOptions::default())?;
        make_files(&smbd.share())?;
        let mut list = Command::new(SMBCLIENT.program);
        list.args(["//127.0.0.1/share", "-p", &smbd.port().to_string(), "-U"])
            .arg(format!("{}%{}", smbd.user(), Smbd::PASSWORD))
            .args(["-c", "recurse; ls"]);
        contest(table, "survey on smbd", &SMBCLIENT, survey(&smbd.url("", "")), list)?;
    }
    Ok(())
}

/// Measures both programs alternately and prints a row. The first run of each fills the server's caches and is not counted.
fn contest(
    table: &mut Table,
    what: &str,
    opponent: &Opponent,
    mut ours: Command,
    mut its: Command,
) -> Result<(), Failure> {
    Usage::from_command(&mut ours)?;
    let listed = its.stdin(Stdio::null()).stdout(Stdio::piped()).output()?;
    // One line per entry; smbclient prints others too.
    let lines = listed.stdout.split(|byte| *byte == b'\n').count();
    if lines < DIRECTORIES * (FILES + 1) {
        return Err(format!("{} listed {lines} lines: {}", opponent.program, listed.status).into());
    }
    let mut our_usages = Vec::new();
    let mut its_usages = Vec::new();
    for _ in 0..table.rounds() {
        our_usages.push(Usage::from_command(&mut ours)?);
        its_usages.push(Usage::from_command(&mut its)?);
    }
    let median =
        |usages: &[Usage], figure: fn(&Usage) -> f64| Spread::new(usages.iter().map(figure).collect()).median;
    let ratio = |figure: fn(&Usage) -> f64| {
        Spread::new(our_usages.iter().zip(&its_usages).map(|(our, its)| figure(our) / figure(its)).collect())
    };
    let wall = ratio(|usage| usage.wall_s);
    let name = opponent.program;
    println!(
        "| {what:<20} | {name:<12} | {:>6.2} | {:>6.2} | {:<17} | {:<12} | {:>9.2} | {:>9.2} | {:<17} |",
        median(&our_usages, |usage| usage.wall_s),
        median(&its_usages, |usage| usage.wall_s),
        wall.shown(),
        table.verdict(&format!("{what} vs {name}: wall time"), wall.median, Some(Bar::AtMost(BAR))),
        median(&our_usages, |usage| usage.cpu_s),
        median(&its_usages, |usage| usage.cpu_s),
        ratio(|usage| usage.cpu_s).shown(),
    );
    Ok(())
}

/// Makes the files. One of each directory has content, because a survey of empty files has no result.
fn make_files(directory: &Path) -> Result<(), Failure> {
    for index in 0..DIRECTORIES {
        let parent = directory.join(format!("directory-{index}"));
        fs::create_dir(&parent)?;
        for file in 0..FILES {
            let content: &[u8] = if file == 0 { b"content" } else { b"" };
            fs::write(parent.join(format!("file-{file}.txt")), content)?;
        }
    }
    Ok(())
}
