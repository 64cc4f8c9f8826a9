//! Locks that are not on byte ranges: file sets, logical records and semaphores (docs/protocols/ncp.md 3.3).

use super::bytes::message;
use super::{Be16, Be32, Codec, Pstr, Reader, U8, WireError};

/// The flag of a call that releases or clears a set. It has no documented meaning, and a call without it is accepted.
#[derive(Debug)]
pub struct SetFlag;

impl Codec<'_> for SetFlag {
    type Value = u8;

    fn put(value: &u8, out: &mut Vec<u8>) {
        out.push(*value);
    }

    fn get(reader: &mut Reader<'_>) -> Result<u8, WireError> {
        if reader.rest().is_empty() { Ok(0) } else { reader.get::<U8>() }
    }
}

macro_rules! log_files {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        message! {
            $(#[$doc])*
            $name<'a> {
                /// Directory handle; 0 with an absolute path.
                directory: u8 as U8,
                /// See [`super::lock::flag`].
                flag: u8 as U8,
                /// Timeout in ticks of 1/18 s; 0 does not wait.
                timeout: u16 as Be16,
                /// The file.
                path: Pstr<'a> as Pstr<'a>,
            }
        }
    )*};
}

log_files! {
    /// 0x03: logs a file, and locks it if the flag says so (docs/protocols/ncp.md 3.3).
    LogFile;
    /// 0x69: the newer form of [`LogFile`] (docs/protocols/ncp.md 3.3).
    LogFileNew;
}

macro_rules! file_sets {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        message! {
            $(#[$doc])*
            $name {
                /// Timeout in ticks of 1/18 s; 0 does not wait.
                timeout: u16 as Be16,
            }
        }
    )*};
}

file_sets! {
    /// 0x04: locks all logged files of the task exclusively (docs/protocols/ncp.md 3.3).
    LockFileSet;
    /// 0x6A: the newer form of [`LockFileSet`] (docs/protocols/ncp.md 3.3).
    LockFileSetNew;
}

macro_rules! logged_files {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        message! {
            $(#[$doc])*
            $name<'a> {
                /// Directory handle; 0 with an absolute path.
                directory: u8 as U8,
                /// The file.
                path: Pstr<'a> as Pstr<'a>,
            }
        }
    )*};
}

logged_files! {
    /// 0x05: unlocks a file and keeps it logged (docs/protocols/ncp.md 3.3).
    ReleaseFile;
    /// 0x07: unlocks a file and removes it from the log (docs/protocols/ncp.md 3.3).
    ClearFile;
}

macro_rules! whole_sets {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        message! {
            $(#[$doc])*
            $name {
                /// See [`SetFlag`].
                flag: u8 as SetFlag,
            }
        }
    )*};
}

whole_sets! {
    /// 0x06: unlocks all logged files of the task (docs/protocols/ncp.md 3.3).
    ReleaseFileSet;
    /// 0x08: unlocks all logged files of the task and clears the log (docs/protocols/ncp.md 3.3).
    ClearFileSet;
    /// 0x0D: unlocks all logical records of the task (docs/protocols/ncp.md 3.3).
    ReleaseLogicalRecordSet;
    /// 0x0E: unlocks all logical records of the task and clears the log (docs/protocols/ncp.md 3.3).
    ClearLogicalRecordSet;
}

macro_rules! log_records {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        message! {
            $(#[$doc])*
            $name<'a> {
                /// See [`super::lock::flag`].
                flag: u8 as U8,
                /// Timeout in ticks of 1/18 s; 0 does not wait.
                timeout: u16 as Be16,
                /// Name of the record.
                name: Pstr<'a> as Pstr<'a>,
            }
        }
    )*};
}

log_records! {
    /// 0x09: logs a logical record, and locks it if the flag says so (docs/protocols/ncp.md 3.3).
    LogLogicalRecord;
    /// 0x6B: the newer form of [`LogLogicalRecord`] (docs/protocols/ncp.md 3.3).
    LogLogicalRecordNew;
}

/// Value of the flag of [`LockLogicalRecordSet`] for shared locks. It differs from that of the calls that log a record.
pub const SHARED_SET: u8 = 0;

macro_rules! record_sets {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        message! {
            $(#[$doc])*
            $name {
                /// [`SHARED_SET`], or 1 for exclusive locks.
                flag: u8 as U8,
                /// Timeout in ticks of 1/18 s; 0 does not wait.
                timeout: u16 as Be16,
            }
        }
    )*};
}

record_sets! {
    /// 0x0A: locks all logical records of the task (docs/protocols/ncp.md 3.3).
    LockLogicalRecordSet;
    /// 0x6C: the newer form of [`LockLogicalRecordSet`] (docs/protocols/ncp.md 3.3).
    LockLogicalRecordSetNew;
}

macro_rules! logged_records {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        message! {
            $(#[$doc])*
            $name<'a> {
                /// Name of the record.
                name: Pstr<'a> as Pstr<'a>,
            }
        }
    )*};
}

logged_records! {
    /// 0x0B: unlocks a logical record and removes it from the log (docs/protocols/ncp.md 3.3).
    ClearLogicalRecord;
    /// 0x0C: unlocks a logical record and keeps it logged (docs/protocols/ncp.md 3.3).
    ReleaseLogicalRecord;
}

macro_rules! open_semaphores {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        message! {
            $(#[$doc])*
            $name<'a> {
                /// Value of a new semaphore, at most 127.
                value: u8 as U8,
                /// Name of the semaphore.
                name: Pstr<'a> as Pstr<'a>,
            }
        }
    )*};
}

open_semaphores! {
    /// 0x20/0: opens a semaphore, which is created if it does not exist; the reply is [`OpenedSemaphore`]
    /// (docs/protocols/ncp.md 3.3).
    OpenSemaphore;
    /// 0x6F/0: the newer form of [`OpenSemaphore`] (docs/protocols/ncp.md 3.3).
    OpenSemaphoreNew;
}

message! {
    /// Reply to 0x20/0 and 0x6F/0 (docs/protocols/ncp.md 3.3).
    OpenedSemaphore {
        /// Handle of the semaphore.
        handle: u32 as Be32,
        /// Number of opens, including this one.
        opens: u8 as U8,
    }
}

macro_rules! semaphore_calls {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        message! {
            $(#[$doc])*
            $name {
                /// Handle of the semaphore.
                handle: u32 as Be32,
            }
        }
    )*};
}

semaphore_calls! {
    /// 0x20/1: returns the value of a semaphore; the reply is [`ExaminedSemaphore`] (docs/protocols/ncp.md 3.3).
    ExamineSemaphore;
    /// 0x6F/1: the newer form of [`ExamineSemaphore`] (docs/protocols/ncp.md 3.3).
    ExamineSemaphoreNew;
    /// 0x20/3: increments a semaphore (docs/protocols/ncp.md 3.3).
    SignalSemaphore;
    /// 0x6F/3: the newer form of [`SignalSemaphore`] (docs/protocols/ncp.md 3.3).
    SignalSemaphoreNew;
    /// 0x20/4: closes a semaphore (docs/protocols/ncp.md 3.3).
    CloseSemaphore;
    /// 0x6F/4: the newer form of [`CloseSemaphore`]; the reply is [`ClosedSemaphore`] (docs/protocols/ncp.md 3.3).
    CloseSemaphoreNew;
}

message! {
    /// Reply to 0x20/1 and 0x6F/1 (docs/protocols/ncp.md 3.3).
    ExaminedSemaphore {
        /// The value, in two's complement; a negative one is the number of waiting requests.
        value: u8 as U8,
        /// Number of opens.
        opens: u8 as U8,
    }
}

message! {
    /// Reply to 0x6F/4; 0x20/4 has no data (docs/protocols/ncp.md 3.3).
    ClosedSemaphore {
        /// Number of opens that are left.
        opens: u8 as U8,
        /// Number of users that are left. The servers of this crate count each open as a user.
        shares: u8 as U8,
    }
}

macro_rules! semaphore_waits {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        message! {
            $(#[$doc])*
            $name {
                /// Handle of the semaphore.
                handle: u32 as Be32,
                /// Timeout in ticks of 1/18 s; 0 does not wait.
                timeout: u16 as Be16,
            }
        }
    )*};
}

semaphore_waits! {
    /// 0x20/2: decrements a semaphore once its value is positive (docs/protocols/ncp.md 3.3).
    WaitOnSemaphore;
    /// 0x6F/2: the newer form of [`WaitOnSemaphore`] (docs/protocols/ncp.md 3.3).
    WaitOnSemaphoreNew;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Request;
    use crate::wire::lock::flag;
    use crate::wire::tests::hex;

    fn call<'a>(request: impl Into<Request<'a>>) -> Vec<u8> {
        let mut out = Vec::new();
        request.into().put(&mut out);
        out
    }

    /// docs/protocols/ncp.md 3.3: from the description alone.
    #[test]
    fn file_set_calls_match_the_document() {
        let path = Pstr::new(b"SYS:F").unwrap();
        let log = LogFile { directory: 0, flag: flag::EXCLUSIVE, timeout: 18, path };
        assert_eq!(call(log), hex("03 00 01 0012 05 5359533a46"));
        let log = LogFileNew { directory: 2, flag: flag::LOG_ONLY, timeout: 0, path };
        assert_eq!(call(log), hex("69 02 00 0000 05 5359533a46"));
        assert_eq!(call(LockFileSet { timeout: 18 }), hex("04 0012"));
        assert_eq!(call(LockFileSetNew { timeout: 18 }), hex("6a 0012"));
        assert_eq!(call(ReleaseFile { directory: 0, path }), hex("05 00 05 5359533a46"));
        assert_eq!(call(ClearFile { directory: 0, path }), hex("07 00 05 5359533a46"));
        assert_eq!(call(ReleaseFileSet { flag: 0 }), hex("06 00"));
        assert_eq!(Request::decode(&hex("08")), Ok(ClearFileSet { flag: 0 }.into()));
    }

    /// docs/protocols/ncp.md 3.3: from the description alone.
    #[test]
    fn logical_record_calls_match_the_document() {
        let name = Pstr::new(b"AB").unwrap();
        let log = LogLogicalRecord { flag: flag::SHARED, timeout: 9, name };
        assert_eq!(call(log), hex("09 03 0009 02 4142"));
        let log = LogLogicalRecordNew { flag: flag::SHARED, timeout: 9, name };
        assert_eq!(call(log), hex("6b 03 0009 02 4142"));
        assert_eq!(call(LockLogicalRecordSet { flag: 1, timeout: 9 }), hex("0a 01 0009"));
        assert_eq!(call(LockLogicalRecordSetNew { flag: SHARED_SET, timeout: 9 }), hex("6c 00 0009"));
        assert_eq!(call(ClearLogicalRecord { name }), hex("0b 02 4142"));
        assert_eq!(call(ReleaseLogicalRecord { name }), hex("0c 02 4142"));
        assert_eq!(call(ReleaseLogicalRecordSet { flag: 0 }), hex("0d 00"));
        assert_eq!(call(ClearLogicalRecordSet { flag: 0 }), hex("0e 00"));
    }

    /// docs/protocols/ncp.md 3.3: from the description alone.
    #[test]
    fn semaphore_calls_match_the_document() {
        let name = Pstr::new(b"S").unwrap();
        assert_eq!(call(OpenSemaphore { value: 2, name }), hex("20 00 02 01 53"));
        assert_eq!(call(OpenSemaphoreNew { value: 2, name }), hex("6f 00 02 01 53"));
        assert_eq!(call(ExamineSemaphore { handle: 258 }), hex("20 01 00000102"));
        assert_eq!(call(WaitOnSemaphore { handle: 258, timeout: 18 }), hex("20 02 00000102 0012"));
        assert_eq!(call(SignalSemaphoreNew { handle: 258 }), hex("6f 03 00000102"));
        assert_eq!(call(CloseSemaphoreNew { handle: 258 }), hex("6f 04 00000102"));
        let opened = OpenedSemaphore { handle: 258, opens: 3 };
        assert_eq!(OpenedSemaphore::decode(&hex("00000102 03")), Ok(opened));
        assert_eq!(ExaminedSemaphore::decode(&hex("ff 01")), Ok(ExaminedSemaphore { value: 255, opens: 1 }));
        assert_eq!(ClosedSemaphore::decode(&hex("02 01")), Ok(ClosedSemaphore { opens: 2, shares: 1 }));
    }
}
