//! An SMB client and the embedded server, with the messages to one of them changed on the way.

use std::sync::{Arc, OnceLock};

use sharebench_server::{MemoryVolume, SmbServer, SmbServerOptions, Volume};
use sharebench_smb::SmbTarget;
use sharebench_target::{Secret, TargetUrl};

use super::relay::{self, Changes, Role};

/// Bytes of an SMB2 header.
const HEAD: usize = 64;

/// A complete session, from NEGOTIATE to LOGOFF.
pub fn run(role: Role, input: &[u8]) {
    static SERVER: OnceLock<(SmbServer, Arc<dyn Volume>)> = OnceLock::new();
    let (server, volume) = SERVER.get_or_init(|| {
        let volume: Arc<dyn Volume> = Arc::new(MemoryVolume::new(8 << 20));
        let options = SmbServerOptions { threads: 1, ..SmbServerOptions::default() };
        let addr = "127.0.0.1:0".parse().unwrap();
        (SmbServer::start(addr, Arc::clone(&volume), options).unwrap(), volume)
    });
    relay::converse(server.addr(), volume.as_ref(), Changes::new(role, HEAD, input), |port| {
        // The input selects the dialect, so that each one is covered.
        let dialect = ["2.0.2", "2.1", "3.0", "3.0.2", "3.1.1"][input.len() % 5];
        let url = format!("smb://127.0.0.1:{port}/share?dialect={dialect}");
        Box::new(SmbTarget::from_url(TargetUrl::parse(&url).unwrap(), Secret::default()).unwrap())
    });
}
