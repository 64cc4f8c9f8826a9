//! Servers that refuse a client that may be right: the error names the port from which it connects.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use sharebench_target::{SessionSpec, Target, TargetUrl};

use super::forgotten_tests::rejecting;
use crate::canned::answer;
use crate::client::NfsTarget;
use crate::mount::MNT;
use crate::protocol::MOUNT_PROGRAM;
use crate::record::{begin_record, end_record};
use crate::rpc::{CallHeader, put_success};
use crate::v4::operation::Operation;
use crate::v4::status::Nfs4Status;
use crate::xdr::{Reader, Writer};

/// The error of a connection that must fail.
async fn failure(text: &str) -> String {
    let target = NfsTarget::from_url(TargetUrl::parse(text).unwrap()).unwrap();
    let spec = SessionSpec { slots: 1, slot_bytes: 4096, ..SessionSpec::default() };
    target.connect(&spec).await.err().unwrap().to_string()
}

#[tokio::test]
async fn a_refusal_at_the_root_recommends_a_reserved_port_and_other_failures_do_not() {
    let rows = [
        (Operation::PutRootFh, Nfs4Status::Perm, true),
        (Operation::PutRootFh, Nfs4Status::Noent, true),
        // LOOKUP follows PUTFH.
        (Operation::PutFh, Nfs4Status::Perm, true),
        (Operation::PutFh, Nfs4Status::Noent, true),
        (Operation::PutFh, Nfs4Status::Io, false),
    ];
    for (operation, status, recommended) in rows {
        let (address, rejects, _) = rejecting(operation, status);
        *rejects.lock().unwrap() = true;
        let text = format!("nfs://{address}/export?vers=4.0");
        let error = failure(&text).await;
        assert_eq!(error.contains("resvport=1"), recommended, "{operation:?} {status:?}: {error}");
    }
}

/// A server of version 3 whose MNT returns this status (RFC 1813, 5.1.5).
fn refusing_mounts(status: u32) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let serve = move |mut stream: TcpStream| {
        let mut length = [0; 4];
        while stream.read_exact(&mut length).is_ok() {
            let mut call = vec![0; (u32::from_be_bytes(length) & 0x7fff_ffff) as usize];
            stream.read_exact(&mut call).unwrap();
            let header = CallHeader::get(&mut Reader::new(&call)).unwrap();
            let mut out = Writer::default();
            if (header.program, header.procedure) == (MOUNT_PROGRAM, MNT) {
                let at = begin_record(&mut out);
                put_success(&mut out, header.xid);
                out.u32(status);
                end_record(&mut out, at, 0);
            } else {
                answer(&call, &mut out).unwrap();
            }
            stream.write_all(out.as_slice()).unwrap();
        }
    };
    thread::spawn(move || {
        for stream in listener.incoming() {
            thread::spawn(move || serve(stream.unwrap()));
        }
    });
    address
}

#[tokio::test]
async fn a_denied_mount_recommends_a_reserved_port_and_a_missing_export_does_not() {
    // MNT3ERR_ACCES, MNT3ERR_NOENT, MNT3ERR_IO.
    for (status, recommended) in [(13, true), (2, false), (5, false)] {
        let address = refusing_mounts(status);
        let error = failure(&format!("nfs://{address}/export?vers=3&mountport={}", address.port())).await;
        assert_eq!(error.contains("resvport=1"), recommended, "{status}: {error}");
    }
}
