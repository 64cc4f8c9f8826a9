//! Servers that refuse a client that may be right: the error names the port from which it connects.

use sharebench_target::{SessionSpec, Target, TargetUrl};

use super::forgotten_tests::rejecting;
use crate::client::NfsTarget;
use crate::v4::operation::Operation;
use crate::v4::status::Nfs4Status;

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
        let target = NfsTarget::from_url(TargetUrl::parse(&text).unwrap()).unwrap();
        let spec = SessionSpec { slots: 1, slot_bytes: 4096, ..SessionSpec::default() };
        let error = target.connect(&spec).await.err().unwrap().to_string();
        assert_eq!(error.contains("resvport=1"), recommended, "{operation:?} {status:?}: {error}");
    }
}
