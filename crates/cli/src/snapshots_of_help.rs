//! Snapshots of the help of every command, at two widths of the terminal.

use clap::{Command, CommandFactory};

use crate::args::Arguments;

/// Widths of a small and a usual terminal.
const WIDTHS: [usize; 2] = [80, 120];

#[test]
fn help_of_every_command_equals_its_snapshot() {
    for width in WIDTHS {
        let mut root = Arguments::command().term_width(width).version("0.0.0");
        root.build();
        check("sharebench", &mut root, width);
    }
}

/// Compares the help of a command and of its subcommands.
fn check(name: &str, command: &mut Command, width: usize) {
    let help = command.render_long_help().to_string();
    let too_wide = help.lines().filter(|line| line.chars().count() > 120);
    assert_eq!(too_wide.count(), 0, "{name} fits 120 columns");
    insta::with_settings!({ snapshot_path => "../tests/snapshots/help", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(format!("{name}_{width}"), help);
    });
    let subcommands: Vec<String> =
        command.get_subcommands().map(|subcommand| subcommand.get_name().to_owned()).collect();
    for subcommand in subcommands.iter().filter(|subcommand| *subcommand != "help") {
        let full = format!("{name}-{subcommand}");
        if let Some(found) = command.find_subcommand_mut(subcommand) {
            let mut found = found.clone().term_width(width);
            check(&full, &mut found, width);
        }
    }
}

#[test]
fn a_command_lists_only_options_that_it_honours() {
    let root = Arguments::command();
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
        ["sweep", "depth", "load", "survey", "probe", "diagnose", "run", "gate", "serve", "clean"]
    );
}
