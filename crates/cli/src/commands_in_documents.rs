//! Commands and options that the documents show exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Parser;
use clap::error::ErrorKind;
use sharebench_model::{SCHEMES, url_options};
use sharebench_plan::Plan;

use crate::args::{Arguments, command};

/// Options of fio, mpirun, dpkg, smbclient and this repository's scripts that the documents name in code on its own.
const OPTIONS_OF_OTHERS: [&str; 11] = [
    "allow-run-as-root",
    "faults",
    "list",
    "mca",
    "no-load",
    "output-format",
    "purge",
    "tolerance",
    "use-kerberos",
    "with-libnfs",
    "write",
];

#[test]
fn every_command_in_the_documents_is_parsed() {
    let mut parsed = 0;
    let mut rejected = Vec::new();
    for (path, text) in documents() {
        for Shown { command, is_whole } in commands(&text) {
            let words = words(&command);
            match Arguments::try_parse_from(&words) {
                Ok(_) => {
                    parsed += 1;
                    let unknown = unknown_preset(&words).into_iter().chain(unknown_url_option(&words));
                    rejected.extend(unknown.map(|name| format!("{}: {name}", path.display())));
                }
                // Help that was asked for.
                Err(error) if !error.use_stderr() => parsed += 1,
                Err(error) => match error.kind() {
                    // A placeholder in capitals or an ellipsis is not a value.
                    ErrorKind::ValueValidation | ErrorKind::InvalidValue
                        if words.iter().any(|word| is_placeholder(word)) => {}
                    ErrorKind::MissingRequiredArgument | ErrorKind::InvalidValue if !is_whole => {}
                    _ => rejected.push(format!("{}: {command}\n{error}", path.display())),
                },
            }
        }
    }
    assert!(rejected.is_empty(), "{}", rejected.join("\n"));
    assert!(parsed > 100, "{parsed} commands");
}

#[test]
fn every_option_in_the_documents_exists() {
    let root = command();
    let mut known: BTreeSet<String> = ["help", "version"].map(str::to_owned).into();
    let mut commands = vec![root];
    while let Some(command) = commands.pop() {
        known.extend(command.get_arguments().filter_map(|argument| Some(argument.get_long()?.to_owned())));
        commands.extend(command.get_subcommands().cloned());
    }
    let mut unknown = Vec::new();
    for (path, text) in documents() {
        // Code that begins with an option, as in `--users 5`, means one of ours.
        for (at, _) in text.match_indices("`--") {
            let option: String = text[at + 3..]
                .chars()
                .take_while(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || *c == '-')
                .collect();
            if !known.contains(&option) && !OPTIONS_OF_OTHERS.contains(&option.as_str()) {
                unknown.push(format!("{}: --{option}", path.display()));
            }
        }
    }
    assert!(unknown.is_empty(), "{}", unknown.join("\n"));
}

/// The documents of users, with their paths.
fn documents() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut folders = vec![root.join("docs")];
    let mut paths = vec![root.join("README.md")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                paths.push(path);
            }
        }
    }
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), fs::read_to_string(path).unwrap())).collect()
}

/// A command in a document.
#[derive(Debug, PartialEq, Eq)]
struct Shown {
    command: String,
    /// It is a line of a block, not `code` in a sentence, which may lack what does not matter there.
    is_whole: bool,
}

/// The commands of blocks, each in one line, and those of `code` that has an option.
fn commands(text: &str) -> Vec<Shown> {
    let mut found = Vec::new();
    let mut open = String::new();
    let mut fenced = false;
    for line in text.lines() {
        // A block that shows what a command prints has a prompt.
        let line = line.strip_prefix("$ ").unwrap_or(line);
        fenced ^= line.trim_start().starts_with("```");
        let begins = (fenced || line.starts_with("    ")) && line.trim().starts_with("sharebench ");
        if begins || !open.is_empty() {
            if let Some(start) = line.trim().strip_suffix('\\') {
                open.push_str(start);
            } else {
                let command = std::mem::take(&mut open) + line.trim();
                found.push(Shown { command, is_whole: true });
            }
        } else if !fenced {
            let code = line.split('`').skip(1).step_by(2);
            let commands = code.filter(|code| code.starts_with("sharebench ") && code.contains(" --"));
            found.extend(commands.map(|command| Shown { command: command.to_owned(), is_whole: false }));
        }
    }
    found
}

/// Splits a command as a shell does, up to a comment or a control operator.
fn words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    for c in command.chars() {
        match quote {
            Some(open) if c == open => quote = None,
            None if c == '\'' || c == '"' => quote = Some(c),
            None if c == '#' && word.is_empty() => break,
            None if "|>&;".contains(c) => break,
            None if c == ' ' => words.extend(Some(std::mem::take(&mut word)).filter(|word| !word.is_empty())),
            _ => word.push(c),
        }
    }
    words.extend(Some(word).filter(|word| !word.is_empty()));
    words
}

/// The preset or workload of a command that is neither a file nor built in.
fn unknown_preset(words: &[String]) -> Option<&String> {
    let mut from_flag = words.iter().skip_while(|word| !["--preset", "--workload"].contains(&word.as_str()));
    let name = from_flag.nth(1).filter(|name| !name.contains(".toml"))?;
    Plan::from_preset(name).is_err().then_some(name)
}

/// The value of `--vary` whose option no URL has.
fn unknown_url_option(words: &[String]) -> Option<&String> {
    let varied = words.windows(2).filter(|pair| pair[0] == "--vary").map(|pair| &pair[1]);
    varied.into_iter().find(|text| {
        let name = text.split('=').next().unwrap_or_default();
        !SCHEMES.into_iter().flat_map(url_options).any(|option| option.name == name)
    })
}

fn is_placeholder(word: &str) -> bool {
    word.contains("..")
        || word.contains('$')
        || word
            .split(|c: char| !c.is_ascii_alphabetic())
            .any(|part| !part.is_empty() && part.chars().all(|c| c.is_ascii_uppercase()))
}

#[test]
fn commands_are_read_as_a_shell_reads_them() {
    let text = "    sharebench load x \\\n        --slo 'p95<20ms, b' # why\n\nsee `sharebench runs` and `sharebench show 1 --db a`\n";
    let shown = |command: &str, is_whole| Shown { command: command.to_owned(), is_whole };
    let expected = [
        shown("sharebench load x --slo 'p95<20ms, b' # why", true),
        shown("sharebench show 1 --db a", false),
    ];
    assert_eq!(commands(text), expected);
    assert_eq!(
        words("sharebench load x --slo 'p95<20ms, b' # why"),
        ["sharebench", "load", "x", "--slo", "p95<20ms, b"]
    );
}
