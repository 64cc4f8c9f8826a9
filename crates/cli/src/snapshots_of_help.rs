//! Snapshots of `-h` and `--help` of every command, at two widths of the terminal, and their limits.

use clap::Command;

use crate::args::command;

/// Widths of a small and a usual terminal.
const WIDTHS: [usize; 2] = [80, 120];

#[test]
fn help_of_every_command_equals_its_snapshot() {
    let names: Vec<String> =
        command().get_subcommands().map(|command| command.get_name().to_owned()).collect();
    for width in WIDTHS {
        check(&[], width);
        for name in &names {
            check(&[name], width);
        }
    }
}

/// Compares both helps of a command. Most commands have one help for `-h` and `--help`.
fn check(path: &[&str], width: usize) {
    let name = [&["sharebench"], path].concat().join("-");
    let [long, short] = ["--help", "-h"].map(|flag| help(path, flag, width));
    compare(&format!("{name}_{width}"), &long);
    if short != long {
        compare(&format!("{name}_short_{width}"), &short);
    }
}

/// What a command prints for `-h` or `--help`.
fn help(path: &[&str], flag: &str, width: usize) -> String {
    let narrow = |command: Command| command.term_width(width);
    let root = narrow(command().version("0.0.0")).mut_subcommands(narrow);
    let line = [&["sharebench"], path, &[flag]].concat();
    root.try_get_matches_from(line).unwrap_err().to_string()
}

fn compare(name: &str, help: &str) {
    let too_wide = help.lines().filter(|line| line.chars().count() > 120);
    assert_eq!(too_wide.count(), 0, "{name} fits 120 columns");
    insta::with_settings!({ snapshot_path => "../tests/snapshots/help", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(name.to_owned(), help.to_owned());
    });
}

/// Further options need the removal of others: whatever few people set belongs into plan files.
#[test]
fn commands_have_few_options() {
    let mut root = command();
    root.build();
    for (name, most) in [("sweep", 42), ("load", 36), ("serve", 26), ("depth", 32)] {
        let command = root.find_subcommand(name).unwrap();
        let options = command.get_arguments().filter(|argument| argument.get_long().is_some()).count();
        assert!(options <= most, "{name} has {options} options");
    }
}

#[test]
fn the_short_help_fits_a_terminal_of_24_lines() {
    for name in ["sweep", "depth", "load"] {
        let help = help(&[name], "-h", 80);
        let options = help.lines().filter(|line| line.starts_with("  ") && line.contains("--"));
        let options = options.filter(|line| !line.trim_start().starts_with("sharebench")).count();
        let examples = help.lines().filter(|line| line.trim_start().starts_with("sharebench")).count();
        let last = format!("All options, by groups: sharebench {name} --help");
        assert!(help.lines().count() <= 24 && options <= 14 && examples == 3, "{help}");
        assert_eq!(help.trim_end().lines().last(), Some(last.as_str()));
    }
}

#[test]
fn a_command_lists_only_options_that_it_honours() {
    let root = command();
    let commands_with = |option: &str| -> Vec<String> {
        root.get_subcommands()
            .filter(|command| command.get_arguments().any(|argument| argument.get_long() == Some(option)))
            .map(|command| command.get_name().to_owned())
            .collect()
    };
    assert_eq!(
        commands_with("json"),
        ["demo", "sweep", "depth", "load", "learn", "probe", "diagnose", "run", "gate"]
    );
    assert_eq!(commands_with("repetitions"), ["sweep", "depth", "load"]);
    assert_eq!(
        commands_with("password-file"),
        ["sweep", "depth", "load", "learn", "probe", "diagnose", "run", "gate", "serve", "clean"]
    );
}
