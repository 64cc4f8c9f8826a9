//! The client of SMB1 and the embedded server, with the messages to the server changed on the way.

use std::sync::{Arc, OnceLock};

use sharebench_server::{MemoryVolume, SmbServer, SmbServerOptions, Volume};
use sharebench_smb::SmbTarget;
use sharebench_smb::nt1::message::HEADER_LEN;
use sharebench_target::{Secret, TargetUrl};

use super::relay::{self, Changes, Role};

/// A complete session, from NEGOTIATE to `LOGOFF_ANDX`.
pub fn run(role: Role, input: &[u8]) {
    static SERVER: OnceLock<(SmbServer, Arc<dyn Volume>)> = OnceLock::new();
    let (server, volume) = SERVER.get_or_init(|| {
        let volume: Arc<dyn Volume> = Arc::new(MemoryVolume::new(8 << 20));
        let options = SmbServerOptions {
            threads: 1,
            smb1: true,
            leases: true,
            exclusive: true,
            ..SmbServerOptions::default()
        };
        let addr = "127.0.0.1:0".parse().unwrap();
        (SmbServer::start(addr, Arc::clone(&volume), options).unwrap(), volume)
    });
    relay::converse(server.addr(), volume.as_ref(), Changes::new(role, HEADER_LEN, input), |port| {
        let url = format!("smb://127.0.0.1:{port}/share?dialect=nt1");
        Box::new(SmbTarget::from_url(TargetUrl::parse(&url).unwrap(), Secret::default()).unwrap())
    });
}
