//! Policies on a file system: the open(2) flags that implement one, or why none can.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use libc::c_int;
use sharebench_model::{CachePolicy, IoPolicy};
use sharebench_target::{PolicyRefusal, PolicyTerms};

use super::mount::Mount;
use super::sys;
use crate::error_code::ErrorCode;

/// File systems that exist only in the page cache.
const MEMORY: [&str; 4] = ["tmpfs", "ramfs", "devtmpfs", "hugetlbfs"];
/// Network file systems, whose server has another cache.
const REMOTE: [&str; 9] = ["nfs", "nfs4", "9p", "ceph", "afs", "virtiofs", "lustre", "gpfs", "ncpfs"];
/// The SMB client of Linux.
const CIFS: [&str; 2] = ["cifs", "smb3"];

/// The storage below the page cache, which determines what direct I/O means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Below {
    /// A device of this machine.
    Device,
    /// Nothing.
    Nothing,
    /// A server, reached by another client than that of SMB.
    Server,
    /// An SMB server; true when the mount has `cache=none`.
    SmbServer(bool),
}

/// What the file system of one directory supports: which policies can be applied, and by which open(2) flags.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Policies {
    below: Below,
    /// File system type, for messages.
    kind: String,
    /// False where opening with `O_DIRECT` is refused.
    can_direct: bool,
    /// Offsets and lengths of direct I/O are multiples of this.
    pub unit: u32,
    /// The URL requests direct I/O for every policy.
    always_direct: bool,
}

fn below(mount: Option<&Mount>) -> Below {
    let Some(mount) = mount else { return Below::Device };
    let kind = mount.kind.as_str();
    match kind {
        _ if MEMORY.contains(&kind) => Below::Nothing,
        _ if CIFS.contains(&kind) => Below::SmbServer(mount.options.split(',').any(|it| it == "cache=none")),
        _ if REMOTE.contains(&kind) || kind == "fuse" || kind.starts_with("fuse.") => Below::Server,
        _ => Below::Device,
    }
}

impl Policies {
    /// Examines the file system of an open directory, without creating a name.
    pub fn look(root: &OwnedFd, mount: Option<&Mount>, always_direct: bool) -> Self {
        let below = below(mount);
        let flags = libc::O_RDWR | libc::O_TMPFILE | libc::O_DIRECT;
        let unnamed = sys::openat(root.as_fd(), c".", flags);
        // Other failures come from unnamed files, not from direct I/O.
        // Only EINVAL means that the file system rejects the flag O_DIRECT (open(2)).
        let can_direct = !matches!(unnamed, Err(ErrorCode(libc::EINVAL)));
        let said = unnamed.ok().and_then(|file| sys::direct_alignment(file.as_raw_fd()));
        let block = || sys::block_size(root.as_raw_fd()).unwrap_or(sys::DEFAULT_BLOCK);
        let unit = match below {
            // Network clients move any range directly (open(2), "NFS").
            Below::Server | Below::SmbServer(_) => said.unwrap_or(1),
            Below::Device | Below::Nothing => said.unwrap_or_else(|| block().min(1 << 20) as u32),
        };
        let kind = mount.map_or_else(|| "this file system".into(), |mount| mount.kind.clone());
        Self { below, kind, can_direct, unit, always_direct }
    }

    /// The requirements of a policy.
    pub fn terms(&self, policy: IoPolicy) -> Result<PolicyTerms, PolicyRefusal> {
        let direct = self.flags(policy)? & libc::O_DIRECT != 0;
        Ok(PolicyTerms { alignment: if direct { self.unit } else { 1 } })
    }

    /// The open(2) flags that implement a policy.
    pub fn flags(&self, policy: IoPolicy) -> Result<c_int, PolicyRefusal> {
        let direct = self.always_direct || self.direct(policy)?;
        if direct && !self.can_direct {
            let reason = format!("{} has no direct I/O (O_DIRECT); EINVAL (22)", self.kind);
            return Err(PolicyRefusal::cache(policy, reason));
        }
        if policy.writes_through() && self.below == Below::Nothing {
            let reason =
                format!("{} keeps its files in memory, there is nothing to write through to", self.kind);
            return Err(PolicyRefusal::sync(policy, reason));
        }
        let sync = if policy.writes_through() { libc::O_DSYNC } else { 0 };
        Ok(sync | if direct { libc::O_DIRECT } else { 0 })
    }

    /// True if the cache policy needs direct I/O.
    fn direct(&self, policy: IoPolicy) -> Result<bool, PolicyRefusal> {
        let refuse = |reason: String| Err(PolicyRefusal::cache(policy, reason));
        match (policy.cache, self.below) {
            (CachePolicy::Normal, _) | (CachePolicy::NoLocal, Below::SmbServer(true)) => Ok(false),
            (_, Below::Nothing) => {
                refuse(format!("{} is the page cache itself, there is nothing below to read from", self.kind))
            }
            (CachePolicy::NoLocal, Below::Device) => refuse(format!(
                "{} is local and has one cache only; it means the client's cache of a remote file system, use unbuffered here",
                self.kind
            )),
            (CachePolicy::NoLocal, Below::Server) | (CachePolicy::Unbuffered, Below::Device | Below::SmbServer(_)) => {
                Ok(true)
            }
            // O_DIRECT makes this client open with FILE_NO_INTERMEDIATE_BUFFERING, which turns off both caches.
            (CachePolicy::NoLocal, Below::SmbServer(false)) => refuse(
                "O_DIRECT on a cifs mount also requests no caching from the server; mount it with cache=none, or use unbuffered"
                    .into(),
            ),
            (CachePolicy::Unbuffered, Below::Server) => refuse(format!(
                "O_DIRECT on {} bypasses this machine's cache, but not the cache of the server; use no-local",
                self.kind
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sharebench_model::SyncPolicy;

    fn on(kind: &str, options: &str) -> Policies {
        let mount =
            Mount { point: "/".into(), kind: kind.into(), source: String::new(), options: options.into() };
        Policies {
            below: below(Some(&mount)),
            kind: kind.into(),
            can_direct: true,
            unit: 512,
            always_direct: false,
        }
    }

    fn cache(policies: &Policies, cache: CachePolicy) -> Result<c_int, String> {
        let flags = policies.flags(IoPolicy { cache, ..IoPolicy::default() });
        flags.map_err(|refusal| refusal.to_string())
    }

    #[test]
    fn each_file_system_keeps_what_it_can_and_says_why_not() {
        let direct = Ok(libc::O_DIRECT);
        for (kind, options, no_local, unbuffered) in [
            ("ext4", "rw", Err("use unbuffered"), direct),
            ("nfs4", "rw,vers=4.2", direct, Err("use no-local")),
            ("cifs", "rw,cache=strict", Err("cache=none"), direct),
            ("cifs", "rw,cache=none", Ok(0), direct),
            ("tmpfs", "rw", Err("page cache itself"), Err("page cache itself")),
            ("fuse.sshfs", "rw", direct, Err("use no-local")),
        ] {
            let policies = on(kind, options);
            assert_eq!(cache(&policies, CachePolicy::Normal), Ok(0));
            for (policy, wanted) in [(CachePolicy::NoLocal, no_local), (CachePolicy::Unbuffered, unbuffered)]
            {
                match (cache(&policies, policy), wanted) {
                    (Ok(flags), Ok(wanted)) => assert_eq!(flags, wanted, "{kind} {policy}"),
                    (Err(said), Err(word)) => {
                        assert!(said.contains(word) && said.contains(&format!("cache={policy}")), "{said}");
                    }
                    other => panic!("{kind} {policy}: {other:?}"),
                }
            }
        }
    }

    #[test]
    fn writing_through_is_a_flag_where_there_is_storage() {
        let through = IoPolicy { sync: SyncPolicy::WriteThrough, ..IoPolicy::default() };
        assert_eq!(on("ext4", "").flags(through), Ok(libc::O_DSYNC));
        assert_eq!(on("tmpfs", "").flags(through).unwrap_err().axis, "sync");
        let both = IoPolicy { cache: CachePolicy::Unbuffered, ..through };
        assert_eq!(on("xfs", "").flags(both), Ok(libc::O_DSYNC | libc::O_DIRECT));
        let without = Policies { can_direct: false, ..on("odd", "") };
        assert!(without.flags(both).unwrap_err().reason.contains("O_DIRECT"));
        assert_eq!(on("xfs", "").terms(both).map(|terms| terms.alignment), Ok(512));
    }
}
