//! How the servers of one volume report changes to each other, so that what their clients cache does not outlive them.

use std::fmt;
use std::sync::{Arc, OnceLock, Weak};

use crate::NodeId;

/// A server whose clients cache. It receives each change that another server makes, after the change and before the
/// client that requested it gets its reply.
pub(crate) trait VolumeObserver: Send + Sync {
    /// The content or the attributes of a node have changed, or a name of it was removed.
    fn node_changed(&self, node: NodeId);
    /// Names of a directory have changed.
    fn names_changed(&self, directory: NodeId);
}

/// Where the other servers of a volume report what they change. It exists before the server that observes it.
#[derive(Clone, Default)]
pub struct ChangeReports(Arc<OnceLock<Weak<dyn VolumeObserver>>>);

impl ChangeReports {
    /// Reports every change from now on. Only the first observer is kept.
    pub(crate) fn observe(&self, observer: Weak<dyn VolumeObserver>) {
        let _ = self.0.set(observer);
    }

    #[inline]
    pub(crate) fn node_changed(&self, node: NodeId) {
        if let Some(observer) = self.observer() {
            observer.node_changed(node);
        }
    }

    pub(crate) fn names_changed(&self, directory: NodeId) {
        if let Some(observer) = self.observer() {
            observer.names_changed(directory);
        }
    }

    /// The server, as long as it runs.
    fn observer(&self) -> Option<Arc<dyn VolumeObserver>> {
        self.0.get().and_then(Weak::upgrade)
    }
}

impl fmt::Debug for ChangeReports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ChangeReports")
    }
}
