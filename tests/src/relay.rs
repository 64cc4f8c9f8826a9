//! A TCP relay from a network namespace to a server on the loopback of this machine.

use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// Listens on a port inside the namespace and passes every connection on to the same port of `127.0.0.1`
/// outside. Connections live until one side closes them.
#[derive(Debug)]
pub struct Relay {
    stop: Arc<AtomicBool>,
    accepting: Option<JoinHandle<()>>,
}

impl Relay {
    /// Starts the relay in the network namespace of process `pid`.
    pub fn open(pid: u32, port: u16) -> io::Result<Self> {
        // A socket belongs to the namespace its thread was in when it was made, so that a thread which moves
        // in makes the listener and ends.
        let listener = thread::spawn(move || -> io::Result<TcpListener> {
            let namespace = File::open(format!("/proc/{pid}/ns/net"))?;
            move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?;
            TcpListener::bind((Ipv4Addr::UNSPECIFIED, port))
        });
        let listener =
            listener.join().map_err(|_| io::Error::other("the thread in the namespace panicked"))??;
        listener.set_nonblocking(true)?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let accepting = thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                match listener.accept() {
                    // A server that is not there is a connection that closes at once.
                    Ok((inner, _)) => drop(pass_on(inner, port)),
                    Err(_) => thread::sleep(Duration::from_millis(5)),
                }
            }
        });
        Ok(Self { stop, accepting: Some(accepting) })
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
    }
}

fn pass_on(inner: TcpStream, port: u16) -> io::Result<()> {
    let outer = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    inner.set_nonblocking(false)?;
    for stream in [&inner, &outer] {
        stream.set_nodelay(true)?;
    }
    for (mut from, mut to) in [(inner.try_clone()?, outer.try_clone()?), (outer, inner)] {
        thread::spawn(move || {
            let _ = io::copy(&mut from, &mut to);
            let _ = to.shutdown(Shutdown::Write);
        });
    }
    Ok(())
}
