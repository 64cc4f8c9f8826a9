//! The mounted export of a session, and its unmount.

use std::net::SocketAddr;
use std::time::Duration;

use crate::client::options::NfsOptions;
use crate::client::rpc::dial::Service;
use crate::mount::{UMNT, put_path};

/// How long to wait for the unmount.
const UNMOUNT_TIMEOUT: Duration = Duration::from_secs(1);

/// The mounted export, and how to unmount it.
#[derive(Debug)]
pub(crate) struct Mount {
    pub(crate) service: SocketAddr,
    /// The mount service has the port of NFS.
    pub(crate) is_nfs_server: bool,
    pub(crate) export: String,
    pub(crate) options: NfsOptions,
}

impl Mount {
    /// Removes the entry from the server's list of mounts. The list is informative only, so that an error is ignored
    /// (RFC 1813, 5.2.3).
    pub(crate) async fn unmount(self) {
        let unmounting = async {
            let route = self.options.mount_route(self.is_nfs_server);
            let mut service = Service::mount(self.service, &self.options.auth, &route).await.ok()?;
            service.call("UMNT", UMNT, |writer| put_path(writer, &self.export), |_| Ok(())).await.ok()
        };
        let _ = tokio::time::timeout(UNMOUNT_TIMEOUT, unmounting).await;
    }
}
