//! The resources that one command used.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::Failure;

/// Resources that one command used.
#[derive(Debug, Clone, Copy)]
pub struct Usage {
    /// Wall time in seconds.
    pub wall_s: f64,
    /// CPU time in seconds, user and kernel.
    pub cpu_s: f64,
    /// Peak of resident memory in bytes.
    pub peak_bytes: f64,
}

impl Usage {
    /// Runs a command without input and output. It must succeed.
    pub fn from_command(command: &mut Command) -> Result<Self, Failure> {
        Self::writing(command, Stdio::null())
    }

    /// The same for a command whose output is needed.
    pub fn writing(command: &mut Command, output: Stdio) -> Result<Self, Failure> {
        let started = Instant::now();
        let child = command.stdin(Stdio::null()).stdout(output).spawn()?;
        let pid = child.id().cast_signed();
        let mut status = 0;
        // SAFETY: wait4 writes the two structs that it is given; zeroed is a valid rusage. Nothing else waits for the
        // child, which `std` reaps only on request.
        let usage = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            if libc::wait4(pid, &raw mut status, 0, &raw mut usage) != pid {
                return Err(std::io::Error::last_os_error().into());
            }
            usage
        };
        if !libc::WIFEXITED(status) || libc::WEXITSTATUS(status) != 0 {
            return Err(format!("{command:?} failed ({status:#x})").into());
        }
        let time =
            |time: libc::timeval| Duration::new(time.tv_sec as u64, time.tv_usec as u32 * 1000).as_secs_f64();
        Ok(Self {
            wall_s: started.elapsed().as_secs_f64(),
            cpu_s: time(usage.ru_utime) + time(usage.ru_stime),
            peak_bytes: usage.ru_maxrss as f64 * 1024.0,
        })
    }
}
