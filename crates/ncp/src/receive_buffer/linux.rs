//! Receive buffers on Linux, which privileged programs may make larger than its limit.

use std::io;
use std::os::fd::AsRawFd;

/// Requests a receive buffer of `bytes` and returns the size that the system granted. A program with the capability
/// `CAP_NET_ADMIN` gets any size; others get at most `net.core.rmem_max`. The system doubles the value for its own
/// overhead, and a buffer that is large enough already stays.
pub fn grow(socket: &impl AsRawFd, bytes: usize) -> io::Result<usize> {
    let before = size(socket)?;
    if before < bytes.saturating_mul(2) {
        let forced = set(socket, libc::SO_RCVBUFFORCE, bytes);
        // Without the capability the limit of the system applies.
        if forced.is_err() {
            set(socket, libc::SO_RCVBUF, bytes)?;
        }
    }
    size(socket)
}

/// The size of the receive buffer, including the overhead of the system.
pub fn size(socket: &impl AsRawFd) -> io::Result<usize> {
    let mut value: libc::c_int = 0;
    let mut len = size_of_val(&value) as libc::socklen_t;
    // SAFETY: value and length are live, and the call writes at most `len` bytes to the value.
    let done = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_RCVBUF,
            (&raw mut value).cast(),
            &raw mut len,
        )
    };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(usize::try_from(value).unwrap_or(0)) }
}

fn set(socket: &impl AsRawFd, option: libc::c_int, bytes: usize) -> io::Result<()> {
    let value = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
    // SAFETY: value and length describe a live integer, which the kernel copies.
    let done = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            option,
            (&raw const value).cast(),
            size_of_val(&value) as libc::socklen_t,
        )
    };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::super::{OF_CLIENT, OF_SERVER};
    use super::*;

    #[test]
    fn receive_buffer_grows_up_to_the_limit_of_the_system() {
        let limit = std::fs::read_to_string("/proc/sys/net/core/rmem_max").unwrap();
        let limit: usize = limit.trim().parse().unwrap();
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        for bytes in [OF_CLIENT, OF_SERVER] {
            let granted = grow(&socket, bytes).unwrap();
            assert!(granted >= 2 * bytes.min(limit), "{granted} of {bytes}");
            assert_eq!((size(&socket).unwrap(), grow(&socket, 1).unwrap()), (granted, granted));
        }
    }
}
