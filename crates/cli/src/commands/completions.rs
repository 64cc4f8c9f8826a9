//! `sharebench completions`: the completion script of a shell, which also completes the names of targets.

use std::process::ExitCode;

use clap::{Args, Command};
use clap_complete::Shell;

use crate::exit::Failure;
use crate::output::{print_bytes, print_out};
use crate::run::named_targets;

pub const COMPLETIONS_HELP: &str = "Examples:
  sharebench completions bash > /etc/bash_completion.d/sharebench
  sharebench completions zsh > /usr/share/zsh/site-functions/_sharebench

bash, zsh and fish also complete the names of targets, such as @nas.";

#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// Shell of the script.
    #[arg(value_enum, required_unless_present = "targets")]
    pub shell: Option<Shell>,
    /// Print the names of targets, one per line, for the script.
    #[arg(long, hide = true, conflicts_with = "shell")]
    pub targets: bool,
}

/// For bash: names are completed where a word begins with `@`, which readline may take as a word of its own.
const BASH: &str = r#"
_sharebench_with_targets() {
    local line="${COMP_LINE:0:COMP_POINT}" word
    word="${line##*[[:space:]]}"
    if [[ "$word" != @* ]]; then
        _sharebench "$@"
        return
    fi
    COMPREPLY=($(compgen -W "$(sharebench completions --targets 2>/dev/null)" -- "$word"))
    if [[ "$COMP_WORDBREAKS" == *@* ]]; then
        COMPREPLY=("${COMPREPLY[@]#@}")
    fi
}
complete -F _sharebench_with_targets -o bashdefault -o default sharebench
"#;

/// For zsh: the function that completes a target.
const ZSH: &str = r"
_sharebench_targets() {
    compadd -- ${(f)$(sharebench completions --targets 2>/dev/null)}
    _default
}
";

/// For fish: names next to files.
const FISH: &str = r#"
complete -c sharebench -n "__fish_seen_subcommand_from COMMANDS" -a "(sharebench completions --targets 2>/dev/null)"
"#;

/// Prints the script of the program `root`, or the names of targets for it.
pub fn completions(args: &CompletionsArgs, root: &Command) -> Result<ExitCode, Failure> {
    let Some(shell) = args.shell else {
        // The script ignores mistakes in the file; a command that uses a name reports them.
        let targets = named_targets::all()?.map(|(_, targets)| targets).unwrap_or_default();
        let names: Vec<String> = targets.iter().map(|target| format!("@{}\n", target.name)).collect();
        return print_out(&names.concat());
    };
    print_bytes(script(shell, root).as_bytes())
}

fn script(shell: Shell, root: &Command) -> String {
    let mut command = root.clone();
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "sharebench", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    match shell {
        Shell::Bash => script + BASH,
        Shell::Zsh => {
            let script: String = script.split_inclusive('\n').map(zsh_line).collect();
            // The script ends by calling itself, so that the function comes first.
            script.replacen("\n_sharebench() {", &format!("{ZSH}\n_sharebench() {{"), 1)
        }
        Shell::Fish => script + &FISH.replace("COMMANDS", &commands_with_targets(root).join(" ")),
        _ => script,
    }
}

/// A line of the script of zsh, where a target is completed by its name.
fn zsh_line(line: &str) -> String {
    let is_target = ["'*::targets", "':target"].iter().any(|start| line.starts_with(start));
    if is_target { line.replace(":_default'", ":_sharebench_targets'") } else { line.to_owned() }
}

/// The commands that take targets.
fn commands_with_targets(root: &Command) -> Vec<String> {
    let takes = |command: &&Command| {
        command.get_positionals().any(|argument| ["targets", "target"].contains(&argument.get_id().as_str()))
    };
    root.get_subcommands().filter(takes).map(|command| command.get_name().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::args::Arguments;

    #[test]
    fn scripts_complete_the_names_of_targets() {
        let root = Arguments::command();
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            assert!(script(shell, &root).contains("sharebench completions --targets"), "{shell}");
        }
        let zsh = script(Shell::Zsh, &root);
        assert!(zsh.contains("'*::targets") && zsh.contains(":_sharebench_targets'"), "{zsh}");
        let commands = commands_with_targets(&root);
        assert!(["sweep", "load", "probe", "clean"].iter().all(|name| commands.iter().any(|c| c == name)));
    }
}
