//! Crate `smb2` as a contender: its lowest pipelined call, [`Connection::execute_with_credits`], by as many
//! tasks on one connection as the depth.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use ::smb2::client::connection::Connection;
use ::smb2::client::{Session, Tree};
use ::smb2::msg::read::ReadRequest;
use ::smb2::msg::write::WriteRequest;
use ::smb2::types::{Command, CreditCharge, FileId, TreeId};
use tokio::task::LocalSet;

use crate::Failure;
use crate::sample::{Meter, Sample};
use crate::shape::{Offsets, Shape};

/// Bytes per credit ([MS-SMB2] 3.1.5.2).
const CREDIT_BYTES: u32 = 64 << 10;

/// The open file, as every task needs it.
#[derive(Clone)]
struct OpenFile {
    connection: Connection,
    tree: TreeId,
    file: FileId,
}

/// Measures the file `data` of the share `share` as a user.
pub fn measure(port: u16, user: &str, password: &str, shape: &Shape) -> Result<Sample, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    LocalSet::new().block_on(&runtime, async {
        let address = format!("127.0.0.1:{port}");
        let mut connection = Connection::connect(&address, Duration::from_secs(10)).await?;
        connection.negotiate().await?;
        let _session = Session::setup(&mut connection, user, password, "").await?;
        let tree = Tree::connect(&mut connection, "share").await?;
        let (file, _) = if shape.write {
            tree.open_file_readwrite(&mut connection, "data").await?
        } else {
            tree.open_file(&mut connection, "data").await?
        };
        let place = OpenFile { connection, tree: tree.tree_id, file };
        let offsets = Rc::new(RefCell::new(Offsets::new(shape)));
        let meter = Rc::new(RefCell::new(Meter::start(shape)));
        let start = |_| tokio::task::spawn_local(work(place.clone(), *shape, offsets.clone(), meter.clone()));
        let tasks: Vec<_> = (0..shape.depth).map(start).collect();
        for task in tasks {
            task.await??;
        }
        meter.borrow().sample()
    })
}

async fn work(
    place: OpenFile,
    shape: Shape,
    offsets: Rc<RefCell<Offsets>>,
    meter: Rc<RefCell<Meter>>,
) -> Result<(), Failure> {
    let charge = CreditCharge(shape.record.div_ceil(CREDIT_BYTES) as u16);
    let mut read = read_request(place.file, shape.record);
    let mut write = write_request(place.file, if shape.write { shape.record as usize } else { 0 });
    while !meter.borrow().is_over() {
        let offset = offsets.borrow_mut().next();
        let connection = &place.connection;
        let tree = Some(place.tree);
        let reply = if shape.write {
            write.offset = offset;
            connection.execute_with_credits(Command::Write, &write, tree, charge).await?
        } else {
            read.offset = offset;
            connection.execute_with_credits(Command::Read, &read, tree, charge).await?
        };
        if !reply.header.status.is_success() || (!shape.write && reply.body.len() < shape.record as usize) {
            return Err(format!("transfer: {:?}, {} bytes", reply.header.status, reply.body.len()).into());
        }
        meter.borrow_mut().completed(Instant::now());
    }
    Ok(())
}

fn read_request(file_id: FileId, length: u32) -> ReadRequest {
    ReadRequest {
        padding: 0x50,
        flags: 0,
        length,
        offset: 0,
        file_id,
        minimum_count: 0,
        channel: 0,
        remaining_bytes: 0,
        read_channel_info: Vec::new(),
    }
}

fn write_request(file_id: FileId, bytes: usize) -> WriteRequest {
    WriteRequest {
        data_offset: 0x70,
        offset: 0,
        file_id,
        channel: 0,
        remaining_bytes: 0,
        write_channel_info_offset: 0,
        write_channel_info_length: 0,
        flags: 0,
        data: vec![7; bytes],
    }
}
