//! Invalid bytes: they must cause neither a panic nor memory beyond the limits.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use sharebench_nfs::protocol::{MOUNT_PROGRAM, NFS_PROGRAM};
use sharebench_nfs::rpc::CallTemplate;
use sharebench_nfs::xdr::Writer;

use super::calls::state;
use super::{memory, start};
use crate::nfs::v4::Peer;
use crate::{DeviceOptions, DeviceVolume, MemoryVolume, ROOT, Volume};

/// True if the server closes the connection after these bytes.
fn closes(port: u16, bytes: &[u8]) -> bool {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    stream.write_all(bytes).unwrap();
    matches!(stream.read(&mut [0; 64]), Ok(0))
        || matches!(stream.read(&mut [0; 64]), Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset)
}

#[test]
fn invalid_frames_close_their_connection_and_no_other() {
    let server = start(memory());
    let port = server.addr().port();
    for bytes in [
        &[0xff; 4][..],
        &[0x7f, 0xff, 0xff, 0xff],
        b"GET / HTTP/1.0\r\n\r\n",
        &[0x80, 0, 0, 4, 1, 2, 3, 4],
        &[0x80, 0, 0, 0],
    ] {
        assert!(closes(port, bytes), "{bytes:?}");
    }
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let mut call = Writer::default();
    call.u32(0x8000_0000 + 40);
    CallTemplate::new(NFS_PROGRAM, 3, None).put(&mut call, 5, 0);
    stream.write_all(call.as_slice()).unwrap();
    let mut reply = [0; 28];
    stream.read_exact(&mut reply).unwrap();
    assert_eq!(reply[..8], [0x80, 0, 0, 24, 0, 0, 0, 5]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn garbage_is_answered_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = state().answer(&Peer::new().0, &bytes, &mut Writer::default());
    }

    #[test]
    fn garbage_arguments_are_answered_within_the_limit(
        program in prop_oneof![Just(NFS_PROGRAM), Just(MOUNT_PROGRAM)],
        procedure in 0u32..23,
        handle in any::<bool>(),
        bytes in proptest::collection::vec(prop_oneof![3 => Just(0u8), 1 => any::<u8>()], 0..120),
    ) {
        let state = state();
        let mut call = Writer::default();
        let mut out = Writer::default();
        CallTemplate::new(program, 3, None).put(&mut call, 1, procedure);
        if handle {
            state.handles.put(&mut call, ROOT);
        }
        call.raw(&bytes);
        prop_assert!(state.answer(&Peer::new().0, call.as_slice(), &mut out).is_ok());
        prop_assert!(out.len() >= 28 && out.len() < (1 << 20) + 4096);
    }
}

/// A server with a short timeout.
fn impatient() -> crate::NfsServer {
    let io_timeout = Duration::from_millis(200);
    let options =
        crate::NfsServerOptions { io_timeout, max_connections: 4, ..crate::NfsServerOptions::default() };
    crate::NfsServer::start("127.0.0.1:0".parse().unwrap(), memory(), options).unwrap()
}

/// The fragment header and a call of the NULL procedure.
fn null_call() -> Vec<u8> {
    let mut call = Writer::default();
    call.u32(0x8000_0000 + 40);
    CallTemplate::new(NFS_PROGRAM, 3, None).put(&mut call, 5, 0);
    call.as_slice().to_vec()
}

#[test]
fn a_call_that_does_not_end_closes_its_connection_even_if_bytes_keep_arriving() {
    let server = impatient();
    let port = server.addr().port();
    assert!(closes(port, &null_call()[..43]));
    // One byte after another, each within the timeout.
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let mark = [0x80, 0, 0x10, 0];
    let trickle = mark.iter().chain(std::iter::repeat(&0)).take(2000);
    let closed = trickle.into_iter().any(|byte| {
        std::thread::sleep(Duration::from_millis(10));
        stream.write_all(&[*byte]).is_err()
    });
    assert!(closed, "20 s of one call");
}

#[test]
fn an_idle_connection_stays_open_and_connections_above_the_limit_are_closed() {
    let server = impatient();
    let port = server.addr().port();
    let mut answers = |stream: &mut TcpStream| {
        stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        stream.write_all(&null_call()).is_ok() && stream.read_exact(&mut [0; 28]).is_ok()
    };
    let mut streams: Vec<TcpStream> =
        (0..4).map(|_| TcpStream::connect(("127.0.0.1", port)).unwrap()).collect();
    assert!(streams.iter_mut().all(&mut answers));
    assert!(!answers(&mut TcpStream::connect(("127.0.0.1", port)).unwrap()));
    std::thread::sleep(Duration::from_millis(300));
    assert!(streams.iter_mut().all(&mut answers), "silence is no crime");
}

/// A volume whose calls may block, so that they run on workers.
fn blocking() -> Arc<dyn Volume> {
    Arc::new(DeviceVolume::new(MemoryVolume::new(1 << 20), DeviceOptions::default()))
}

#[test]
fn idle_connections_have_no_buffers() {
    for volume in [memory(), blocking()] {
        let server = start(volume);
        let port = server.addr().port();
        let mut streams: Vec<TcpStream> =
            (0..100).map(|_| TcpStream::connect(("127.0.0.1", port)).unwrap()).collect();
        for stream in &mut streams {
            stream.write_all(&null_call()).unwrap();
            stream.read_exact(&mut [0; 28]).unwrap();
        }
        // The reply may arrive before the connection waits for the next call.
        let deadline = Instant::now() + Duration::from_secs(60);
        while server.counts().buffers > 0 {
            assert!(Instant::now() < deadline, "{} buffers", server.counts().buffers);
            std::thread::yield_now();
        }
        // Half a call keeps one.
        streams[0].write_all(&null_call()[..20]).unwrap();
        while server.counts().buffers == 0 {
            assert!(Instant::now() < deadline, "no buffer for half a call");
            std::thread::yield_now();
        }
        assert_eq!(server.counts().buffers, 1);
        drop(streams);
        while server.counts().buffers > 0 {
            assert!(Instant::now() < deadline, "a closed connection has a buffer");
            std::thread::yield_now();
        }
    }
}
