//! Windows.

mod alarm;
mod clocks;

use std::os::windows::process::CommandExt;
use std::path::{Component, Path, Prefix};
use std::process::{Child, Command};

pub(crate) use alarm::Alarm;
pub use clocks::precise_timers;
pub(crate) use clocks::{TICKS_NS, clock_resolution_ns, thread_cpu};

/// The program that runs a command line of the user.
pub(crate) const SHELL: &str = "cmd";

/// A command line as the shell runs it; it applies its own rules of quoting.
pub(crate) fn shell(line: &str) -> Command {
    let mut command = Command::new(SHELL);
    command.raw_arg("/D /S /C \"").raw_arg(line).raw_arg("\"");
    command
}

/// Ends a child: this system has no request that a program without a window receives.
pub(crate) fn request_end(child: &mut Child) {
    // A child that has ended meanwhile is what was wanted.
    let _ = child.kill();
}

/// Nothing: handles are limited by memory only.
#[expect(clippy::unnecessary_wraps, reason = "other systems have a limit")]
pub(crate) fn raise_descriptors(_: u64) -> Result<(), u64> {
    Ok(())
}

/// The server of a UNC path, which is also what a mapped drive resolves to.
pub(crate) fn server_of_path(path: &Path) -> Option<String> {
    match path.components().next()? {
        Component::Prefix(prefix) => match prefix.kind() {
            Prefix::UNC(server, _) | Prefix::VerbatimUNC(server, _) => {
                Some(server.to_string_lossy().into_owned())
            }
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_is_that_of_a_unc_path_only() {
        for path in [r"\\nas\share\dir", r"\\?\UNC\nas\share"] {
            assert_eq!(server_of_path(Path::new(path)).as_deref(), Some("nas"), "{path}");
        }
        for path in [r"C:\dir", r"\\?\C:\dir", r"dir\file", ""] {
            assert_eq!(server_of_path(Path::new(path)), None, "{path}");
        }
    }

    #[test]
    fn command_lines_keep_their_quotes() {
        let output = shell(r#"echo "a b" & exit 3"#).output().unwrap();
        assert_eq!(output.status.code(), Some(3));
        assert!(String::from_utf8_lossy(&output.stdout).contains(r#""a b""#));
    }
}
