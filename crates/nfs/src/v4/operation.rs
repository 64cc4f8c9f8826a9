//! Operations of NFSv4 by number and name.

macro_rules! operations {
    ($($variant:ident = $code:literal, $name:literal;)*) => {
        /// An operation of a COMPOUND (RFC 7531, RFC 5662 and RFC 7863: `nfs_opnum4`).
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[expect(missing_docs, reason = "the names are the specifications'")]
        pub enum Operation {
            $($variant = $code,)*
        }

        impl Operation {
            /// All operations, in the order of their numbers.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The operation with this number.
            #[inline]
            pub const fn from_code(code: u32) -> Option<Self> {
                match code {
                    $($code => Some(Self::$variant),)*
                    _ => None,
                }
            }

            /// Its name in the specification.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

operations! {
    Access = 3, "ACCESS";
    Close = 4, "CLOSE";
    Commit = 5, "COMMIT";
    Create = 6, "CREATE";
    DelegPurge = 7, "DELEGPURGE";
    DelegReturn = 8, "DELEGRETURN";
    GetAttr = 9, "GETATTR";
    GetFh = 10, "GETFH";
    Link = 11, "LINK";
    Lock = 12, "LOCK";
    LockT = 13, "LOCKT";
    LockU = 14, "LOCKU";
    Lookup = 15, "LOOKUP";
    LookupP = 16, "LOOKUPP";
    NVerify = 17, "NVERIFY";
    Open = 18, "OPEN";
    OpenAttr = 19, "OPENATTR";
    OpenConfirm = 20, "OPEN_CONFIRM";
    OpenDowngrade = 21, "OPEN_DOWNGRADE";
    PutFh = 22, "PUTFH";
    PutPubFh = 23, "PUTPUBFH";
    PutRootFh = 24, "PUTROOTFH";
    Read = 25, "READ";
    ReadDir = 26, "READDIR";
    ReadLink = 27, "READLINK";
    Remove = 28, "REMOVE";
    Rename = 29, "RENAME";
    Renew = 30, "RENEW";
    RestoreFh = 31, "RESTOREFH";
    SaveFh = 32, "SAVEFH";
    SecInfo = 33, "SECINFO";
    SetAttr = 34, "SETATTR";
    SetClientId = 35, "SETCLIENTID";
    SetClientIdConfirm = 36, "SETCLIENTID_CONFIRM";
    Verify = 37, "VERIFY";
    Write = 38, "WRITE";
    ReleaseLockOwner = 39, "RELEASE_LOCKOWNER";
    BackchannelCtl = 40, "BACKCHANNEL_CTL";
    BindConnToSession = 41, "BIND_CONN_TO_SESSION";
    ExchangeId = 42, "EXCHANGE_ID";
    CreateSession = 43, "CREATE_SESSION";
    DestroySession = 44, "DESTROY_SESSION";
    FreeStateId = 45, "FREE_STATEID";
    GetDirDelegation = 46, "GET_DIR_DELEGATION";
    GetDeviceInfo = 47, "GETDEVICEINFO";
    GetDeviceList = 48, "GETDEVICELIST";
    LayoutCommit = 49, "LAYOUTCOMMIT";
    LayoutGet = 50, "LAYOUTGET";
    LayoutReturn = 51, "LAYOUTRETURN";
    SecInfoNoName = 52, "SECINFO_NO_NAME";
    Sequence = 53, "SEQUENCE";
    SetSsv = 54, "SET_SSV";
    TestStateId = 55, "TEST_STATEID";
    WantDelegation = 56, "WANT_DELEGATION";
    DestroyClientId = 57, "DESTROY_CLIENTID";
    ReclaimComplete = 58, "RECLAIM_COMPLETE";
    Allocate = 59, "ALLOCATE";
    Copy = 60, "COPY";
    CopyNotify = 61, "COPY_NOTIFY";
    Deallocate = 62, "DEALLOCATE";
    IoAdvise = 63, "IO_ADVISE";
    LayoutError = 64, "LAYOUTERROR";
    LayoutStats = 65, "LAYOUTSTATS";
    OffloadCancel = 66, "OFFLOAD_CANCEL";
    OffloadStatus = 67, "OFFLOAD_STATUS";
    ReadPlus = 68, "READ_PLUS";
    Seek = 69, "SEEK";
    WriteSame = 70, "WRITE_SAME";
    Clone = 71, "CLONE";
    Illegal = 10_044, "ILLEGAL";
}

impl Operation {
    /// True if a second execution has another effect than the first: the operation changes names, attributes or state.
    pub const fn changes_something(self) -> bool {
        matches!(
            self,
            Self::Close
                | Self::Create
                | Self::DelegPurge
                | Self::DelegReturn
                | Self::Link
                | Self::Lock
                | Self::LockU
                | Self::Open
                | Self::OpenConfirm
                | Self::OpenDowngrade
                | Self::Remove
                | Self::Rename
                | Self::SetAttr
                | Self::Write
                | Self::FreeStateId
                | Self::Allocate
                | Self::Copy
                | Self::Deallocate
                | Self::Clone
        )
    }

    /// The lowest minor version that has the operation.
    pub const fn first_minor_version(self) -> u32 {
        match self as u32 {
            40..=58 => 1,
            59..=71 => 2,
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_operations_have_no_gap_from_access_to_clone() {
        for (operation, code) in Operation::ALL.iter().zip((3..=71).chain([10_044])) {
            assert_eq!(*operation as u32, code);
            assert_eq!(Operation::from_code(code), Some(*operation));
        }
        assert_eq!((Operation::ALL.len(), Operation::from_code(2)), (70, None));
        let minor = [Operation::Write, Operation::Sequence, Operation::Seek, Operation::Illegal]
            .map(Operation::first_minor_version);
        assert_eq!(minor, [0, 1, 2, 0]);
    }
}
