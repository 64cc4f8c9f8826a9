//! Crate `nfs3_client` as a contender: one call per connection, as many connections as the depth.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Instant;

use nfs3_client::nfs3_types::nfs3::{LOOKUP3args, Nfs3Result, READ3args, diropargs3, filename3, nfs_fh3};
use nfs3_client::nfs3_types::rpc::{auth_unix, opaque_auth};
use nfs3_client::nfs3_types::xdr_codec::Opaque;
use nfs3_client::tokio::{TokioConnector, TokioIo};
use nfs3_client::{Nfs3Connection, Nfs3ConnectionBuilder};
use tokio::net::TcpStream;
use tokio::task::LocalSet;

use crate::Failure;
use crate::nfs::Export;
use crate::sample::{Meter, Sample};
use crate::shape::{Offsets, Shape};

type Connection = Nfs3Connection<TokioIo<TcpStream>>;

/// Measures reads of the file `data` of the export.
pub fn measure(export: &Export, shape: &Shape) -> Result<Sample, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    LocalSet::new().block_on(&runtime, async {
        let mut open = Vec::new();
        for _ in 0..shape.depth {
            open.push(connect(export).await?);
        }
        let offsets = Rc::new(RefCell::new(Offsets::new(shape)));
        let meter = Rc::new(RefCell::new(Meter::start(shape)));
        let mut tasks = Vec::new();
        for (connection, file) in open {
            let record = shape.record;
            tasks.push(tokio::task::spawn_local(read(
                connection,
                file,
                record,
                offsets.clone(),
                meter.clone(),
            )));
        }
        for task in tasks {
            task.await??;
        }
        meter.borrow().sample()
    })
}

async fn connect(export: &Export) -> Result<(Connection, nfs_fh3), Failure> {
    let mut connection = Nfs3ConnectionBuilder::new(TokioConnector, "127.0.0.1", &export.path)
        .connect_from_privileged_port(false)
        .mount_port(export.mount_port)
        .nfs3_port(export.port)
        .credential(opaque_auth::auth_unix(&auth_unix::default()))
        .mount()
        .await?;
    let what =
        diropargs3 { dir: connection.root_nfs_fh3(), name: filename3(Opaque::borrowed(b"data".as_slice())) };
    match connection.lookup(&LOOKUP3args { what }).await? {
        Nfs3Result::Ok(found) => Ok((connection, found.object)),
        Nfs3Result::Err((status, _)) => Err(format!("LOOKUP data: {status:?}").into()),
    }
}

async fn read(
    mut connection: Connection,
    file: nfs_fh3,
    record: u32,
    offsets: Rc<RefCell<Offsets>>,
    meter: Rc<RefCell<Meter>>,
) -> Result<(), Failure> {
    let mut args = READ3args { file, offset: 0, count: record };
    while !meter.borrow().is_over() {
        args.offset = offsets.borrow_mut().next();
        match connection.read(&args).await? {
            Nfs3Result::Ok(reply) if reply.count == record => {}
            other => return Err(format!("READ: {other:?}").chars().take(200).collect::<String>().into()),
        }
        meter.borrow_mut().completed(Instant::now());
    }
    Ok(())
}
