//! How requests express policies: create options of an open file, flags of its reads and writes.

use sharebench_model::{CachePolicy, ErrorClass, IoPolicy, OpError, OpStep, OpenHow, Stability};

use crate::wire::create::{access, disposition, options};
use crate::wire::data::{READ_UNBUFFERED, WRITE_THROUGH, WRITE_UNBUFFERED};

/// Smallest unit of unbuffered transfers: a sector (MS-FSA 2.1.5.3). A server with larger sectors rejects the request
/// itself.
pub(crate) const SECTOR: u32 = 512;

/// Bits of `CreateOptions` (MS-SMB2 2.2.13). This client caches nothing and requests no lease or oplock, so
/// that the policy without a local cache needs no option.
pub(crate) const fn create_options(policy: IoPolicy) -> u32 {
    let cache = match policy.cache {
        CachePolicy::Unbuffered => options::NO_INTERMEDIATE_BUFFERING,
        CachePolicy::Normal | CachePolicy::NoLocal => 0,
    };
    let sync = match policy.sync {
        sharebench_model::SyncPolicy::WriteThrough => options::WRITE_THROUGH,
        sharebench_model::SyncPolicy::Normal => 0,
    };
    cache | sync
}

/// The access and the disposition of a CREATE that opens a file (MS-SMB2 2.2.13, MS-CIFS 2.2.4.64).
pub(crate) const fn access_and_disposition(how: OpenHow) -> (u32, u32) {
    let read = access::READ_DATA | access::READ_ATTRIBUTES | access::SYNCHRONIZE;
    let write = access::WRITE_DATA | access::APPEND_DATA | access::WRITE_ATTRIBUTES;
    match how {
        OpenHow::Read => (read, disposition::OPEN),
        OpenHow::ReadWrite => (read | write, disposition::OPEN),
        OpenHow::CreateNew => (read | write, disposition::CREATE),
    }
}

/// Since dialect 3.0.2 each transfer states that it is unbuffered, too.
fn flags_unbuffered(policy: IoPolicy, dialect: u16) -> bool {
    policy.cache == CachePolicy::Unbuffered && dialect >= 0x0302
}

/// Flags of a READ of a file opened with `policy`.
pub(crate) fn read_flags(policy: IoPolicy, dialect: u16) -> u8 {
    if flags_unbuffered(policy, dialect) { READ_UNBUFFERED } else { 0 }
}

/// Flags of a WRITE to a file opened with `policy`.
///
/// Write-through on a buffered handle is an error unless the write itself is unbuffered, which dialects can express
/// since 3.0.2 (MS-SMB2 3.3.5.13). A file that is cached and written through therefore states this only when it is
/// opened. A durable write to a file opened without a policy is unbuffered as well; a server of an older dialect may
/// answer it with `INVALID_PARAMETER`.
pub(crate) fn write_flags(policy: IoPolicy, stability: Stability, dialect: u16) -> Result<u32, OpError> {
    let unbuffered = if flags_unbuffered(policy, dialect) { WRITE_UNBUFFERED } else { 0 };
    let opened_unbuffered = policy.cache == CachePolicy::Unbuffered;
    match (stability, dialect) {
        _ if policy.writes_through() && opened_unbuffered && dialect > 0x0202 => {
            Ok(unbuffered | WRITE_THROUGH)
        }
        _ if policy.writes_through() => Ok(unbuffered),
        (Stability::Unstable, _) => Ok(unbuffered),
        (Stability::Durable, 0x0202) => {
            let detail = "dialect 2.0.2 has no write-through of single writes";
            Err(OpError::new(ErrorClass::Unsupported, OpStep::Request("WRITE"), detail))
        }
        (Stability::Durable, 0x0210 | 0x0300) => Ok(WRITE_THROUGH),
        (Stability::Durable, _) => Ok(WRITE_THROUGH | WRITE_UNBUFFERED),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sharebench_model::SyncPolicy;

    #[test]
    fn create_options_state_the_policy_of_an_open_file() {
        let options: Vec<_> = IoPolicy::all().map(create_options).collect();
        // Normal, no-local, unbuffered; each without and with write-through.
        assert_eq!(options, [0, 0x2, 0, 0x2, 0x8, 0xA]);
    }

    #[test]
    fn transfer_flags_depend_on_the_dialect() {
        let flags = |cache, sync, dialect| {
            let policy = IoPolicy { cache, sync };
            let write = write_flags(policy, Stability::Unstable, dialect).unwrap();
            (read_flags(policy, dialect), write)
        };
        let plain = SyncPolicy::Normal;
        let through = SyncPolicy::WriteThrough;
        for dialect in [0x0202, 0x0210, 0x0300, 0x0302, 0x0311] {
            // The open file states cached write-through: the flag would be answered with INVALID_PARAMETER.
            for cache in [CachePolicy::Normal, CachePolicy::NoLocal] {
                assert_eq!(flags(cache, plain, dialect), (0, 0));
                assert_eq!(flags(cache, through, dialect), (0, 0));
            }
        }
        let unbuffered = CachePolicy::Unbuffered;
        assert_eq!((flags(unbuffered, plain, 0x0210), flags(unbuffered, plain, 0x0302)), ((0, 0), (1, 2)));
        assert_eq!(flags(unbuffered, through, 0x0202), (0, 0));
        assert_eq!(flags(unbuffered, through, 0x0300), (0, 1));
        assert_eq!(flags(unbuffered, through, 0x0311), (1, 3));
    }

    #[test]
    fn a_durable_write_to_a_plain_file_is_unbuffered_if_the_dialect_supports_it() {
        let write = |dialect| write_flags(IoPolicy::default(), Stability::Durable, dialect);
        assert_eq!((write(0x0210), write(0x0311)), (Ok(1), Ok(3)));
        assert!(write(0x0202).is_err());
    }
}
