//! A client over TCP that blocks: every wait has a deadline, and a read or write is one request.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use super::{Arrival, ClientError, Conversation};
use crate::security::level::Level;
use crate::security::password;
use crate::security::signature::{Signer, Transport};
use crate::wire::file::{CloseFile, CommitFile, ReadFile, WriteFile};
use crate::wire::handle_path::{Components, PathStart};
use crate::wire::large::{GetLargeSize, LargeSize, ReadLarge, WriteLarge};
use crate::wire::login::{GetLoginKey, GetObjectId, KeyedLogin, LoginKey, Logout, ObjectId, USER};
use crate::wire::name_space::{Delete, OpenCreate, Opened, mode, space};
use crate::wire::negotiate::{AcceptedPacketSize, NegotiateBuffer, NegotiatedBuffer, PacketSize, Security};
use crate::wire::packet::ConnectionStatus;
use crate::wire::server_info::{GetServerInfo, ServerInfo};
use crate::wire::tcp::{Direction, message_len};
use crate::wire::{
    Codec, Completion, FileHandle, HandlePath, Payload, Pstr, ReadReply, Reader, Request, ReturnMask,
    ShortHandle, WireError, dos,
};

/// What the kernel's client proposes on TCP (ncp.md 2.2).
const PROPOSED: u16 = 61_440;
/// The least data per call that is worked with.
const MIN_BUFFER: u16 = 512;
/// How often "busy" may prolong a wait.
const MOST_BUSY: u32 = 10;
const CHUNK: usize = 64 << 10;
/// Files, hidden and system ones too, and directories.
const EVERYTHING: u16 = 0x8006;

/// How a client behaves.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// How long to wait for a reply. A server that says "busy" is waited for as long again, ten times at most.
    pub timeout: Duration,
    /// When packets are signed. A server has no way to ask before the login: at [`Level::IfAsked`] a login that is
    /// refused for want of signatures is tried again with them.
    pub signatures: Level,
}

impl Default for Options {
    fn default() -> Self {
        Self { timeout: Duration::from_secs(30), signatures: Level::IfAsked }
    }
}

/// Who logs in.
#[derive(Debug, Clone, Copy)]
pub struct Login<'a> {
    /// Name of the user.
    pub user: &'a str,
    /// Password; it is put in upper case first, as clients do.
    pub password: &'a str,
}

/// How a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// An existing file, to be read.
    Read,
    /// An existing file, to be read and written.
    ReadWrite,
    /// A new or emptied file, to be read and written.
    Create,
}

/// An open file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct File(ShortHandle);

/// A connection over TCP.
#[derive(Debug)]
pub struct TcpClient {
    stream: TcpStream,
    conversation: Conversation,
    input: Vec<u8>,
    taken: usize,
    options: Options,
    buffer: u16,
    signs: bool,
    large: bool,
}

fn wire(step: &'static str) -> impl Fn(WireError) -> ClientError {
    move |source| ClientError::Wire { step, source }
}

impl TcpClient {
    /// Connects, creates a connection and negotiates.
    pub fn connect(server: SocketAddr, options: Options) -> Result<Self, ClientError> {
        let io = |source| ClientError::Io { step: "connect", source };
        let stream = TcpStream::connect_timeout(&server, options.timeout).map_err(io)?;
        stream.set_nodelay(true).map_err(io)?;
        stream.set_write_timeout(Some(options.timeout)).map_err(io)?;
        let conversation = Conversation::new(Transport::Tcp);
        let (input, taken, buffer) = (Vec::new(), 0, MIN_BUFFER);
        let mut client =
            Self { stream, conversation, input, taken, options, buffer, signs: false, large: false };
        client.conversation.create();
        client.exchange("create connection")?;
        client.negotiate(options.signatures >= Level::IfPossible)?;
        client.large = client.server_info()?.large_files == 1;
        Ok(client)
    }

    /// Most data of a read or write, in bytes.
    pub const fn buffer(&self) -> usize {
        self.buffer as usize
    }

    /// True when packets are signed once a user has logged in.
    pub const fn signs(&self) -> bool {
        self.signs
    }

    /// What the server is.
    pub fn server_info(&mut self) -> Result<ServerInfo, ClientError> {
        const STEP: &str = "server information";
        ServerInfo::decode(self.call(STEP, &GetServerInfo {}.into())?).map_err(wire(STEP))
    }

    /// Logs in with a key, so that the password stays here.
    pub fn login(&mut self, login: Login<'_>) -> Result<(), ClientError> {
        const STEP: &str = "login";
        if self.options.signatures == Level::Always && !self.signs {
            return Err(ClientError::NotSigned { step: STEP });
        }
        match self.login_once(login) {
            Err(ClientError::Refused { completion: Completion::SignatureRequired, .. })
                if self.options.signatures == Level::IfAsked && !self.signs =>
            {
                self.negotiate(true)?;
                self.login_once(login)
            }
            done => done,
        }
    }

    /// Opens or creates `VOLUME:DIRECTORY\FILE`.
    pub fn open(&mut self, path: &str, access: Access) -> Result<File, ClientError> {
        const STEP: &str = "open";
        let packed = components(path).map_err(wire(STEP))?;
        let read_only = access == Access::Read;
        let call = OpenCreate {
            space: space::DOS,
            mode: if access == Access::Create { mode::CREATE | mode::REPLACE } else { mode::OPEN },
            search: EVERYTHING,
            mask: ReturnMask::ALL,
            extended: 0,
            attributes: 0,
            access: if read_only { dos::access::READ } else { dos::access::READ | dos::access::WRITE },
            path: absolute(&packed).map_err(wire(STEP))?,
        };
        let data = self.call(STEP, &call.into())?;
        Opened::get(call.mask, &mut Reader::new(data)).map(|opened| File(opened.file)).map_err(wire(STEP))
    }

    /// Reads with one request; fewer bytes than asked for are the end of the file, or what one request can carry.
    pub fn read(&mut self, file: File, offset: u64, buffer: &mut [u8]) -> Result<usize, ClientError> {
        const STEP: &str = "read";
        let count = self.share(offset, buffer.len()) as u16;
        let call = if self.large {
            ReadLarge { file: file.0, offset, count }.into()
        } else {
            ReadFile { file: FileHandle::of_name_space(file.0), offset: near(STEP, offset)?, count }.into()
        };
        let reply = ReadReply::decode(offset, self.call(STEP, &call)?).map_err(wire(STEP))?;
        let data = reply.data.bytes();
        let place = buffer[..usize::from(count)].get_mut(..data.len());
        let too_long = WireError::TooLong { field: "data", len: data.len(), max: usize::from(count) };
        place.ok_or(too_long).map_err(wire(STEP))?.copy_from_slice(data);
        Ok(data.len())
    }

    /// Writes with one request and tells how much it could carry.
    pub fn write(&mut self, file: File, offset: u64, data: &[u8]) -> Result<usize, ClientError> {
        let count = self.share(offset, data.len());
        // A write of nothing would set the size.
        if count > 0 {
            self.put("write", file, offset, &data[..count])?;
        }
        Ok(count)
    }

    /// Sets the size of a file.
    pub fn resize(&mut self, file: File, size: u64) -> Result<(), ClientError> {
        self.put("set size", file, size, &[])
    }

    /// Size of an open file, from a server that has 64-bit calls.
    pub fn size(&mut self, file: File) -> Result<u64, ClientError> {
        const STEP: &str = "size";
        let data = self.call(STEP, &GetLargeSize { file: file.0 }.into())?;
        LargeSize::decode(data).map(|reply| reply.size).map_err(wire(STEP))
    }

    /// Returns when the file's data is on disk.
    pub fn commit(&mut self, file: File) -> Result<(), ClientError> {
        self.call("commit", &CommitFile { file: FileHandle::of_name_space(file.0) }.into()).map(|_| ())
    }

    /// Closes a file.
    pub fn close(&mut self, file: File) -> Result<(), ClientError> {
        self.call("close", &CloseFile { file: FileHandle::of_name_space(file.0) }.into()).map(|_| ())
    }

    /// Deletes `VOLUME:DIRECTORY\FILE`.
    pub fn delete(&mut self, path: &str) -> Result<(), ClientError> {
        const STEP: &str = "delete";
        let packed = components(path).map_err(wire(STEP))?;
        let path = absolute(&packed).map_err(wire(STEP))?;
        self.call(STEP, &Delete { space: space::DOS, search: EVERYTHING, path }.into()).map(|_| ())
    }

    /// Logs out and ends the connection.
    pub fn disconnect(mut self) -> Result<(), ClientError> {
        self.call("logout", &Logout {}.into())?;
        self.conversation.destroy();
        self.exchange("destroy connection").map(|_| ())
    }

    /// Data bytes of one request at an offset: calls of 32 bits must not cross a multiple of the buffer (ncp.md 2.2).
    fn share(&self, offset: u64, len: usize) -> usize {
        let buffer = u64::from(self.buffer);
        let most = if self.large { buffer } else { buffer - offset % buffer };
        len.min(most as usize)
    }

    fn put(&mut self, step: &'static str, file: File, offset: u64, data: &[u8]) -> Result<(), ClientError> {
        let data = Payload::new(data).map_err(wire(step))?;
        if self.large {
            return self.call(step, &WriteLarge { file: file.0, offset, data }.into()).map(|_| ());
        }
        let (file, offset) = (FileHandle::of_name_space(file.0), near(step, offset)?);
        self.call(step, &WriteFile { file, offset, data }.into()).map(|_| ())
    }

    /// 0x61, or 0x21 where that is unknown.
    fn negotiate(&mut self, signatures: bool) -> Result<(), ClientError> {
        const STEP: &str = "negotiate";
        let security = if signatures { Security::SIGNATURE.0 } else { 0 };
        let size = PacketSize { proposed: PROPOSED, security };
        let accepted = match self.call(STEP, &size.into()) {
            Ok(data) => AcceptedPacketSize::decode(data).map_err(wire(STEP))?,
            Err(ClientError::Refused { completion: Completion::UnknownFunction, .. }) => {
                let data = self.call(STEP, &NegotiateBuffer { proposed: PROPOSED }.into())?;
                let accepted = NegotiatedBuffer::decode(data).map_err(wire(STEP))?.accepted;
                AcceptedPacketSize { accepted, echo_socket: 0, security: 0 }
            }
            Err(error) => return Err(error),
        };
        // 0 keeps what was proposed.
        let accepted_size = if accepted.accepted == 0 { PROPOSED } else { accepted.accepted };
        self.buffer = accepted_size.clamp(MIN_BUFFER, PROPOSED);
        self.signs = Security(accepted.security).both(Security(security)).has(Security::SIGNATURE);
        Ok(())
    }

    fn login_once(&mut self, login: Login<'_>) -> Result<(), ClientError> {
        const STEP: &str = "login";
        let name = login.user.to_ascii_uppercase();
        let name = Pstr::new(name.as_bytes()).map_err(wire(STEP))?;
        let key = LoginKey::decode(self.call(STEP, &GetLoginKey {}.into())?).map_err(wire(STEP))?.key;
        let object = self.call(STEP, &GetObjectId { kind: USER, name }.into())?;
        let id = ObjectId::decode(object).map_err(wire(STEP))?.id;
        let hash = password::hash(id, login.password.to_ascii_uppercase().as_bytes());
        let response = password::response(&key, &hash);
        match self.call(STEP, &KeyedLogin { response, kind: USER, name }.into()) {
            // Logged in all the same.
            Ok(_) | Err(ClientError::Refused { completion: Completion::PasswordExpired, .. }) => {}
            Err(error) => return Err(error),
        }
        if self.signs {
            self.conversation.sign(Signer::new(&hash, &key, Transport::Tcp));
        }
        Ok(())
    }

    fn call(&mut self, step: &'static str, request: &Request<'_>) -> Result<&[u8], ClientError> {
        self.conversation.request(request);
        self.exchange(step)
    }

    /// Sends what the conversation made and waits for its reply.
    fn exchange(&mut self, step: &'static str) -> Result<&[u8], ClientError> {
        let io = |source| ClientError::Io { step, source };
        self.stream.write_all(self.conversation.again()).map_err(io)?;
        let timeout = self.options.timeout;
        let mut deadline = Instant::now() + timeout;
        let last = deadline + timeout * MOST_BUSY;
        loop {
            self.input.drain(..self.taken);
            self.taken = 0;
            self.taken = self.receive(deadline).map_err(|error| match error {
                Failed::Io(source) => io(source),
                Failed::Wire(source) => ClientError::Wire { step, source },
            })?;
            let reply = match self.conversation.arrival(&self.input[..self.taken]).map_err(wire(step))? {
                Arrival::Reply(reply) => reply,
                Arrival::BadSignature => return Err(ClientError::BadSignature { step }),
                Arrival::Foreign => continue,
                Arrival::Busy => {
                    deadline = last.min(Instant::now() + timeout);
                    continue;
                }
            };
            if reply.status.has(ConnectionStatus::BAD_CONNECTION) {
                return Err(ClientError::ConnectionLost { step });
            }
            if !reply.completion.is_success() {
                return Err(ClientError::Refused { step, completion: reply.completion });
            }
            let end = self.taken;
            let len = reply.data.len();
            return Ok(&self.input[end - len..end]);
        }
    }

    /// Reads on until a message is whole; its length.
    fn receive(&mut self, deadline: Instant) -> Result<usize, Failed> {
        loop {
            // First of all: a peer may fill the stream with what is no reply.
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Failed::Io(io::ErrorKind::TimedOut.into()));
            }
            match message_len(Direction::Reply, &self.input).map_err(Failed::Wire)? {
                Some(len) if len <= self.input.len() => return Ok(len),
                _ => {}
            }
            self.stream.set_read_timeout(Some(left)).map_err(Failed::Io)?;
            let start = self.input.len();
            self.input.resize(start + CHUNK, 0);
            let read = self.stream.read(&mut self.input[start..]);
            self.input.truncate(start + read.as_ref().map_or(0, |read| *read));
            match read {
                Ok(0) => return Err(Failed::Io(io::ErrorKind::UnexpectedEof.into())),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Err(Failed::Io(io::ErrorKind::TimedOut.into()));
                }
                Err(error) => return Err(Failed::Io(error)),
            }
        }
    }
}

/// Why no message came.
enum Failed {
    Io(io::Error),
    Wire(WireError),
}

fn near(step: &'static str, offset: u64) -> Result<u32, ClientError> {
    u32::try_from(offset).map_err(|_| ClientError::TooFar { step, offset })
}

/// The names of a path, packed: the volume first.
fn components(path: &str) -> Result<Vec<u8>, WireError> {
    let (volume, rest) = path.split_once(':').unwrap_or((path, ""));
    let names = rest.split(['\\', '/']).filter(|name| !name.is_empty());
    Components::pack(std::iter::once(volume).chain(names).map(str::as_bytes))
}

fn absolute(packed: &[u8]) -> Result<HandlePath<'_>, WireError> {
    Ok(HandlePath { start: PathStart::NONE, components: Components::decode(packed)? })
}
