//! The user's own command between steps: to remount a share, to purge caches.

use std::io::Read;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use crate::system::{SHELL, request_end, shell};
use crate::time::stop::StopSignal;
use sharebench_model::StepError;

/// Interval at which a running command is polled.
const LOOK: Duration = Duration::from_millis(10);
/// Longest wait for the error output of a command that failed.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// Maximum number of bytes of that output that are reported.
const MAX_WORDS: u64 = 4096;

/// Runs a command by `sh -c`, or `cmd /C` on Windows, without input and with its output dropped, until it ends. A request to stop
/// ends it as well. A failure reports its exit code and what it wrote to standard error.
pub(crate) fn run(command: &str, stop: &StopSignal) -> Result<(), StepError> {
    let failed = |why: String| StepError::PreStepCommandFailed(format!("--pre-step-cmd '{command}' {why}"));
    let mut child = shell(command)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| failed(format!("could not be started by {SHELL}: {error}")))?;
    let words = listen(&mut child);
    let ended = wait(&mut child, stop).map_err(|error| failed(format!("was lost: {error}")))?;
    if stop.is_stopped() {
        return Err(StepError::Stopped);
    }
    if ended.success() {
        return Ok(());
    }
    // Something that it left in the background may hold its standard error open.
    let words = words.recv_timeout(LAST_WORDS).unwrap_or_default();
    let how = match ended.code() {
        Some(code) => format!("failed with exit code {code}"),
        None => format!("failed: {ended}"),
    };
    Err(failed(if words.is_empty() { how } else { format!("{how}: {words}") }))
}

/// Reads standard error on a thread of its own, so that the command never waits for a reader.
fn listen(child: &mut Child) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    if let Some(mut stderr) = child.stderr.take() {
        std::thread::spawn(move || {
            let mut words = Vec::new();
            let _ = stderr.by_ref().take(MAX_WORDS).read_to_end(&mut words);
            let _ = sender.send(String::from_utf8_lossy(&words).trim().to_owned());
            // The remainder is read and dropped: a full pipe would block the command for ever.
            let _ = std::io::copy(&mut stderr, &mut std::io::sink());
        });
    }
    receiver
}

fn wait(child: &mut Child, stop: &StopSignal) -> std::io::Result<ExitStatus> {
    let mut reported = false;
    loop {
        // Polled, because a blocking wait could not notice the request to stop.
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if stop.is_stopped() && !reported {
            reported = true;
            request_end(child);
        }
        std::thread::sleep(LOOK);
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn run_now(command: &str) -> Result<(), StepError> {
        run(command, &StopSignal::default())
    }

    #[test]
    fn a_failing_command_is_reported_with_its_code_and_output() {
        assert_eq!(run_now("true"), Ok(()));
        let failed = run_now("echo out; echo target is busy >&2; exit 32").unwrap_err().to_string();
        let wanted = "--pre-step-cmd 'echo out; echo target is busy >&2; exit 32' failed with exit code 32: target is busy";
        assert_eq!(failed, wanted);
        let killed = run_now("kill -9 $$").unwrap_err().to_string();
        assert!(killed.contains("signal: 9"), "{killed}");
    }

    #[test]
    fn much_output_and_a_child_in_the_background_hold_nothing_up() {
        assert_eq!(run_now("sleep 5 & head -c 300000 /dev/zero >&2; head -c 300000 /dev/zero"), Ok(()));
    }

    #[test]
    fn a_request_to_stop_ends_it() {
        let stop = StopSignal::default();
        stop.stop();
        assert_eq!(run("exec sleep 60", &stop), Err(StepError::Stopped));
    }
}
