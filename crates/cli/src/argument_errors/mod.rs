//! Errors in the arguments: what is wrong in one line, and the next step in another, as all other messages have them.

mod foreign;

use std::net::AddrParseError;
use std::num::ParseIntError;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory, Error};
use sharebench_model::without_secrets;

use crate::args::Arguments;
use crate::run::hint::shell_word;

/// Longest list of valid values in a message, in characters; a longer one is left to the help.
const MAX_LIST: usize = 160;

/// The message about an error in these words of the command line; the first one is the program. None for help and version, which
/// are no errors.
pub fn message(error: &Error, words: &[String]) -> Option<String> {
    let command = command_of(words);
    let (problem, hint) = match error.kind() {
        ErrorKind::DisplayHelp
        | ErrorKind::DisplayVersion
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => return None,
        ErrorKind::UnknownArgument => unknown_argument(error, &command),
        ErrorKind::InvalidSubcommand => unknown_command(error, words),
        ErrorKind::InvalidValue => invalid_value(error, &command),
        ErrorKind::ValueValidation => return Some(rejected_value(error)),
        ErrorKind::MissingRequiredArgument => missing_argument(error, &command),
        ErrorKind::ArgumentConflict => conflict(error),
        _ => (first_line(error), see_help(&command)),
    };
    Some(format!("error: {problem}\n  hint: {hint}"))
}

/// The command that the words name, with its own name such as `sharebench sweep`.
fn command_of(words: &[String]) -> Command {
    let mut root = Arguments::command();
    root.build();
    let mut command = &root;
    for word in words.iter().skip(1) {
        match command.find_subcommand(word) {
            Some(found) => command = found,
            // The words of a command follow each other.
            None if command.get_name() != root.get_name() => break,
            None => {}
        }
    }
    command.clone()
}

/// `sharebench sweep`.
fn name(command: &Command) -> &str {
    command.get_bin_name().unwrap_or_else(|| command.get_name())
}

fn see_help(command: &Command) -> String {
    format!("`{} --help` lists arguments and options", name(command))
}

/// The texts of a part of the error.
fn texts(error: &Error, kind: ContextKind) -> Vec<String> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text.clone()],
        Some(ContextValue::Strings(texts)) => texts.clone(),
        _ => Vec::new(),
    }
}

/// The first text of a part of the error; empty without one.
fn text(error: &Error, kind: ContextKind) -> String {
    texts(error, kind).into_iter().next().unwrap_or_default()
}

/// What clap says first, without its prefix.
fn first_line(error: &Error) -> String {
    let text = error.render().to_string();
    let line = text.lines().next().unwrap_or_default();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}

fn unknown_argument(error: &Error, command: &Command) -> (String, String) {
    let argument = text(error, ContextKind::InvalidArg);
    if let Some((problem, hint)) = foreign::explained(&argument, command.get_name()) {
        return (problem, hint);
    }
    let problem = format!("unexpected argument '{argument}'");
    let near = text(error, ContextKind::SuggestedArg);
    if !near.is_empty() {
        return (problem, format!("did you mean '{near}'? {}", see_help(command)));
    }
    if argument.starts_with('-') {
        return (problem, see_help(command));
    }
    let usage = command.clone().render_usage().to_string();
    let usage = usage.split_whitespace().collect::<Vec<_>>().join(" ");
    (problem, format!("write it as in: {}", usage.trim_start_matches("Usage: ")))
}

fn unknown_command(error: &Error, words: &[String]) -> (String, String) {
    let typed = text(error, ContextKind::InvalidSubcommand);
    if typed.contains(['/', '\\', '@']) {
        let hint = format!("name a command before the target: sharebench sweep {}", shell_word(&typed));
        return (format!("'{typed}' is not a command"), hint);
    }
    let near = texts(error, ContextKind::SuggestedSubcommand);
    let hint = match near.first() {
        Some(near) => format!("did you mean '{near}'? `sharebench --help` lists the commands"),
        None => format!("`{} --help` lists the commands", name(&command_of(words))),
    };
    (format!("'{typed}' is not a command"), hint)
}

/// A value that is none of a list, or a missing one.
fn invalid_value(error: &Error, command: &Command) -> (String, String) {
    let option = text(error, ContextKind::InvalidArg);
    let value = text(error, ContextKind::InvalidValue);
    let valid = texts(error, ContextKind::ValidValue).join(", ");
    let problem = if value.is_empty() {
        format!("a value is required for '{option}'")
    } else {
        format!("invalid value '{value}' for '{option}'")
    };
    let near = text(error, ContextKind::SuggestedValue);
    let hint = if !valid.is_empty() && valid.len() <= MAX_LIST {
        format!("use one of: {valid}")
    } else if !near.is_empty() {
        format!("did you mean '{near}'? {}", see_help(command))
    } else {
        see_help(command)
    };
    (problem, hint)
}

/// A value that its own parser rejects: the parser says why, with a valid value.
fn rejected_value(error: &Error) -> String {
    let option = text(error, ContextKind::InvalidArg);
    let value = text(error, ContextKind::InvalidValue);
    let problem = format!("error: invalid value '{value}' for '{option}'");
    let Some(source) = std::error::Error::source(error) else { return problem };
    if source.is::<ParseIntError>() {
        return format!("{problem}: write a whole number, such as 10");
    }
    if source.is::<AddrParseError>() {
        let port = value.trim_start_matches(':').parse().unwrap_or(4450_u16);
        return format!("{problem}: write an address with a port, such as 127.0.0.1:{port}");
    }
    // A parser that begins with the value would repeat it; a password in it is hidden.
    let why = source.to_string();
    let repeated = format!("'{}': ", without_secrets(&value));
    format!("{problem}: {}", why.strip_prefix(&repeated).unwrap_or(&why))
}

/// Required arguments that are missing, with an example of the command's help.
fn missing_argument(error: &Error, command: &Command) -> (String, String) {
    let missing = texts(error, ContextKind::InvalidArg).join(", ");
    let problem = format!("required arguments were not provided: {missing}");
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let start = format!("{} ", name(command));
    let example = help.lines().map(str::trim).find(|line| line.starts_with(&start));
    let hint = match example.and_then(|line| line.split('#').next()) {
        Some(example) => format!("for example: {}", example.trim_end()),
        None => see_help(command),
    };
    (problem, hint)
}

fn conflict(error: &Error) -> (String, String) {
    let argument = text(error, ContextKind::InvalidArg);
    let others = texts(error, ContextKind::PriorArg);
    if others.is_empty() || others == [argument.as_str()] {
        return (
            format!("the argument '{argument}' cannot be used more than once"),
            "give it once".to_owned(),
        );
    }
    let others = others.join("', '");
    let hint = "leave one of them out".to_owned();
    (format!("the argument '{argument}' cannot be used with '{others}'"), hint)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    fn said(line: &str) -> String {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        message(&Arguments::try_parse_from(&words).unwrap_err(), &words).unwrap_or_default()
    }

    #[test]
    fn an_error_names_the_argument_and_a_valid_one() {
        for (line, problem, hint) in [
            ("sharebench swep /mnt", "'swep' is not a command", "did you mean 'sweep'?"),
            ("sharebench smb://nas/s", "is not a command", "sharebench sweep smb://nas/s"),
            (
                "sharebench sweep",
                "not provided: <TARGET>",
                "for example: sharebench sweep smb://alice@nas/share",
            ),
            (
                "sharebench sweep /mnt --repetitions ten",
                "'ten' for '--repetitions <N>'",
                "number, such as 10",
            ),
            ("sharebench load /mnt --users ten", "'ten' for '--users <USERS>'", "is not a whole number"),
            ("sharebench serve /srv --nfs 24101", "'24101' for '--nfs", "127.0.0.1:24101"),
            ("sharebench serve /srv --nfs nas", "'nas' for '--nfs", "127.0.0.1:4450"),
            ("sharebench export 1 --format pdf", "'pdf' for '--format", "use one of: csv, json"),
            ("sharebench sweep /mnt --json --quiet", "cannot be used with", "leave one of them out"),
            ("sharebench sweep /mnt --db a --db b", "more than once", "give it once"),
            ("sharebench show 1 2", "unexpected argument '2'", "sharebench show"),
            ("sharebench sweep /mnt --repetition 3", "'--repetition'", "did you mean '--repetitions'?"),
        ] {
            let said = said(line);
            assert!(said.contains(problem) && said.contains(hint), "{line}: {said}");
        }
    }

    #[test]
    fn help_is_no_error() {
        assert_eq!(said("sharebench sweep --help"), "");
        assert_eq!(said("sharebench"), "");
    }
}
