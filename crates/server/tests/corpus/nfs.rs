//! An NFS client and the embedded server, with the messages to one of them changed on the way.

use std::sync::{Arc, OnceLock};

use sharebench_nfs::NfsTarget;
use sharebench_server::{MemoryVolume, NfsServer, NfsServerOptions, Volume};
use sharebench_target::TargetUrl;

use super::relay::{self, Changes, Role};

/// Bytes of an accepted reply before its result, and less than any call's before its arguments.
const HEAD: usize = 24;

/// A complete session, from MNT to UMNT.
pub fn run(role: Role, input: &[u8]) {
    static SERVER: OnceLock<(NfsServer, Arc<dyn Volume>)> = OnceLock::new();
    let (server, volume) = SERVER.get_or_init(|| {
        let volume: Arc<dyn Volume> = Arc::new(MemoryVolume::new(8 << 20));
        let options = NfsServerOptions { threads: 1, workers: 1, ..NfsServerOptions::default() };
        let addr = "127.0.0.1:0".parse().unwrap();
        (NfsServer::start(addr, Arc::clone(&volume), options).unwrap(), volume)
    });
    relay::converse(server.addr(), volume.as_ref(), Changes::new(role, HEAD, input), |port| {
        let url = format!("nfs://127.0.0.1:{port}/export?mountport={port}");
        Box::new(NfsTarget::from_url(TargetUrl::parse(&url).unwrap()).unwrap())
    });
}
