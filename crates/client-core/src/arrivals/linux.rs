//! Arrival times of Linux (`SO_TIMESTAMPING`, software).

use std::io::{self, IoSliceMut};
use std::os::fd::AsRawFd;

use tokio::io::Interest;
use tokio::net::TcpStream;

use crate::socket_option;

/// Words of the space for control messages: one `SCM_TIMESTAMPING` takes 8.
const CONTROL_WORDS: usize = 16;

/// Requests arrival times of a connection; false if the kernel has none.
pub(super) fn request(stream: &TcpStream) -> bool {
    let flags = libc::SOF_TIMESTAMPING_RX_SOFTWARE | libc::SOF_TIMESTAMPING_SOFTWARE;
    socket_option::set(stream, libc::SO_TIMESTAMPING, flags.cast_signed())
}

/// Receives what is there, with the time at which the last of it arrived.
pub(super) fn receive(
    stream: &TcpStream,
    slices: &mut [IoSliceMut<'_>],
    last_ns: &mut Option<u64>,
) -> io::Result<usize> {
    // Words, so that the kernel's structures are aligned.
    let mut control = [0u64; CONTROL_WORDS];
    // SAFETY: the structure consists of integers and pointers, for which zeros are valid.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    // `IoSliceMut` has the layout of `iovec` on Unix.
    message.msg_iov = slices.as_mut_ptr().cast();
    message.msg_iovlen = slices.len() as _;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(&control) as _;
    let count = stream.try_io(Interest::READABLE, || {
        // SAFETY: slices and control space are live and as long as the message states.
        let count = unsafe { libc::recvmsg(stream.as_raw_fd(), &raw mut message, 0) };
        usize::try_from(count).map_err(|_| io::Error::last_os_error())
    })?;
    *last_ns = arrival(&message);
    Ok(count)
}

/// The software time stamp of a received message, nanoseconds since 1970.
fn arrival(message: &libc::msghdr) -> Option<u64> {
    // SAFETY: the kernel has filled the control space, whose length is in the message.
    let mut header = unsafe { libc::CMSG_FIRSTHDR(message) };
    while !header.is_null() {
        // SAFETY: a header that the macros return lies within the control space.
        let found = unsafe { *header };
        if found.cmsg_level == libc::SOL_SOCKET && found.cmsg_type == libc::SCM_TIMESTAMPING {
            // SAFETY: the message of this type has three `timespec`, of which the first one is the software's.
            let time = unsafe { libc::CMSG_DATA(header).cast::<libc::timespec>().read_unaligned() };
            let seconds = u64::try_from(time.tv_sec).ok().filter(|seconds| *seconds > 0)?;
            return Some(seconds * 1_000_000_000 + u64::try_from(time.tv_nsec).ok()?);
        }
        // SAFETY: as above.
        header = unsafe { libc::CMSG_NXTHDR(message, header) };
    }
    None
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    use crate::Arrivals;

    fn now_ns() -> u64 {
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64
    }

    #[tokio::test]
    async fn data_arrive_before_they_are_received_and_nothing_is_lost() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (mut server, _) = listener.accept().await.unwrap();
        let mut arrivals = Arrivals::default();
        // Without a request for them there are none, and the same bytes arrive.
        server.write_all(b"one").await.unwrap();
        let mut bytes = [0; 3];
        arrivals.reader(&mut client).read_exact(&mut bytes).await.unwrap();
        assert_eq!((&bytes, arrivals.last_ns()), (b"one", None));
        assert!(arrivals.start(&client));
        let deadline = Instant::now() + Duration::from_secs(60);
        // The kernel begins to record times a moment after the request.
        let (sent, arrived, seen) = loop {
            let sent = now_ns();
            server.write_all(b"two").await.unwrap();
            arrivals.reader(&mut client).read_exact(&mut bytes).await.unwrap();
            assert_eq!(&bytes, b"two");
            if let Some(arrived) = arrivals.last_ns() {
                break (sent, arrived, now_ns());
            }
            assert!(Instant::now() < deadline, "no arrival time within 60 s");
        };
        assert!((sent..=seen).contains(&arrived), "{sent} {arrived} {seen}");
    }

    #[tokio::test]
    async fn second_slice_is_filled_after_the_first() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (mut server, _) = listener.accept().await.unwrap();
        let mut arrivals = Arrivals::default();
        arrivals.start(&client);
        server.write_all(b"abcde").await.unwrap();
        let mut first = [0; 3];
        let mut second = [0; 8];
        let mut stream = arrivals.reader(&mut client);
        let count = std::future::poll_fn(|cx| stream.poll_read_both(cx, &mut first, &mut second));
        assert_eq!(count.await.unwrap(), 5);
        assert_eq!((&first, &second[..2]), (b"abc", &b"de"[..]));
    }

    /// A read that empties the socket lets the next one wait, and what arrives in between is not missed.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn nothing_is_missed_after_a_read_that_empties_the_socket() {
        const MESSAGES: usize = 1000;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (mut server, _) = listener.accept().await.unwrap();
        server.set_nodelay(true).unwrap();
        let echo = tokio::spawn(async move {
            let mut bytes = [0; 7];
            for _ in 0..MESSAGES {
                server.read_exact(&mut bytes).await.unwrap();
                let (head, tail) = bytes.split_at(2);
                server.write_all(head).await.unwrap();
                server.write_all(tail).await.unwrap();
            }
        });
        let mut arrivals = Arrivals::default();
        for message in 0..MESSAGES {
            client.write_all(&[message as u8; 7]).await.unwrap();
            let mut stream = arrivals.reader(&mut client);
            let mut filled = 0;
            let mut bytes = [0; 100];
            while filled < 7 {
                let (first, second) = bytes[filled..].split_at_mut(3);
                let received = std::future::poll_fn(|cx| stream.poll_read_both(cx, first, second));
                filled += tokio::time::timeout(Duration::from_secs(60), received).await.unwrap().unwrap();
            }
            assert_eq!(bytes[..7], [message as u8; 7]);
        }
        echo.await.unwrap();
    }
}
