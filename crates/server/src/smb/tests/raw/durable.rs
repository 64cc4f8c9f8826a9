//! Durable opens: found again after the loss of a connection, unless somebody else needed the file.

use sharebench_smb::wire::create_context::CreateContext;
use sharebench_smb::wire::ioctl::IoctlRequest;
use sharebench_smb::wire::oplock::BATCH;

use super::leases::{EVERYTHING, KEY, leased, open_leased};
use super::*;

fn serve() -> SmbServer {
    let volume: Arc<dyn Volume> = Arc::new(MemoryVolume::new(16 << 20));
    let options = SmbServerOptions { leases: true, exclusive: true, ..SmbServerOptions::default() };
    SmbServer::start("127.0.0.1:0".parse().unwrap(), volume, options).unwrap()
}

fn open_durable(raw: &mut Raw, name: &str) -> FileId {
    let contexts = vec![CreateContext::new(b"DHnQ", &[0; 16])];
    let request = CreateRequest { oplock: BATCH, contexts, ..wanted(name, disposition::OPEN_IF) };
    let opened = raw.create(&request).unwrap();
    assert_eq!(opened.oplock, BATCH);
    // The response confirms it with a context of its own.
    assert_ne!(opened.contexts_len, 0);
    opened.file
}

fn reconnect(raw: &mut Raw, file: FileId) -> Result<CreateResponse, NtStatus> {
    let id = [file.persistent.to_le_bytes(), file.volatile.to_le_bytes()].concat();
    // The second one is that of Linux.
    let contexts = vec![CreateContext::new(b"DHnC", &id), CreateContext::new(b"QFid", &[])];
    let request = CreateRequest { contexts, ..wanted("ignored", disposition::OPEN) };
    let message = raw.message(command::CREATE, 0, |body| request.encode(body));
    raw.send(&message);
    loop {
        let reply = raw.receive().unwrap();
        let status = NtStatus(Header::decode(&reply).unwrap().status);
        // The server may not yet have noticed the loss.
        match status {
            NtStatus::PENDING => {}
            NtStatus::SUCCESS => return Ok(CreateResponse::decode(&reply).unwrap()),
            status => return Err(status),
        }
    }
}

#[test]
fn an_open_is_found_again_with_its_oplock_and_its_locks() {
    let server = serve();
    let mut lost = Raw::log_in(server.addr(), "share");
    let file = open_durable(&mut lost, "file");
    assert_eq!(lost.write(file, 0, b"kept"), NtStatus::SUCCESS);
    drop(lost);
    let mut raw = Raw::log_in(server.addr(), "share");
    let opened = reconnect(&mut raw, file).unwrap();
    assert_eq!((opened.file, opened.oplock, opened.end_of_file), (file, BATCH, 4));
    assert_eq!(raw.read(file, 0, 10), Ok(b"kept".to_vec()));
    // It is open once.
    let mut second = Raw::log_in(server.addr(), "share");
    assert_eq!(reconnect(&mut second, file).err(), Some(NtStatus::OBJECT_NAME_NOT_FOUND));
    assert_eq!(raw.close(file), NtStatus::SUCCESS);
    assert_eq!(reconnect(&mut second, file).err(), Some(NtStatus::OBJECT_NAME_NOT_FOUND));
}

#[test]
fn a_write_of_the_lost_connection_precedes_what_the_new_one_does() {
    // The link of the device takes a second for the write, and no time for anything else.
    let slow = DeviceOptions { bytes_per_s: Some(64 << 10), ..DeviceOptions::default() };
    let device = Arc::new(DeviceVolume::new(MemoryVolume::new(16 << 20), slow));
    let volume: Arc<dyn Volume> = Arc::clone(&device) as Arc<dyn Volume>;
    let options = SmbServerOptions { leases: true, exclusive: true, ..SmbServerOptions::default() };
    let server = SmbServer::start("127.0.0.1:0".parse().unwrap(), volume, options).unwrap();
    let mut lost = Raw::log_in(server.addr(), "share");
    let file = open_durable(&mut lost, "file");
    let data = vec![7; 64 << 10];
    let request = WriteRequest {
        data_offset: WRITE_DATA_OFFSET as u16,
        len: data.len() as u32,
        file,
        ..WriteRequest::default()
    };
    let write = lost.message(command::WRITE, 0, |body| {
        request.encode(body);
        body.extend_from_slice(&data);
    });
    lost.send(&write);
    // The device model changes the content first, and then takes its time.
    while device.lookup(ROOT, "file").unwrap().size == 0 {
        std::thread::yield_now();
    }
    drop(lost);
    let mut raw = Raw::log_in(server.addr(), "share");
    reconnect(&mut raw, file).unwrap();
    // The device enters a request at its end.
    assert_eq!(device.log().records.iter().map(|record| record.len).collect::<Vec<_>>(), [64 << 10]);
}

#[test]
fn an_open_that_somebody_else_needs_is_closed() {
    let server = serve();
    let mut lost = Raw::log_in(server.addr(), "share");
    let file = open_durable(&mut lost, "file");
    drop(lost);
    let mut other = Raw::log_in(server.addr(), "share");
    let message = other.message(command::CREATE, 0, |body| wanted("file", disposition::OPEN).encode(body));
    other.send(&message);
    while other.status() == NtStatus::PENDING {}
    let mut raw = Raw::log_in(server.addr(), "share");
    assert_eq!(reconnect(&mut raw, file).err(), Some(NtStatus::OBJECT_NAME_NOT_FOUND));
}

#[test]
fn a_rename_replaces_a_file_whose_client_is_gone_or_gives_its_handle_back() {
    let server = serve();
    // The first connection of a client carries the breaks of its leases, and these connections are those of one client.
    let mut holder = Raw::log_in(server.addr(), "share");
    let mut lost = Raw::log_in(server.addr(), "share");
    open_durable(&mut lost, "lost");
    drop(lost);
    let mut raw = Raw::log_in(server.addr(), "share");
    let file = raw.open("new", disposition::CREATE).unwrap();
    // The server may not yet have noticed the loss.
    while raw.set(file, 10, rename("lost")) == NtStatus::ACCESS_DENIED {
        std::thread::yield_now();
    }
    let (held, lease) = open_leased(&mut holder, "held", KEY, EVERYTHING);
    assert_eq!(lease.unwrap().state, EVERYTHING);
    let request =
        SetInfoRequest { info_type: 1, class: 10, file, additional: 0, information: rename("held") };
    let message = raw.message(command::SET_INFO, 0, |body| request.encode(body));
    raw.send(&message);
    assert_eq!(raw.status(), NtStatus::PENDING);
    let broken = holder.receive().unwrap();
    assert_eq!(Header::decode(&broken).unwrap().command, command::OPLOCK_BREAK);
    assert_eq!(holder.close(held), NtStatus::SUCCESS);
    assert_eq!(raw.status(), NtStatus::SUCCESS);
}

#[test]
fn a_removal_ends_what_a_client_has_lost_and_opened_again() {
    let server = serve();
    let mut lost = Raw::log_in(server.addr(), "share");
    let durable = CreateContext::new(b"DHnQ", &[0; 16]);
    let mut request = leased("file", KEY, EVERYTHING);
    request.contexts.push(durable);
    lost.create(&request).unwrap();
    drop(lost);
    let mut raw = Raw::log_in(server.addr(), "share");
    let (again, _) = open_leased(&mut raw, "file", KEY, EVERYTHING);
    // The lost open would keep the name. The server may not yet have noticed the loss, and then closes it.
    assert_eq!(raw.set(again, DISPOSITION, vec![1]), NtStatus::SUCCESS);
    assert_eq!(raw.close(again), NtStatus::SUCCESS);
    while raw.open("file", disposition::OPEN) == Err(NtStatus::DELETE_PENDING) {
        std::thread::yield_now();
    }
    assert_eq!(raw.open("file", disposition::OPEN), Err(NtStatus::OBJECT_NAME_NOT_FOUND));
}

fn request_resiliency(raw: &mut Raw, file: FileId, milliseconds: u32) -> NtStatus {
    let request = IoctlRequest {
        code: 0x0014_01D4,
        file,
        input: [milliseconds.to_le_bytes(), [0; 4]].concat(),
        max_output: 0,
    };
    NtStatus(raw.call(command::IOCTL, |body| request.encode(body)).0.status)
}

#[test]
fn a_resilient_open_stays_although_somebody_else_needs_the_file() {
    let server = serve();
    let mut lost = Raw::log_in(server.addr(), "share");
    let alone = CreateRequest { share: 0, oplock: BATCH, ..wanted("file", disposition::CREATE) };
    let file = lost.create(&alone).unwrap().file;
    assert_eq!(request_resiliency(&mut lost, file, 300_001), NtStatus::INVALID_PARAMETER);
    assert_eq!(request_resiliency(&mut lost, file, 60_000), NtStatus::SUCCESS);
    assert_eq!(lost.write(file, 0, b"kept"), NtStatus::SUCCESS);
    drop(lost);
    let mut other = Raw::log_in(server.addr(), "share");
    let message = other.message(command::CREATE, 0, |body| wanted("file", disposition::OPEN).encode(body));
    other.send(&message);
    let refused = std::iter::from_fn(|| Some(other.status())).find(|status| *status != NtStatus::PENDING);
    assert_eq!(refused, Some(NtStatus::SHARING_VIOLATION));
    let mut raw = Raw::log_in(server.addr(), "share");
    let opened = reconnect(&mut raw, file).unwrap();
    assert_eq!((opened.file, opened.end_of_file), (file, 4));
    assert_eq!(raw.read(file, 0, 10), Ok(b"kept".to_vec()));
}
