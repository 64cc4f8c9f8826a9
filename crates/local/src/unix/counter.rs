//! The kernel's wire counts of a mount: `/proc/self/mountstats` for NFS, `/proc/fs/cifs/Stats` for CIFS.

use std::fs;

use sharebench_model::WireCount;

use super::mount::{Mount, unescape};

const NFS: &str = "/proc/self/mountstats";
const CIFS: &str = "/proc/fs/cifs/Stats";

/// The kernel's counter of one mount. It counts for all users of the mount (CIFS: every mount of the
/// share), so for one user its counts are an upper bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Counter {
    /// Of the NFS mount at this point.
    Nfs { point: String },
    /// Of the CIFS connections to this share, `host/share` in small letters.
    Cifs { share: String },
}

impl Counter {
    /// None for file systems without a wire, or whose traffic the kernel does not count.
    pub fn from_mount(mount: &Mount) -> Option<Self> {
        match mount.kind.as_str() {
            "nfs" | "nfs4" => Some(Self::Nfs { point: mount.point.clone() }),
            "cifs" | "smb3" => Some(Self::Cifs { share: share(&mount.source)? }),
            _ => None,
        }
    }

    /// The source of the counts, and what they include.
    pub fn source(&self) -> String {
        let (path, scope) = match self {
            Self::Nfs { .. } => (NFS, "mount"),
            Self::Cifs { .. } => (CIFS, "share"),
        };
        format!("{path}; counts every user of the {scope}, so an upper bound")
    }

    /// The counts since the mount was made; none if the kernel does not report them (any longer).
    pub fn read(&self) -> Option<WireCount> {
        match self {
            Self::Nfs { point } => nfs(&fs::read_to_string(NFS).ok()?, point),
            Self::Cifs { share } => cifs(&fs::read_to_string(CIFS).ok()?, share),
        }
    }
}

/// The topmost NFS mount at `point` (`linux/nfs_iostat.h`, `net/sunrpc/stats.c`).
fn nfs(text: &str, point: &str) -> Option<WireCount> {
    let mut found: Option<Vec<&str>> = None;
    let mut ours = false;
    for line in text.lines() {
        if line.starts_with("device ") {
            ours = is_nfs_at(line, point);
            if ours {
                // A later line with the same point is mounted above the earlier one, so it replaces it.
                found = Some(Vec::new());
            }
        } else if let (true, Some(lines)) = (ours, &mut found) {
            lines.push(line.trim());
        }
    }
    let lines = found?;
    let bytes = lines.iter().find_map(|line| line.strip_prefix("bytes:"))?;
    let bytes: Vec<u64> = bytes.split_whitespace().map_while(|word| word.parse().ok()).collect();
    let mut count =
        WireCount { payload_received: *bytes.get(4)?, payload_sent: *bytes.get(5)?, ..WireCount::default() };
    let operations = lines.iter().skip_while(|line| !line.starts_with("per-op")).skip(1);
    for line in operations {
        let Some((_, numbers)) = line.split_once(':') else { continue };
        // Operations, transmissions, timeouts, bytes sent, bytes received, times.
        let numbers: Vec<u64> = numbers.split_whitespace().map_while(|word| word.parse().ok()).collect();
        if let [_, transmissions, _, sent, received, ..] = numbers[..] {
            count.requests += transmissions;
            count.sent += sent;
            count.received += received;
        }
    }
    Some(count)
}

/// `device SOURCE mounted on POINT with fstype KIND ..`
fn is_nfs_at(line: &str, point: &str) -> bool {
    let words: Vec<&str> = line.split(' ').collect();
    match words[..] {
        [_, _, "mounted", "on", at, "with", "fstype", kind, ..] => {
            kind.starts_with("nfs") && unescape(at) == point
        }
        _ => false,
    }
}

/// All connections to the share together. Kernels write `Bytes read: N  Bytes written: N` for SMB 2 and
/// later, `Reads: N Bytes: N` and `Writes: N Bytes: N` for SMB 1. Headers are not counted, so the bytes are
/// those of file data alone.
fn cifs(text: &str, wanted: &str) -> Option<WireCount> {
    let mut count: Option<WireCount> = None;
    let mut ours = false;
    for line in text.lines() {
        if let Some(tree) = tree_name(line) {
            ours = share(tree).is_some_and(|found| found == wanted);
        }
        if !ours {
            continue;
        }
        let number = |label: &str| -> Option<u64> {
            let rest = line.split_once(label)?.1.trim_start();
            rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
        };
        if let Some(requests) = number("SMBs:") {
            count.get_or_insert_default().requests += requests;
        }
        let smb1 = |direction: &str| line.starts_with(direction).then(|| number("Bytes:")).flatten();
        let read = number("Bytes read:").or_else(|| smb1("Reads:"));
        let written = number("Bytes written:").or_else(|| smb1("Writes:"));
        if read.is_some() || written.is_some() {
            let count = count.get_or_insert_default();
            count.payload_received += read.unwrap_or(0);
            count.payload_sent += written.unwrap_or(0);
            (count.received, count.sent) = (count.payload_received, count.payload_sent);
        }
    }
    count
}

/// The name after `1) `, without remarks such as `DISCONNECTED`.
fn tree_name(line: &str) -> Option<&str> {
    let (number, rest) = line.split_once(") ")?;
    let numbered = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    numbered.then(|| rest.split('\t').next().unwrap_or(rest).trim_end())
}

/// `//Host/Share/dir` and `\\Host\Share` as `host/share`.
fn share(unc: &str) -> Option<String> {
    let mut parts = unc.split(['/', '\\']).filter(|part| !part.is_empty());
    Some(format!("{}/{}", parts.next()?, parts.next()?).to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NFS_6_1: &str = include_str!("counter_samples/nfs-6.1-mountstats.txt");
    const CIFS_6_1: &str = include_str!("counter_samples/cifs-6.1-stats.txt");

    #[test]
    fn an_nfs_mount_is_counted_as_linux_6_1_shows_it() {
        let count = nfs(NFS_6_1, "/mnt/nfs").unwrap();
        assert_eq!((count.payload_received, count.payload_sent), (0, 2_000_000));
        assert_eq!((count.requests, count.sent, count.received), (13, 2_001_404, 1_748));
        assert_eq!(nfs(NFS_6_1, "/mnt"), None);
        assert_eq!(nfs(NFS_6_1, "/mnt/cifs"), None, "a mount of another kind");
    }

    #[test]
    fn of_mounts_on_one_point_the_topmost_counts() {
        let below = NFS_6_1.replace("2000000", "7");
        let text = format!("{below}\n{}", NFS_6_1.replace("/mnt/nfs", "/mnt/a\\040share"));
        assert_eq!(nfs(&text, "/mnt/nfs").unwrap().payload_sent, 7);
        assert_eq!(nfs(&text, "/mnt/a share").unwrap().payload_sent, 2_000_000);
        let twice = format!("{below}\n{NFS_6_1}");
        assert_eq!(nfs(&twice, "/mnt/nfs").unwrap().payload_sent, 2_000_000);
    }

    #[test]
    fn a_cifs_share_is_counted_as_linux_6_1_shows_it() {
        let mount =
            Mount::new("/m".as_ref(), "30 22 0:40 / /m rw - cifs //10.77.0.1/Share/dir rw,vers=3.1.1")
                .unwrap();
        let counter = Counter::from_mount(&mount).unwrap();
        assert_eq!(counter, Counter::Cifs { share: "10.77.0.1/share".into() });
        let count = cifs(CIFS_6_1, "10.77.0.1/share").unwrap();
        assert_eq!((count.payload_received, count.payload_sent), (3_000_000, 3_000_000));
        assert_eq!((count.requests, count.received), (396, 3_000_000));
        assert_eq!(cifs(CIFS_6_1, "10.77.0.1/other"), None);
    }

    #[test]
    fn connections_to_one_share_add_up_and_others_do_not() {
        let text = "0 session 0 share reconnects\n\n1) \\\\nas\\home\tDISCONNECTED \nSMBs: 3\n\
                    Bytes read: 10  Bytes written: 20\n2) \\\\nas\\other\nSMBs: 9\nBytes read: 99  Bytes written: 99\n\
                    3) \\\\NAS\\Home\nSMBs: 4\nBytes read: 1  Bytes written: 2\nReads: 7 total 0 failed";
        let count = cifs(text, "nas/home").unwrap();
        assert_eq!((count.requests, count.payload_received, count.payload_sent), (7, 11, 22));
    }

    #[test]
    fn the_form_of_smb_1_is_known_too() {
        let text = "1) \\\\nas\\home\nSMBs: 9 Oplocks breaks: 0\nReads:  4 Bytes: 16384\nWrites: 2 Bytes: 8192\n\
                    Flushes: 1\nLocks: 0 HardLinks: 0 Symlinks: 0";
        let count = cifs(text, "nas/home").unwrap();
        assert_eq!((count.requests, count.payload_received, count.payload_sent), (9, 16384, 8192));
    }

    #[test]
    fn what_is_cut_or_strange_is_not_counted_or_less_but_never_wrong() {
        for end in 0..NFS_6_1.len() {
            let count = nfs(&NFS_6_1[..end], "/mnt/nfs");
            assert!(count.is_none_or(|count| count.payload_sent <= 2_000_000));
        }
        for end in 0..CIFS_6_1.len() {
            let count = cifs(&CIFS_6_1[..end], "10.77.0.1/share");
            assert!(count.is_none_or(|count| count.payload_received <= 3_000_000));
        }
        assert_eq!(nfs("device a mounted on /m with fstype nfs\n bytes: 1 x", "/m"), None);
        assert_eq!(share("//"), None);
    }
}
