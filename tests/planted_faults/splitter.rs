//! A proxy that sends each reply in two parts with Nagle's algorithm: the second one waits for the acknowledgement of the
//! first one, which the client delays.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::thread;

/// Bytes of the first part.
const FIRST: usize = 40;
/// Largest reply that is sent in two parts.
const SMALL: usize = 16 << 10;

/// Starts the proxy in front of a port of this machine, with `TCP_NODELAY` or without; returns its port. It ends with the
/// process.
pub fn start(port: u16, no_delay: bool) -> io::Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let at = listener.local_addr()?.port();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let _ = pass_on(client, port, no_delay);
        }
    });
    Ok(at)
}

fn pass_on(client: TcpStream, port: u16, no_delay: bool) -> io::Result<()> {
    let server = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    server.set_nodelay(true)?;
    client.set_nodelay(no_delay)?;
    let mut requests = client.try_clone()?;
    let mut to_server = server.try_clone()?;
    thread::spawn(move || {
        let _ = io::copy(&mut requests, &mut to_server);
        let _ = to_server.shutdown(Shutdown::Write);
    });
    thread::spawn(move || {
        let _ = reply(server, client);
    });
    Ok(())
}

fn reply(mut server: TcpStream, mut client: TcpStream) -> io::Result<()> {
    let mut buffer = vec![0; 1 << 20];
    loop {
        let count = server.read(&mut buffer)?;
        if count == 0 {
            return client.shutdown(Shutdown::Write);
        }
        let split = if count <= SMALL { FIRST.min(count) } else { 0 };
        let (first, rest) = buffer[..count].split_at(split);
        client.write_all(first)?;
        client.write_all(rest)?;
    }
}
