//! Requests encoded one by one, for what this project's client never sends.

mod attacks;
mod cancellations;
mod channel_sequence;
mod connections;
mod copies;
mod cross_protocol;
mod directory_leases;
mod durable;
mod information;
mod large_reads;
mod leases;
mod names;
mod pipes;
mod stored;
mod streams;
mod watches;

use std::net::SocketAddr;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::Duration;

use sharebench_smb::NtStatus;
use sharebench_smb::requester::Requester;
use sharebench_smb::wire::create::{CreateRequest, CreateResponse, SHARE_ALL, disposition, options};
use sharebench_smb::wire::data::{
    READ_DATA_OFFSET, ReadRequest, ReadResponse, WRITE_DATA_OFFSET, WriteRequest,
};
use sharebench_smb::wire::directory::{QueryDirectoryRequest, entries, flags as scan};
use sharebench_smb::wire::header::{Header, command, flags};
use sharebench_smb::wire::info::{DISPOSITION, InfoResponse, QueryInfoRequest, SetInfoRequest, rename};
use sharebench_smb::wire::lock::{LockRange, LockRequest, flags as lock_flags};
use sharebench_smb::wire::negotiate::NegotiateResponse;
use sharebench_smb::wire::simple::{CloseRequest, Empty};
use sharebench_smb::wire::{FileId, HEADER_LEN};

use crate::{
    DeviceOptions, DeviceVolume, DirectoryOptions, DirectoryVolume, MemoryVolume, ROOT, ServiceTime,
    SmbServer, SmbServerOptions, Volume,
};

const READ: u32 = 0x0012_0089;
const ALL: u32 = 0x001F_01FF;

/// A client that sends one message at a time.
struct Raw(Requester);

impl Deref for Raw {
    type Target = Requester;

    fn deref(&self) -> &Requester {
        &self.0
    }
}

impl DerefMut for Raw {
    fn deref_mut(&mut self) -> &mut Requester {
        &mut self.0
    }
}

impl Raw {
    fn connect(addr: SocketAddr) -> Self {
        Self(Requester::connect(addr).unwrap())
    }

    fn log_in(addr: SocketAddr, share: &str) -> Self {
        let mut raw = Self::connect(addr);
        raw.negotiate();
        raw.set_up(share);
        raw
    }

    /// Logs in and connects to the share.
    fn set_up(&mut self, share: &str) {
        let statuses = [NtStatus::MORE_PROCESSING_REQUIRED, NtStatus::SUCCESS];
        assert_eq!(self.0.set_up().unwrap(), statuses);
        assert_eq!(self.0.connect_tree(share).unwrap(), NtStatus::SUCCESS);
    }

    fn negotiate(&mut self) -> NegotiateResponse {
        self.0.negotiate().unwrap()
    }

    fn send(&mut self, message: &[u8]) {
        self.0.send(message).unwrap();
    }

    fn receive(&mut self) -> Option<Vec<u8>> {
        self.0.receive().ok()
    }

    fn call(&mut self, command: u16, body: impl FnOnce(&mut Vec<u8>)) -> (Header, Vec<u8>) {
        self.0.call(command, body).unwrap()
    }

    fn create(&mut self, request: &CreateRequest) -> Result<CreateResponse, NtStatus> {
        let (header, reply) = self.call(command::CREATE, |body| request.encode(body));
        let response = CreateResponse::decode(&reply);
        if header.status == 0 { Ok(response.unwrap()) } else { Err(NtStatus(header.status)) }
    }

    fn open(&mut self, name: &str, disposition: u32) -> Result<FileId, NtStatus> {
        self.create(&wanted(name, disposition)).map(|opened| opened.file)
    }

    fn close(&mut self, file: FileId) -> NtStatus {
        let request = CloseRequest { file, ..CloseRequest::default() };
        NtStatus(self.call(command::CLOSE, |body| request.encode(body)).0.status)
    }

    fn write(&mut self, file: FileId, offset: u64, data: &[u8]) -> NtStatus {
        let request = WriteRequest {
            data_offset: WRITE_DATA_OFFSET as u16,
            len: data.len() as u32,
            offset,
            file,
            ..WriteRequest::default()
        };
        let (header, _) = self.call(command::WRITE, |body| {
            request.encode(body);
            body.extend_from_slice(data);
        });
        NtStatus(header.status)
    }

    fn read(&mut self, file: FileId, offset: u64, len: u32) -> Result<Vec<u8>, NtStatus> {
        let request = ReadRequest { len, offset, file, ..ReadRequest::default() };
        let (header, reply) = self.call(command::READ, |body| request.encode(body));
        if header.status != 0 {
            return Err(NtStatus(header.status));
        }
        let response = ReadResponse::decode(&reply).unwrap();
        assert_eq!(usize::from(response.data_offset), READ_DATA_OFFSET);
        Ok(response.data(&reply).unwrap().to_vec())
    }

    fn set(&mut self, file: FileId, class: u8, information: Vec<u8>) -> NtStatus {
        let request = SetInfoRequest { info_type: 1, class, file, additional: 0, information };
        NtStatus(self.call(command::SET_INFO, |body| request.encode(body)).0.status)
    }

    fn query(
        &mut self,
        file: FileId,
        info_type: u8,
        class: u8,
        output_len: u32,
    ) -> Result<Vec<u8>, NtStatus> {
        let request = QueryInfoRequest {
            info_type,
            class,
            output_len,
            additional: 7,
            file,
            ..QueryInfoRequest::default()
        };
        let (header, reply) = self.call(command::QUERY_INFO, |body| request.encode(body));
        match NtStatus(header.status) {
            NtStatus::SUCCESS => Ok(InfoResponse::decode(&reply).unwrap().to_vec()),
            status => Err(status),
        }
    }

    fn lock_request(&mut self, file: FileId, (offset, len): (u64, u64), flags: u32) -> Vec<u8> {
        let request = LockRequest { sequence: 0, file, ranges: vec![LockRange { offset, len, flags }] };
        self.message(command::LOCK, 0, |body| request.encode(body))
    }

    fn lock(&mut self, file: FileId, range: (u64, u64), flags: u32) -> NtStatus {
        let message = self.lock_request(file, range, flags);
        self.send(&message);
        self.status()
    }

    /// The headers of the replies of the next frame.
    fn replies(&mut self) -> Vec<Header> {
        let frame = self.receive().unwrap();
        let mut headers: Vec<Header> = Vec::new();
        let mut at = 0;
        loop {
            let header = Header::decode(&frame[at..]).unwrap();
            at += header.next as usize;
            headers.push(header);
            if header.next == 0 {
                return headers;
            }
        }
    }

    fn status(&mut self) -> NtStatus {
        NtStatus(Header::decode(&self.receive().unwrap()).unwrap().status)
    }
}

/// The frame of several requests.
fn compound<const COUNT: usize>(requests: [Vec<u8>; COUNT]) -> Vec<u8> {
    let mut compound = Vec::new();
    for (index, mut request) in requests.into_iter().enumerate() {
        if index + 1 < COUNT {
            request.resize(request.len().next_multiple_of(8), 0);
            let next = request.len() as u32;
            request[20..24].copy_from_slice(&next.to_le_bytes());
        }
        compound.append(&mut request);
    }
    compound
}

fn wanted(name: &str, disposition: u32) -> CreateRequest {
    CreateRequest {
        access: ALL,
        share: SHARE_ALL,
        disposition,
        name: name.to_owned(),
        ..CreateRequest::default()
    }
}

/// The CANCEL of a request.
fn cancellation(request: &[u8]) -> Vec<u8> {
    let mut cancel = request[..HEADER_LEN].to_vec();
    cancel[12..14].copy_from_slice(&command::CANCEL.to_le_bytes());
    Empty::default().encode(&mut cancel);
    cancel
}

/// Runs a test with a volume that is called in place, and with one that is called on workers.
fn on_both(test: impl Fn(&SmbServer, &dyn Volume)) {
    let direct: Arc<dyn Volume> = Arc::new(MemoryVolume::new(16 << 20));
    let device = DeviceVolume::new(MemoryVolume::new(16 << 20), DeviceOptions::default());
    for volume in [direct, Arc::new(device)] {
        let addr = "127.0.0.1:0".parse().unwrap();
        let server = SmbServer::start(addr, Arc::clone(&volume), SmbServerOptions::default()).unwrap();
        test(&server, volume.as_ref());
    }
}

/// Runs a test with a volume in memory, and with a directory of the host.
fn on_memory_and_directory(name: &str, test: impl Fn(&SmbServer, &dyn Volume)) {
    let path = std::env::temp_dir().join(format!("sharebench-smb-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&path).unwrap();
    let directory = DirectoryVolume::open(&path, &DirectoryOptions::default()).unwrap();
    let memory: Arc<dyn Volume> = Arc::new(MemoryVolume::new(16 << 20));
    for volume in [memory, Arc::new(directory)] {
        let addr = "127.0.0.1:0".parse().unwrap();
        let server = SmbServer::start(addr, Arc::clone(&volume), SmbServerOptions::default()).unwrap();
        test(&server, volume.as_ref());
    }
    std::fs::remove_dir_all(&path).unwrap();
}

#[test]
fn dispositions_have_their_specified_effects() {
    on_both(|server, volume| {
        let mut raw = Raw::log_in(server.addr(), "share");
        let made = raw.create(&wanted("file", disposition::CREATE)).unwrap();
        assert_eq!((made.action, made.attributes), (2, 0x20));
        // A write beyond the end extends the file with nothing but the right to write data.
        assert_eq!(raw.write(made.file, 3, b"bytes"), NtStatus::SUCCESS);
        assert_eq!(raw.read(made.file, 0, 100).unwrap(), b"\0\0\0bytes");
        assert_eq!(raw.read(made.file, 8, 100), Err(NtStatus::END_OF_FILE));
        assert_eq!(raw.open("FILE", disposition::CREATE), Err(NtStatus::OBJECT_NAME_COLLISION));
        assert_eq!(raw.create(&wanted("File", disposition::OPEN_IF)).unwrap().action, 1);
        let replaced = raw.create(&wanted("file", disposition::OVERWRITE_IF)).unwrap();
        assert_eq!((replaced.action, replaced.end_of_file), (3, 0));
        assert_eq!(raw.create(&wanted("file", disposition::SUPERSEDE)).unwrap().action, 0);
        assert_eq!(raw.open("no", disposition::OVERWRITE), Err(NtStatus::OBJECT_NAME_NOT_FOUND));
        for path in ["no\\file", "no/file", "file\\x"] {
            assert_eq!(raw.open(path, disposition::CREATE), Err(NtStatus::OBJECT_PATH_NOT_FOUND));
        }
        for name in ["..", "a\\..\\b", "a/../b", "file:stream:$EA", "con", "end."] {
            assert_eq!(raw.open(name, disposition::OPEN_IF), Err(NtStatus::OBJECT_NAME_INVALID), "{name}");
        }
        let directory =
            CreateRequest { options: options::DIRECTORY_FILE, ..wanted("file", disposition::OPEN) };
        assert_eq!(raw.create(&directory).err(), Some(NtStatus::NOT_A_DIRECTORY));
        let root = CreateRequest { options: options::NON_DIRECTORY_FILE, ..wanted("", disposition::OPEN) };
        assert_eq!(raw.create(&root).err(), Some(NtStatus::FILE_IS_A_DIRECTORY));
        assert_eq!(volume.list(ROOT, 0, 10).unwrap().len(), 1);
    });
}

#[test]
fn share_modes_exclude_and_a_pending_removal_ends_with_the_last_close() {
    on_both(|server, volume| {
        let mut one = Raw::log_in(server.addr(), "share");
        let mut two = Raw::log_in(server.addr(), "share");
        let alone = CreateRequest { share: 0, ..wanted("file", disposition::CREATE) };
        let file = one.create(&alone).unwrap().file;
        assert_eq!(two.open("file", disposition::OPEN), Err(NtStatus::SHARING_VIOLATION));
        let stat = CreateRequest { access: 0x80, ..wanted("file", disposition::OPEN) };
        let observer = two.create(&stat).unwrap().file;
        assert_eq!(two.read(observer, 0, 1), Err(NtStatus::ACCESS_DENIED));
        assert_eq!(two.close(observer), NtStatus::SUCCESS);
        assert_eq!(one.close(file), NtStatus::SUCCESS);
        assert_eq!(one.close(file), NtStatus::FILE_CLOSED);
        let first = one.open("file", disposition::OPEN).unwrap();
        let second = two.open("file", disposition::OPEN).unwrap();
        assert_eq!(one.set(first, DISPOSITION, vec![1]), NtStatus::SUCCESS);
        assert_eq!(two.open("file", disposition::OPEN), Err(NtStatus::DELETE_PENDING));
        assert_eq!(one.close(first), NtStatus::SUCCESS);
        assert!(volume.lookup(ROOT, "file").is_ok());
        assert_eq!(two.close(second), NtStatus::SUCCESS);
        assert!(volume.lookup(ROOT, "file").is_err());
        let temporary =
            CreateRequest { options: options::DELETE_ON_CLOSE, ..wanted("tmp", disposition::CREATE) };
        let file = one.create(&temporary).unwrap().file;
        assert!(volume.lookup(ROOT, "tmp").is_ok());
        assert_eq!(one.close(file), NtStatus::SUCCESS);
        assert!(volume.lookup(ROOT, "tmp").is_err());
    });
}

#[test]
fn renames_keep_or_replace_names_of_any_case() {
    on_both(|server, volume| {
        let mut raw = Raw::log_in(server.addr(), "share");
        let file = raw.open("file", disposition::CREATE).unwrap();
        assert_eq!(raw.set(file, 10, rename("FILE")), NtStatus::SUCCESS);
        assert_eq!(volume.list(ROOT, 0, 10).unwrap()[0].name, "FILE");
        let other = raw.open("other", disposition::CREATE).unwrap();
        let mut keep = rename("Other");
        keep[0] = 0;
        assert_eq!(raw.set(file, 10, keep), NtStatus::OBJECT_NAME_COLLISION);
        assert_eq!(raw.set(file, 10, rename("Other")), NtStatus::ACCESS_DENIED, "it is open");
        assert_eq!(raw.close(other), NtStatus::SUCCESS);
        assert_eq!(raw.set(file, 10, rename("Other")), NtStatus::SUCCESS);
        let names: Vec<_> = volume.list(ROOT, 0, 10).unwrap().into_iter().map(|entry| entry.name).collect();
        assert_eq!(names, ["Other"]);
        assert_eq!(raw.set(file, 10, rename("..\\out")), NtStatus::OBJECT_NAME_INVALID);
    });
}

#[test]
fn listings_match_patterns_and_continue_in_pages() {
    on_both(|server, volume| {
        for name in ["a.txt", "B.TXT", "c.bin", "with:colon", "back\\slash"] {
            volume.create(ROOT, name, 0o644).unwrap();
        }
        let mut raw = Raw::log_in(server.addr(), "share");
        let root = raw.open("", disposition::OPEN).unwrap();
        for (pattern, expected) in [
            ("*", &[".", "..", "B.TXT", "a.txt", "c.bin"][..]),
            ("*.txt", &["B.TXT", "a.txt"]),
            ("b.txt", &["B.TXT"]),
        ] {
            for output_len in [100, 200, 65536] {
                let mut names = Vec::new();
                let mut flags = scan::REOPEN;
                let status = loop {
                    let request = QueryDirectoryRequest {
                        class: 1,
                        flags,
                        file: root,
                        pattern: pattern.into(),
                        output_len,
                        ..QueryDirectoryRequest::default()
                    };
                    flags = 0;
                    let (header, reply) = raw.call(command::QUERY_DIRECTORY, |body| request.encode(body));
                    if header.status != 0 {
                        break NtStatus(header.status);
                    }
                    names.extend(
                        entries(InfoResponse::decode(&reply).unwrap())
                            .unwrap()
                            .into_iter()
                            .map(|entry| entry.name),
                    );
                };
                names.sort_unstable();
                assert_eq!(
                    (&names[..], status),
                    (
                        &expected.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()[..],
                        NtStatus::NO_MORE_FILES
                    ),
                    "{pattern}"
                );
            }
        }
        let request = QueryDirectoryRequest {
            class: 1,
            flags: scan::REOPEN,
            file: root,
            pattern: "none*".into(),
            output_len: 4096,
            ..QueryDirectoryRequest::default()
        };
        let (header, _) = raw.call(command::QUERY_DIRECTORY, |body| request.encode(body));
        assert_eq!(NtStatus(header.status), NtStatus::NO_SUCH_FILE);
    });
}

#[test]
fn locks_exclude_wait_and_are_cancelled() {
    on_both(|server, _| {
        let mut one = Raw::log_in(server.addr(), "share");
        let mut two = Raw::log_in(server.addr(), "share");
        let first = one.open("file", disposition::CREATE).unwrap();
        let second = two.open("file", disposition::OPEN).unwrap();
        assert_eq!(one.write(first, 0, &[1; 100]), NtStatus::SUCCESS);
        let exclusive = lock_flags::EXCLUSIVE | lock_flags::FAIL_IMMEDIATELY;
        assert_eq!(one.lock(first, (0, 10), exclusive), NtStatus::SUCCESS);
        assert_eq!(two.lock(second, (5, 10), exclusive), NtStatus::LOCK_NOT_GRANTED);
        assert_eq!(two.read(second, 9, 1), Err(NtStatus::FILE_LOCK_CONFLICT));
        assert_eq!(two.write(second, 9, b"x"), NtStatus::FILE_LOCK_CONFLICT);
        assert_eq!(two.read(second, 10, 1).unwrap(), [1]);
        assert_eq!(two.lock(second, (0, 10), lock_flags::EXCLUSIVE), NtStatus::PENDING);
        assert_eq!(one.lock(first, (0, 10), lock_flags::UNLOCK), NtStatus::SUCCESS);
        assert_eq!(two.status(), NtStatus::SUCCESS);
        assert_eq!(one.lock(first, (0, 10), lock_flags::UNLOCK), NtStatus::RANGE_NOT_LOCKED);
        let waiting = one.lock_request(first, (0, 1), lock_flags::SHARED);
        one.send(&waiting);
        assert_eq!(one.status(), NtStatus::PENDING);
        one.send(&cancellation(&waiting));
        assert_eq!(one.status(), NtStatus::CANCELLED);
        assert_eq!(one.lock(first, (0, 1), lock_flags::SHARED), NtStatus::PENDING);
        assert_eq!(two.close(second), NtStatus::SUCCESS);
        assert_eq!(one.status(), NtStatus::SUCCESS);
    });
}

#[test]
fn related_requests_of_a_compound_share_their_file_and_its_failure() {
    on_both(|server, volume| {
        volume.create(ROOT, "file", 0o644).unwrap();
        let mut raw = Raw::log_in(server.addr(), "share");
        for (name, expected) in
            [("file", [NtStatus::SUCCESS; 3]), ("none", [NtStatus::OBJECT_NAME_NOT_FOUND; 3])]
        {
            let create = wanted(name, disposition::OPEN);
            let query = QueryInfoRequest {
                info_type: 1,
                class: 5,
                output_len: 24,
                file: FileId::PREVIOUS,
                ..QueryInfoRequest::default()
            };
            let close = CloseRequest { file: FileId::PREVIOUS, ..CloseRequest::default() };
            let compound = compound([
                raw.message(command::CREATE, 0, |body| create.encode(body)),
                raw.message(command::QUERY_INFO, flags::RELATED, |body| query.encode(body)),
                raw.message(command::CLOSE, flags::RELATED, |body| close.encode(body)),
            ]);
            raw.send(&compound);
            let found: Vec<NtStatus> = raw.replies().iter().map(|reply| NtStatus(reply.status)).collect();
            assert_eq!(found, expected);
        }
    });
}

#[test]
fn files_of_a_lost_connection_are_closed() {
    on_both(|server, _| {
        let mut one = Raw::log_in(server.addr(), "share");
        let alone = CreateRequest { share: 0, access: READ, ..wanted("file", disposition::CREATE) };
        one.create(&alone).unwrap();
        drop(one);
        let mut two = Raw::log_in(server.addr(), "share");
        // The server learns of the end when it reads from the socket.
        while two.open("file", disposition::OPEN) == Err(NtStatus::SHARING_VIOLATION) {
            std::thread::yield_now();
        }
        assert!(two.open("file", disposition::OPEN).is_ok());
        server.limit_opens(1);
        assert_eq!(two.open("file", disposition::OPEN), Err(NtStatus::INSUFFICIENT_RESOURCES));
    });
}

#[test]
fn requests_of_one_connection_are_in_progress_at_the_same_time() {
    const REQUESTS: usize = 8;
    let service = ServiceTime::Fixed(Duration::from_millis(500));
    let options = DeviceOptions { servers: REQUESTS, service, ..DeviceOptions::default() };
    let device = Arc::new(DeviceVolume::new(MemoryVolume::new(1 << 20), options));
    let made = device.create(ROOT, "file", 0o644).unwrap();
    device.write(made.node, 0, &[1; 100], false).unwrap();
    let volume: Arc<dyn Volume> = Arc::clone(&device) as Arc<dyn Volume>;
    let addr = "127.0.0.1:0".parse().unwrap();
    let server = SmbServer::start(addr, volume, SmbServerOptions::default()).unwrap();
    let mut raw = Raw::log_in(server.addr(), "share");
    let file = raw.open("file", disposition::OPEN).unwrap();
    device.take_log();
    for _ in 0..REQUESTS {
        let request = ReadRequest { len: 100, file, ..ReadRequest::default() };
        let message = raw.message(command::READ, 0, |body| request.encode(body));
        raw.send(&message);
    }
    for _ in 0..REQUESTS {
        assert_eq!(raw.status(), NtStatus::SUCCESS);
    }
    let log = device.take_log();
    let last_received = log.records.iter().map(|record| record.received_ns).max();
    let first_ended = log.records.iter().map(|record| record.ended_ns).min();
    assert!(last_received < first_ended, "{log:?}");
}
