//! A volume that an embedded server exports on loopback over the protocol of the experiments.

use std::any::Any;
use std::sync::Arc;

use sharebench_nfs::NfsTarget;
use sharebench_server::{NfsServer, NfsServerOptions, SmbServer, SmbServerOptions, Volume};
use sharebench_smb::SmbTarget;
use sharebench_target::{Secret, Target, TargetUrl};

use crate::prove::{Protocol, ProveError};

/// Name of the export or share.
const NAME: &str = "proof";

/// A volume that an embedded server exports on loopback until it is dropped.
pub(crate) struct ServedVolume {
    target: Arc<dyn Target>,
    /// Stops the server when it is dropped.
    _server: Box<dyn Any + Send + Sync>,
}

impl ServedVolume {
    /// Serves a volume; without a number of threads, the default of the server applies.
    pub fn start(
        protocol: Protocol,
        volume: Arc<dyn Volume>,
        threads: Option<usize>,
    ) -> Result<Self, ProveError> {
        let any_port = ([127, 0, 0, 1], 0).into();
        let (target, server): (Arc<dyn Target>, Box<dyn Any + Send + Sync>) = match protocol {
            Protocol::Nfs => {
                let options = NfsServerOptions::default();
                let threads = threads.unwrap_or(options.threads);
                let options = NfsServerOptions { export: format!("/{NAME}"), threads, ..options };
                let server = NfsServer::start(any_port, volume, options)?;
                let url = format!("nfs://127.0.0.1:{0}/{NAME}?mountport={0}", server.addr().port());
                (Arc::new(NfsTarget::from_url(TargetUrl::parse(&url)?)?), Box::new(server))
            }
            Protocol::Smb => {
                let options = SmbServerOptions::default();
                let threads = threads.unwrap_or(options.threads);
                let options = SmbServerOptions { share: NAME.into(), threads, ..options };
                let server = SmbServer::start(any_port, volume, options)?;
                let url = TargetUrl::parse(&format!("smb://{}/{NAME}", server.addr()))?;
                (Arc::new(SmbTarget::from_url(url, Secret::default())?), Box::new(server))
            }
        };
        Ok(Self { target, _server: server })
    }

    /// The target as the engine measures it.
    pub fn target(&self) -> Arc<dyn Target> {
        Arc::clone(&self.target)
    }
}
