//! A connection to the embedded SMB server that sends what no client sends.

use sharebench_smb::NtStatus;
use sharebench_smb::requester::Requester;
use sharebench_smb::wire::FileId;
use sharebench_smb::wire::create::{CreateRequest, CreateResponse, SHARE_ALL, disposition};
use sharebench_smb::wire::header::{Header, command};

/// Every right on a file.
const ALL_ACCESS: u32 = 0x001F_01FF;
/// Credits that each request requests.
const CREDITS: u16 = 512;

/// A connection with a session of a guest.
pub struct SmbConnection(Requester);

impl SmbConnection {
    /// Connects and sends nothing.
    pub fn connect(port: u16) -> Self {
        let mut requester = Requester::connect(("127.0.0.1", port)).unwrap();
        requester.credits = CREDITS;
        Self(requester)
    }

    /// Negotiates dialect 2.1, logs in as a guest and connects to the share.
    pub fn as_guest(port: u16) -> Self {
        let mut new = Self::connect(port);
        new.0.negotiate().unwrap();
        new.0.set_up().unwrap();
        assert_eq!(new.0.connect_tree("share").unwrap(), NtStatus::SUCCESS);
        new
    }

    /// Encodes a request.
    pub fn message(&mut self, command: u16, body: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        self.0.message(command, 0, body)
    }

    /// Sends a message or a compound. A server that has closed the connection is noticed when a reply is received.
    pub fn send(&mut self, message: &[u8]) {
        let _ = self.0.send(message);
    }

    /// Receives a message; none if the server has closed the connection.
    pub fn receive(&mut self) -> Option<Vec<u8>> {
        self.0.receive().ok()
    }

    /// Sends a request and returns the reply.
    pub fn call(&mut self, command: u16, body: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        self.0.call(command, body).unwrap().1
    }

    /// The status of the next reply.
    pub fn status(&mut self) -> NtStatus {
        NtStatus(Header::decode(&self.receive().unwrap()).unwrap().status)
    }

    /// A request that opens or creates a file.
    pub fn open_request(name: &str, oplock: u8) -> CreateRequest {
        CreateRequest {
            oplock,
            access: ALL_ACCESS,
            share: SHARE_ALL,
            disposition: disposition::OPEN_IF,
            name: name.to_owned(),
            ..CreateRequest::default()
        }
    }

    /// Opens or creates a file.
    pub fn open(&mut self, name: &str, oplock: u8) -> FileId {
        let request = Self::open_request(name, oplock);
        let reply = self.call(command::CREATE, |body| request.encode(body));
        assert_eq!(NtStatus(Header::decode(&reply).unwrap().status), NtStatus::SUCCESS, "{name}");
        CreateResponse::decode(&reply).unwrap().file
    }
}
