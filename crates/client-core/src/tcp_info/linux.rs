//! The kernel's figures of a TCP connection (tcp(7), `TCP_INFO`).

use std::os::fd::{AsFd, AsRawFd};

use sharebench_model::TcpReading;

/// Reads the figures of a connection; none where the system has none. Fields that an older kernel lacks are 0.
pub fn tcp_reading(stream: &impl AsFd) -> Option<TcpReading> {
    // SAFETY: the structure consists of integers, for which zeros are valid.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut len = libc::socklen_t::try_from(size_of_val(&info)).ok()?;
    // SAFETY: value and length are live, and the call writes at most `len` bytes to the value.
    let done = unsafe {
        libc::getsockopt(
            stream.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut info).cast(),
            &raw mut len,
        )
    };
    (done == 0).then(|| TcpReading {
        min_rtt_us: info.tcpi_min_rtt,
        rtt_us: info.tcpi_rtt,
        rttvar_us: info.tcpi_rttvar,
        cwnd: info.tcpi_snd_cwnd,
        pmtu: info.tcpi_pmtu,
        segments_sent: u64::from(info.tcpi_segs_out),
        retransmissions: u64::from(info.tcpi_total_retrans),
        segments_received: u64::from(info.tcpi_segs_in),
        out_of_order: u64::from(info.tcpi_rcv_ooopack),
        busy_us: info.tcpi_busy_time,
        rwnd_limited_us: info.tcpi_rwnd_limited,
        sndbuf_limited_us: info.tcpi_sndbuf_limited,
    })
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn a_connection_counts_what_it_sends() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        let before = tcp_reading(&client).unwrap();
        client.write_all(&[7; 100]).unwrap();
        server.read_exact(&mut [0; 100]).unwrap();
        let counts = tcp_reading(&client).unwrap().since(before).unwrap();
        assert!(counts.segments_sent >= 1 && counts.cwnd >= 1 && counts.pmtu >= 576, "{counts:?}");
    }

    #[test]
    fn other_sockets_have_none() {
        assert_eq!(tcp_reading(&UnixStream::pair().unwrap().0), None);
    }
}
