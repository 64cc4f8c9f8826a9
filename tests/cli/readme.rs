//! README's questions: its commands run at Samba and NFS-Ganesha, and it shows what they print.
//!
//! With `SHAREBENCH_WRITE_DOCS` set, README is written from this run:
//!
//!     cargo build --release
//!     SHAREBENCH_WRITE_DOCS=1 SHAREBENCH_PROGRAM=target/release/sharebench \
//!         cargo test -p sharebench-tests --test end_to_end readme

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;
use std::{env, fs};

use sharebench_tests::{
    Ganesha, GaneshaOptions, Sharebench, SlowCall, SlowCalls, Smbd, SmbdOptions, Terminal, needs,
};

/// How README names both servers.
const SAMBA: &str = "smb://alice@nas/share";
const GANESHA: &str = "nfs://nas/export";
/// The planted cause, and last night's change: each write waits for storage that needs 2 ms.
const SLOW: &str = " sync always = yes\n";
/// Opens a block: the word that the shown part of the output begins with, and how many lines it has at most. The command follows.
const OPEN: &str = "```console from=";
const CLOSE: &str = "```\n";
/// Columns and rows of the terminal.
const SCREEN: (u32, u32) = (100, 24);
/// Lines above the screen that are read too.
const HISTORY: u32 = 200;
/// A command of README ends within this time, also on a machine that is busy.
const DEADLINE: Duration = Duration::from_mins(10);

/// The plan of the nightly job.
fn nightly(url: &str) -> String {
    format!(
        "repetitions = 10\nmin_sample_time = \"200ms\"\n[[target]]\nname = \"nas\"\nurl = \"{url}\"\n\
         [sweep]\nfile_sizes = [\"1MiB\"]\nrecord_sizes = [\"64KiB\"]\ntests = [\"write\", \"read\"]\n"
    )
}

/// A block of README.
struct Block<'a> {
    command: &'a str,
    from: &'a str,
    lines: usize,
    output: &'a str,
}

fn blocks(readme: &str) -> Vec<Block<'_>> {
    let rests = readme.split(OPEN).skip(1);
    rests
        .map(|rest| {
            let (form, rest) = rest.split_once("\n$ ").unwrap();
            let (from, lines) = form.split_once(" lines=").unwrap();
            let (command, rest) = rest.split_once('\n').unwrap();
            Block { command, from, lines: lines.parse().unwrap(), output: rest.split_once(CLOSE).unwrap().0 }
        })
        .collect()
}

/// The words in capitals that lines of an output begin with, and whether it names the next step.
fn labels(output: &str) -> BTreeSet<&str> {
    let first = output.lines().filter_map(|line| line.split_whitespace().next());
    first
        .filter(|word| word.len() > 3 && (word.chars().all(|c| c.is_ascii_uppercase()) || *word == "next:"))
        .collect()
}

/// The lines of a screen from the one that begins with a word, as many as a block has, with README's names.
fn excerpt(screen: &str, Block { from, lines: most, .. }: &Block, names: &[(String, &str)]) -> String {
    let whole = screen.split("ended with").next().unwrap();
    let lines: Vec<&str> =
        whole.lines().map(str::trim_end).skip_while(|line| !line.starts_with(*from)).collect();
    assert!(!lines.is_empty(), "no {from} in:\n{screen}");
    let end = lines.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
    let mut text: String = lines[..end.min(*most)].iter().flat_map(|line| [*line, "\n"]).collect();
    if end > *most {
        text.truncate(text.trim_end().len());
        text += "\n...\n";
    }
    for (real, shown) in names {
        text = text.replace(real, shown);
    }
    text
}

#[test]
fn readme_shows_what_its_commands_print() {
    needs!(Smbd::NEEDS, SlowCalls::NEEDS, Ganesha::NEEDS, Terminal::NEEDS);
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md");
    let text = fs::read_to_string(&readme).unwrap();
    let shown = blocks(&text);
    assert_eq!(shown.len(), 4, "README answers four questions");

    let sharebench = match env::var_os("SHAREBENCH_PROGRAM") {
        Some(program) => Sharebench::of(program.to_str().unwrap()).unwrap(),
        None => Sharebench::new().unwrap(),
    };
    let storage = SlowCalls::new(SlowCall::Sync, 2_000).unwrap();
    let mut smbd = Smbd::start(&SmbdOptions { slow: Some(storage), ..SmbdOptions::default() }).unwrap();
    let ganesha = Ganesha::start(&GaneshaOptions::default()).unwrap();
    let names = [(smbd.url("", ""), SAMBA), (ganesha.url("", ""), GANESHA)];
    sharebench.write("password", Smbd::PASSWORD).unwrap();
    sharebench.write("nightly.toml", &nightly(&smbd.url("", ""))).unwrap();

    let mut written = text.clone();
    for block in shown {
        let arguments = block.command.strip_prefix("sharebench ").unwrap();
        let arguments = names
            .iter()
            .fold(arguments.to_owned(), |line, (real, shown)| line.replace(shown, &format!("'{real}'")));
        let is_slow = ["diagnose", "gate"].iter().any(|command| arguments.starts_with(command));
        if arguments.starts_with("gate") {
            smbd.restart_with("").unwrap();
            // The first run is the baseline on any machine.
            let _ =
                sharebench.run(&["gate", "nightly.toml", "--max-slower", "20%"]).unwrap().expect_success();
        }
        smbd.restart_with(if is_slow { SLOW } else { "" }).unwrap();
        let line = format!("{arguments} --password-file password");
        let terminal = Terminal::start(&sharebench, &line, SCREEN).unwrap();
        let is_ended = |screen: &str| screen.contains("ended with");
        terminal.wait_within(DEADLINE, "end", is_ended).unwrap();
        let screen = terminal.screen(HISTORY).unwrap();
        let output = excerpt(&screen, &block, &names);
        println!("$ {}\n{output}", block.command);
        assert!(labels(block.output).is_subset(&labels(&screen)), "README shows another form of:\n{screen}");
        written = written.replace(block.output, &output);
    }
    if env::var_os("SHAREBENCH_WRITE_DOCS").is_some() {
        fs::write(&readme, written).unwrap();
    }
}
