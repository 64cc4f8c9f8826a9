//! Serves memory, or a directory, until its standard input ends: `serve smb=ADDR nfs=ADDR dir=DIR state=FILE`.
//! The account is `alice`, with the password of the environment variable `SERVE_PASSWORD`.

use std::error::Error;
use std::io::Read;
use std::sync::Arc;

use sharebench_server::{
    DirectoryOptions, DirectoryVolume, EmbeddedServers, MemoryVolume, ServeOptions, Volume,
};
use sharebench_target::Secret;

#[expect(clippy::print_stdout, reason = "the addresses are what the example is for")]
fn main() -> Result<(), Box<dyn Error>> {
    let accounts = std::env::var("SERVE_PASSWORD").map(|word| ("alice".to_owned(), Secret::new(word)));
    let mut options = ServeOptions {
        expose_nfs: accounts.is_ok(),
        accounts: accounts.into_iter().collect(),
        ..ServeOptions::default()
    };
    let mut volume: Arc<dyn Volume> = Arc::new(MemoryVolume::with_half_of_memory());
    for argument in std::env::args().skip(1) {
        match argument.split_once('=').ok_or("usage: serve smb=ADDR nfs=ADDR dir=DIR state=FILE")? {
            ("smb", addr) => options.smb = Some(addr.parse()?),
            ("nfs", addr) => options.nfs = Some(addr.parse()?),
            ("dir", path) => {
                let directory = DirectoryOptions { links: true, ..DirectoryOptions::default() };
                volume = Arc::new(DirectoryVolume::open(path, &directory)?);
            }
            ("state", path) => options.nfs_state = Some(path.into()),
            (other, _) => return Err(format!("unknown argument {other}").into()),
        }
    }
    let servers = EmbeddedServers::start(&volume, &options)?;
    for (protocol, addr) in servers.addrs() {
        println!("{protocol} {addr}");
    }
    std::io::stdin().read_to_end(&mut Vec::new())?;
    servers.stop();
    Ok(())
}
