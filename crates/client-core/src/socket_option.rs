//! Options of sockets that no library offers.

use std::os::fd::AsRawFd;

use tokio::net::TcpStream;

/// Sets an integer option of level `SOL_SOCKET`; false if the kernel rejects it.
pub(crate) fn set(stream: &TcpStream, option: libc::c_int, value: libc::c_int) -> bool {
    // SAFETY: the value is live and as long as stated.
    let done = unsafe {
        libc::setsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            option,
            (&raw const value).cast(),
            size_of_val(&value) as libc::socklen_t,
        )
    };
    done == 0
}
