//! A proxy that changes messages between a client and a server: the attacker on the way.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// Who sends a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sender {
    Client,
    Server,
}

/// Changes one message of each connection.
#[derive(Debug, Clone, Copy)]
pub struct Tampering {
    /// Whose messages are changed.
    pub sender: Sender,
    /// The number of the changed message among those of its sender, from 0.
    pub number: usize,
    /// The change: gets the message and the one before it, both without their frames, and returns what is sent instead.
    pub change: fn(Vec<u8>, &[u8]) -> Vec<Vec<u8>>,
}

/// Gets the sender of a message, its number among those of the sender, itself, and the one before it; returns what is sent
/// instead.
type OnMessage = Arc<dyn Fn(Sender, usize, Vec<u8>, &[u8]) -> Vec<Vec<u8>> + Send + Sync>;

/// Opens a port that leads to the port of a server, where one message of each connection is changed.
pub fn tamper(server_port: u16, tampering: Tampering) -> io::Result<u16> {
    let changed = move |sender, number, message: Vec<u8>, before: &[u8]| {
        let meant = sender == tampering.sender && number == tampering.number;
        if meant { (tampering.change)(message, before) } else { vec![message] }
    };
    open(server_port, Arc::new(changed))
}

/// Opens a port that leads to the port of a server, and counts what clients send.
pub fn count_messages(server_port: u16, messages: &Arc<AtomicU64>) -> io::Result<u16> {
    let messages = Arc::clone(messages);
    let counted = move |sender, _, message, _: &[u8]| {
        messages.fetch_add(u64::from(sender == Sender::Client), Ordering::SeqCst);
        vec![message]
    };
    open(server_port, Arc::new(counted))
}

/// SMB and RPC both have frames with a length of 31 bits at most. The threads end with their connections.
fn open(server_port: u16, on_message: OnMessage) -> io::Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let port = listener.local_addr()?.port();
    thread::spawn(move || {
        for client in listener.incoming() {
            let Ok(client) = client else { return };
            let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, server_port)) else { return };
            let (Ok(from_client), Ok(from_server)) = (client.try_clone(), server.try_clone()) else { return };
            let of_client = Arc::clone(&on_message);
            let of_server = Arc::clone(&on_message);
            thread::spawn(move || relay(from_client, server, Sender::Client, &of_client));
            thread::spawn(move || relay(from_server, client, Sender::Server, &of_server));
        }
    });
    Ok(port)
}

/// Relays messages until an end closes the connection, and then closes both.
fn relay(mut from: TcpStream, mut to: TcpStream, sender: Sender, on_message: &OnMessage) -> Option<()> {
    let mut before = Vec::new();
    let mut number = 0;
    while let Some((frame, message)) = receive(&mut from) {
        for message in on_message(sender, number, message.clone(), &before) {
            let frame = (frame & 0x8000_0000) | message.len() as u32;
            to.write_all(&[&frame.to_be_bytes()[..], &message].concat()).ok()?;
        }
        before = message;
        number += 1;
    }
    let _ = to.shutdown(Shutdown::Both);
    Some(())
}

fn receive(from: &mut TcpStream) -> Option<(u32, Vec<u8>)> {
    let mut frame = [0; 4];
    from.read_exact(&mut frame).ok()?;
    let frame = u32::from_be_bytes(frame);
    let mut message = vec![0; (frame & 0x7FFF_FFFF) as usize];
    from.read_exact(&mut message).ok()?;
    Some((frame, message))
}

/// A message with one bit changed; `at` counts from its end.
pub fn flipped(mut message: Vec<u8>, at: usize) -> Vec<Vec<u8>> {
    let place = message.len() - at;
    message[place] ^= 1;
    vec![message]
}
