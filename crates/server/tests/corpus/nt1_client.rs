//! The client of SMB1 and a responder with canned replies, which are changed on the way.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::OnceLock;

use sharebench_server::MemoryVolume;
use sharebench_smb::nt1::file::{
    CreateRequest, CreateResponse, LockRequest, OPLOCK_RELEASE, REQUEST_OPLOCK, ReadRequest, ReadResponse,
    UNSOLICITED, WriteRequest, WriteResponse,
};
use sharebench_smb::nt1::message::{HEADER_LEN, NO_ANDX, NoWords, REPLY, Words, put_blocks};
use sharebench_smb::nt1::session::{
    GUEST, NegotiateResponse, SessionSetupRequest, SessionSetupResponse, capability,
};
use sharebench_smb::nt1::trans2::{self, subcommand};
use sharebench_smb::nt1::{Header, Message, command};
use sharebench_smb::{NtStatus, NtlmAcceptor, SmbTarget};
use sharebench_target::{Secret, TargetUrl};

use super::relay::{self, Changes, Role};

/// Bytes of the longest request that the responder reads.
const MAX_REQUEST: usize = 1 << 17;
/// Size of every file.
const FILE_BYTES: u64 = 40_000;
/// Position of the bytes of a reply with this number of words.
const fn bytes_at(words: u8) -> usize {
    HEADER_LEN + 1 + 2 * words as usize + 2
}

/// A complete session, from NEGOTIATE to `LOGOFF_ANDX`.
pub fn run(role: Role, input: &[u8]) {
    static RESPONDER: OnceLock<(SocketAddr, MemoryVolume)> = OnceLock::new();
    let (address, volume) = RESPONDER.get_or_init(|| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                // The end of a connection is no error.
                std::thread::spawn(move || drop(serve(client)));
            }
        });
        (address, MemoryVolume::new(4096))
    });
    relay::converse(*address, volume, Changes::new(role, HEADER_LEN, input), |port| {
        let url = format!("smb://127.0.0.1:{port}/share?dialect=nt1");
        Box::new(SmbTarget::from_url(TargetUrl::parse(&url).unwrap(), Secret::default()).unwrap())
    });
}

fn serve(mut client: TcpStream) -> io::Result<()> {
    let mut login = NtlmAcceptor::new("SERVER");
    loop {
        let mut prefix = [0; 4];
        client.read_exact(&mut prefix)?;
        let mut message = vec![0; (u32::from_be_bytes(prefix) as usize).min(MAX_REQUEST)];
        client.read_exact(&mut message)?;
        let reply = respond(&message, &mut login).ok_or(io::ErrorKind::InvalidData)?;
        let replies = [Some(reply), broken_oplock(&message)];
        for message in replies.into_iter().flatten() {
            client.write_all(&(message.len() as u32).to_be_bytes())?;
            client.write_all(&message)?;
        }
    }
}

/// The break of the oplock that an open has requested.
fn broken_oplock(message: &[u8]) -> Option<Vec<u8>> {
    let request = Header::decode(message).ok()?;
    let words = Message::split(message).ok()?.get::<CreateRequest>().ok()?;
    if request.command != command::NT_CREATE_ANDX || words.flags & REQUEST_OPLOCK == 0 {
        return None;
    }
    let header = Header { command: command::LOCKING_ANDX, tid: 1, mid: UNSOLICITED, ..Header::default() };
    let words = LockRequest { andx: NO_ANDX, fid: 1, kind: OPLOCK_RELEASE, ..LockRequest::default() };
    let mut broken = Vec::new();
    header.encode(&mut broken);
    put_blocks(&words, &mut broken, |_| {});
    Some(broken)
}

/// The reply to a request. Every open is granted a batch oplock, which only those that have requested it may believe.
fn respond(message: &[u8], login: &mut NtlmAcceptor) -> Option<Vec<u8>> {
    let request = Header::decode(message).ok()?;
    let parts = Message::split(message).ok()?;
    let mut body = Vec::new();
    let mut status = NtStatus::SUCCESS;
    match request.command {
        command::NEGOTIATE => put_blocks(&offer(), &mut body, |out| out.extend_from_slice(&[7; 16])),
        command::SESSION_SETUP_ANDX => {
            let len = parts.get::<SessionSetupRequest>().ok()?.token_len;
            let token = parts.bytes.get(..usize::from(len))?;
            let answer = if login.has_challenged() {
                login.receive(token).ok()?.accept_without_key()
            } else {
                status = NtStatus::MORE_PROCESSING_REQUIRED;
                login.challenge(token).ok()?
            };
            let token_len = answer.len() as u16;
            let words = SessionSetupResponse { andx: NO_ANDX, action: GUEST, token_len };
            put_blocks(&words, &mut body, |out| out.extend_from_slice(&answer));
        }
        command::TREE_CONNECT_ANDX => {
            put_blocks(&NoWords {}, &mut body, |out| out.extend_from_slice(b"A:\0"));
        }
        command::NT_CREATE_ANDX => {
            let words = CreateResponse {
                andx: NO_ANDX,
                fid: 1,
                oplock: 2,
                end_of_file: FILE_BYTES,
                ..CreateResponse::default()
            };
            put_blocks(&words, &mut body, |_| {});
        }
        command::READ_ANDX => {
            let len = parts.get::<ReadRequest>().ok()?.count_low;
            let offset = bytes_at(ReadResponse::COUNT) as u16;
            let words = ReadResponse { andx: NO_ANDX, len_low: len, offset, ..ReadResponse::default() };
            put_blocks(&words, &mut body, |out| out.resize(out.len() + usize::from(len), 7));
        }
        command::WRITE_ANDX => {
            let count_low = parts.get::<WriteRequest>().ok()?.len_low;
            let words = WriteResponse { andx: NO_ANDX, count_low, ..WriteResponse::default() };
            put_blocks(&words, &mut body, |_| {});
        }
        command::TRANSACTION2 => put_transaction(parts.get::<trans2::Request>().ok()?.subcommand, &mut body),
        _ => put_blocks(&NoWords {}, &mut body, |_| {}),
    }
    let header = Header { status: status.0, flags: request.flags | REPLY, uid: 1, tid: 1, ..request };
    let mut reply = Vec::new();
    header.encode(&mut reply);
    reply.append(&mut body);
    Some(reply)
}

fn offer() -> NegotiateResponse {
    NegotiateResponse {
        max_mpx: 50,
        max_vcs: 1,
        max_buffer: 16_644,
        capabilities: capability::UNICODE
            | capability::LARGE_FILES
            | capability::NT_SMBS
            | capability::NT_STATUS
            | capability::LARGE_READX
            | capability::LARGE_WRITEX
            | capability::EXTENDED_SECURITY,
        ..NegotiateResponse::default()
    }
}

/// A response of a transaction: one entry of a directory, or attributes.
fn put_transaction(subcommand: u16, body: &mut Vec<u8>) {
    let (parameters, data): (&[u8], Vec<u8>) = match subcommand {
        // Search, entries, end, and two fields more.
        subcommand::FIND_FIRST2 => (&[1, 0, 1, 0, 1, 0, 0, 0, 0, 0], entry()),
        subcommand::FIND_NEXT2 => (&[1, 0, 1, 0, 0, 0, 0, 0], entry()),
        _ => (&[0, 0], vec![1; 24]),
    };
    let at = bytes_at(trans2::Response::COUNT);
    let parameters_at = at.next_multiple_of(4);
    let data_at = (parameters_at + parameters.len()).next_multiple_of(4);
    let words = trans2::Response {
        total_parameters: parameters.len() as u16,
        total_data: data.len() as u16,
        parameters: parameters.len() as u16,
        parameters_offset: parameters_at as u16,
        data: data.len() as u16,
        data_offset: data_at as u16,
        ..trans2::Response::default()
    };
    put_blocks(&words, body, |out| {
        let base = out.len();
        out.resize(base + parameters_at - at, 0);
        out.extend_from_slice(parameters);
        out.resize(base + data_at - at, 0);
        out.extend_from_slice(&data);
    });
}

/// An entry of a directory (MS-CIFS 2.2.8.1.4) with the name `a`.
fn entry() -> Vec<u8> {
    let mut bytes = vec![0; 64];
    bytes[40] = 7;
    bytes[60] = 2;
    bytes.extend_from_slice(&[b'a', 0]);
    bytes
}
