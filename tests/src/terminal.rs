//! A real terminal: a program inside of tmux, with keys, sizes and the content of the screen.

use std::io;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use crate::Sharebench;
use crate::need::Need;
use crate::program::poll;
use crate::scratch::Scratch;

/// A terminal with one program in it. The terminal's own server is ended when this is dropped.
#[derive(Debug)]
pub struct Terminal {
    socket: String,
    _scratch: Scratch,
}

impl Terminal {
    /// Requirements of the machine.
    pub const NEEDS: [Need; 1] = [Need::Program("tmux")];

    /// Starts the program with these arguments, words of the shell, in its home; the screen stays when it has ended.
    pub fn start(sharebench: &Sharebench, arguments: &str, (columns, rows): (u32, u32)) -> io::Result<Self> {
        let scratch = Scratch::new("terminal")?;
        let terminal = Self { socket: scratch.file("socket"), _scratch: scratch };
        let columns = columns.to_string();
        let rows = rows.to_string();
        let home = sharebench.home().display().to_string();
        // The exit code is printed, since a screen has none, in the row where a shell has its prompt; then the shell waits to
        // be ended with its terminal.
        let line =
            format!("HOME={home} {} {arguments}; printf 'ended with %s' $?; sleep 600", sharebench.binary());
        let _ = terminal.tmux(&[
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-s",
            "t",
            "-x",
            &columns,
            "-y",
            &rows,
            "-c",
            &home,
            "sh",
            "-c",
            &line,
        ])?;
        Ok(terminal)
    }

    /// Types keys, as tmux names them: `q`, `C-c`.
    pub fn keys(&self, keys: &str) -> io::Result<()> {
        self.tmux(&["send-keys", "-t", "t", keys]).map(drop)
    }

    /// Makes it larger or smaller.
    pub fn resize(&self, columns: u32, rows: u32) -> io::Result<()> {
        self.tmux(&["resize-window", "-t", "t", "-x", &columns.to_string(), "-y", &rows.to_string()])
            .map(drop)
    }

    /// Returns the content of the screen and `history` lines above it.
    pub fn screen(&self, history: u32) -> io::Result<String> {
        let from = format!("-{history}");
        let output = self.tmux(&["capture-pane", "-p", "-t", "t", "-S", &from])?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Waits until the screen satisfies; gives it.
    pub fn wait_for(&self, what: &str, satisfied: impl Fn(&str) -> bool) -> io::Result<String> {
        self.wait_within(Duration::from_secs(60), what, satisfied)
    }

    /// As [`Self::wait_for`], with a deadline.
    pub fn wait_within(
        &self,
        deadline: Duration,
        what: &str,
        satisfied: impl Fn(&str) -> bool,
    ) -> io::Result<String> {
        let mut last = String::new();
        let found = poll(deadline, || {
            last = self.screen(0).unwrap_or_default();
            satisfied(&last)
        });
        if found { Ok(last) } else { Err(io::Error::other(format!("no {what} on the screen:\n{last}"))) }
    }

    fn tmux(&self, arguments: &[&str]) -> io::Result<Output> {
        let output = Command::new("tmux")
            .args(["-S", &self.socket])
            .args(arguments)
            .env_remove("TMUX")
            .env("TERM", "xterm-256color")
            .env("LC_ALL", "C.UTF-8")
            .stdin(Stdio::null())
            .output()?;
        if output.status.success() {
            return Ok(output);
        }
        Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.tmux(&["kill-server"]);
    }
}
