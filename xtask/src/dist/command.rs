//! External programs.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

/// Runs a program in a directory and returns its standard output; its errors go to ours.
pub fn output(program: &str, arguments: &[&str], directory: &Path) -> io::Result<String> {
    capture(Command::new(program).args(arguments).current_dir(directory))
}

/// Runs a command and returns its standard output; its errors go to ours.
pub fn capture(command: &mut Command) -> io::Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let failed = |why: String| io::Error::other(format!("{name}: {why}"));
    match command.stderr(Stdio::inherit()).output() {
        Ok(done) if done.status.success() => Ok(String::from_utf8_lossy(&done.stdout).into_owned()),
        Ok(done) => Err(failed(done.status.to_string())),
        Err(error) => Err(failed(error.to_string())),
    }
}

/// Returns true if the search path has a program.
pub fn exists(program: &str) -> bool {
    std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|directory| directory.join(program).is_file()))
}
