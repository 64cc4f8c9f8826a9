//! Tests of the server with the client adapter, with calls made by hand and with hostile bytes.

mod calls;
mod datagrams;
mod end_to_end;
mod half_close;
mod hostile;
mod kinds;
mod lossy_relay;
mod peers;
mod policies;
mod tls;
mod without_commit;

#[path = "../../../../../tests/src/certificates.rs"]
mod certificates;

use std::sync::Arc;

use sharebench_nfs::NfsTarget;
use sharebench_target::TargetUrl;

use crate::{MemoryVolume, NfsServer, NfsServerOptions, Volume};

fn start(volume: Arc<dyn Volume>) -> NfsServer {
    NfsServer::start("127.0.0.1:0".parse().unwrap(), volume, NfsServerOptions::default()).unwrap()
}

fn memory() -> Arc<dyn Volume> {
    Arc::new(MemoryVolume::new(256 << 20))
}

fn target_at(port: u16, path: &str) -> NfsTarget {
    let url = format!("nfs://127.0.0.1:{port}{path}?mountport={port}");
    NfsTarget::from_url(TargetUrl::parse(&url).unwrap()).unwrap()
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}
