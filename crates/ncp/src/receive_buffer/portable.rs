//! Systems without a capability for buffers above the limit.

use std::io;

use socket2::SockRef;

/// Requests a receive buffer of `bytes` and returns the size that the system granted. A buffer that is large enough
/// already stays.
pub fn grow<'s, S>(socket: &'s S, bytes: usize) -> io::Result<usize>
where
    SockRef<'s>: From<&'s S>,
{
    let socket = SockRef::from(socket);
    if socket.recv_buffer_size()? < bytes {
        socket.set_recv_buffer_size(bytes)?;
    }
    socket.recv_buffer_size()
}

/// The size of the receive buffer.
pub fn size<'s, S>(socket: &'s S) -> io::Result<usize>
where
    SockRef<'s>: From<&'s S>,
{
    SockRef::from(socket).recv_buffer_size()
}
