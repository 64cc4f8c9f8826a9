//! A client of NFSv4.1 and the canned responder, with the replies to the client changed on the way.

use std::net::{SocketAddr, TcpListener};
use std::sync::OnceLock;

use sharebench_nfs::{NfsTarget, canned};
use sharebench_server::MemoryVolume;
use sharebench_target::TargetUrl;

use super::relay::{self, Changes, Role};

/// Bytes of an accepted reply before its COMPOUND.
const HEAD: usize = 24;

/// A complete session, from `EXCHANGE_ID` to `DESTROY_CLIENTID`.
pub fn run(role: Role, input: &[u8]) {
    static RESPONDER: OnceLock<(SocketAddr, MemoryVolume)> = OnceLock::new();
    let (address, volume) = RESPONDER.get_or_init(|| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || canned::serve(&listener));
        (address, MemoryVolume::new(4096))
    });
    relay::converse(*address, volume, Changes::new(role, HEAD, input), |port| {
        let url = format!("nfs://127.0.0.1:{port}/export?vers=4.1");
        Box::new(NfsTarget::from_url(TargetUrl::parse(&url).unwrap()).unwrap())
    });
}
