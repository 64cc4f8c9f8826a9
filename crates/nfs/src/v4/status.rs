//! Status codes of NFSv4 (RFC 7530, 13; RFC 8881, 15; RFC 7862, 11), and the error class of each.

use sharebench_model::{OpError, OpStep};

use crate::v4::attribute_types::FileType;

crate::status::statuses! {
    /// The failure of an NFSv4 operation (RFC 7531, RFC 5662 and RFC 7863: `nfsstat4`). Codes that mean the loss of a
    /// client, a session or a state have the class of a lost connection, because no later operation on it can succeed.
    #[expect(missing_docs, reason = "the names are the specifications'")]
    Nfs4Status, "NFS4 status";
    Perm = 1, "NFS4ERR_PERM", Refused;
    Noent = 2, "NFS4ERR_NOENT", NotFound;
    Io = 5, "NFS4ERR_IO", Io;
    Nxio = 6, "NFS4ERR_NXIO", Io;
    Access = 13, "NFS4ERR_ACCESS", Refused;
    Exist = 17, "NFS4ERR_EXIST", Exists;
    Xdev = 18, "NFS4ERR_XDEV", Unsupported;
    Notdir = 20, "NFS4ERR_NOTDIR", NotFound;
    Isdir = 21, "NFS4ERR_ISDIR", Unsupported;
    Inval = 22, "NFS4ERR_INVAL", Unsupported;
    Fbig = 27, "NFS4ERR_FBIG", NoSpace;
    Nospc = 28, "NFS4ERR_NOSPC", NoSpace;
    Rofs = 30, "NFS4ERR_ROFS", ReadOnly;
    Mlink = 31, "NFS4ERR_MLINK", NoSpace;
    Nametoolong = 63, "NFS4ERR_NAMETOOLONG", Unsupported;
    Notempty = 66, "NFS4ERR_NOTEMPTY", NotEmpty;
    Dquot = 69, "NFS4ERR_DQUOT", NoSpace;
    Stale = 70, "NFS4ERR_STALE", Stale;
    Badhandle = 10_001, "NFS4ERR_BADHANDLE", Stale;
    BadCookie = 10_003, "NFS4ERR_BAD_COOKIE", Io;
    Notsupp = 10_004, "NFS4ERR_NOTSUPP", Unsupported;
    Toosmall = 10_005, "NFS4ERR_TOOSMALL", Protocol;
    Serverfault = 10_006, "NFS4ERR_SERVERFAULT", Io;
    Badtype = 10_007, "NFS4ERR_BADTYPE", Unsupported;
    Delay = 10_008, "NFS4ERR_DELAY", Busy;
    Same = 10_009, "NFS4ERR_SAME", Protocol;
    Denied = 10_010, "NFS4ERR_DENIED", Busy;
    Expired = 10_011, "NFS4ERR_EXPIRED", Disconnected;
    Locked = 10_012, "NFS4ERR_LOCKED", Busy;
    Grace = 10_013, "NFS4ERR_GRACE", Busy;
    Fhexpired = 10_014, "NFS4ERR_FHEXPIRED", Stale;
    ShareDenied = 10_015, "NFS4ERR_SHARE_DENIED", Busy;
    Wrongsec = 10_016, "NFS4ERR_WRONGSEC", Refused;
    ClidInuse = 10_017, "NFS4ERR_CLID_INUSE", Busy;
    Resource = 10_018, "NFS4ERR_RESOURCE", Io;
    Moved = 10_019, "NFS4ERR_MOVED", Unsupported;
    Nofilehandle = 10_020, "NFS4ERR_NOFILEHANDLE", Protocol;
    MinorVersMismatch = 10_021, "NFS4ERR_MINOR_VERS_MISMATCH", Unsupported;
    StaleClientid = 10_022, "NFS4ERR_STALE_CLIENTID", Disconnected;
    StaleStateid = 10_023, "NFS4ERR_STALE_STATEID", Disconnected;
    OldStateid = 10_024, "NFS4ERR_OLD_STATEID", Protocol;
    BadStateid = 10_025, "NFS4ERR_BAD_STATEID", Disconnected;
    BadSeqid = 10_026, "NFS4ERR_BAD_SEQID", Protocol;
    NotSame = 10_027, "NFS4ERR_NOT_SAME", Protocol;
    LockRange = 10_028, "NFS4ERR_LOCK_RANGE", Unsupported;
    Symlink = 10_029, "NFS4ERR_SYMLINK", Unsupported;
    Restorefh = 10_030, "NFS4ERR_RESTOREFH", Protocol;
    LeaseMoved = 10_031, "NFS4ERR_LEASE_MOVED", Unsupported;
    Attrnotsupp = 10_032, "NFS4ERR_ATTRNOTSUPP", Unsupported;
    NoGrace = 10_033, "NFS4ERR_NO_GRACE", Busy;
    ReclaimBad = 10_034, "NFS4ERR_RECLAIM_BAD", Protocol;
    ReclaimConflict = 10_035, "NFS4ERR_RECLAIM_CONFLICT", Busy;
    Badxdr = 10_036, "NFS4ERR_BADXDR", Protocol;
    LocksHeld = 10_037, "NFS4ERR_LOCKS_HELD", Busy;
    Openmode = 10_038, "NFS4ERR_OPENMODE", Refused;
    Badowner = 10_039, "NFS4ERR_BADOWNER", Unsupported;
    Badchar = 10_040, "NFS4ERR_BADCHAR", Unsupported;
    Badname = 10_041, "NFS4ERR_BADNAME", Unsupported;
    BadRange = 10_042, "NFS4ERR_BAD_RANGE", Unsupported;
    LockNotsupp = 10_043, "NFS4ERR_LOCK_NOTSUPP", Unsupported;
    OpIllegal = 10_044, "NFS4ERR_OP_ILLEGAL", Unsupported;
    Deadlock = 10_045, "NFS4ERR_DEADLOCK", Busy;
    FileOpen = 10_046, "NFS4ERR_FILE_OPEN", Busy;
    AdminRevoked = 10_047, "NFS4ERR_ADMIN_REVOKED", Disconnected;
    CbPathDown = 10_048, "NFS4ERR_CB_PATH_DOWN", Io;
    Badiomode = 10_049, "NFS4ERR_BADIOMODE", Protocol;
    Badlayout = 10_050, "NFS4ERR_BADLAYOUT", Protocol;
    BadSessionDigest = 10_051, "NFS4ERR_BAD_SESSION_DIGEST", Protocol;
    Badsession = 10_052, "NFS4ERR_BADSESSION", Disconnected;
    Badslot = 10_053, "NFS4ERR_BADSLOT", Protocol;
    CompleteAlready = 10_054, "NFS4ERR_COMPLETE_ALREADY", Protocol;
    ConnNotBoundToSession = 10_055, "NFS4ERR_CONN_NOT_BOUND_TO_SESSION", Disconnected;
    DelegAlreadyWanted = 10_056, "NFS4ERR_DELEG_ALREADY_WANTED", Protocol;
    BackChanBusy = 10_057, "NFS4ERR_BACK_CHAN_BUSY", Busy;
    Layouttrylater = 10_058, "NFS4ERR_LAYOUTTRYLATER", Busy;
    Layoutunavailable = 10_059, "NFS4ERR_LAYOUTUNAVAILABLE", Unsupported;
    NomatchingLayout = 10_060, "NFS4ERR_NOMATCHING_LAYOUT", Unsupported;
    Recallconflict = 10_061, "NFS4ERR_RECALLCONFLICT", Busy;
    UnknownLayouttype = 10_062, "NFS4ERR_UNKNOWN_LAYOUTTYPE", Unsupported;
    SeqMisordered = 10_063, "NFS4ERR_SEQ_MISORDERED", Protocol;
    SequencePos = 10_064, "NFS4ERR_SEQUENCE_POS", Protocol;
    ReqTooBig = 10_065, "NFS4ERR_REQ_TOO_BIG", Unsupported;
    RepTooBig = 10_066, "NFS4ERR_REP_TOO_BIG", Unsupported;
    RepTooBigToCache = 10_067, "NFS4ERR_REP_TOO_BIG_TO_CACHE", Unsupported;
    RetryUncachedRep = 10_068, "NFS4ERR_RETRY_UNCACHED_REP", Protocol;
    UnsafeCompound = 10_069, "NFS4ERR_UNSAFE_COMPOUND", Protocol;
    TooManyOps = 10_070, "NFS4ERR_TOO_MANY_OPS", Unsupported;
    OpNotInSession = 10_071, "NFS4ERR_OP_NOT_IN_SESSION", Protocol;
    HashAlgUnsupp = 10_072, "NFS4ERR_HASH_ALG_UNSUPP", Unsupported;
    ClientidBusy = 10_074, "NFS4ERR_CLIENTID_BUSY", Busy;
    PnfsIoHole = 10_075, "NFS4ERR_PNFS_IO_HOLE", Io;
    SeqFalseRetry = 10_076, "NFS4ERR_SEQ_FALSE_RETRY", Protocol;
    BadHighSlot = 10_077, "NFS4ERR_BAD_HIGH_SLOT", Protocol;
    Deadsession = 10_078, "NFS4ERR_DEADSESSION", Disconnected;
    EncrAlgUnsupp = 10_079, "NFS4ERR_ENCR_ALG_UNSUPP", Unsupported;
    PnfsNoLayout = 10_080, "NFS4ERR_PNFS_NO_LAYOUT", Unsupported;
    NotOnlyOp = 10_081, "NFS4ERR_NOT_ONLY_OP", Protocol;
    WrongCred = 10_082, "NFS4ERR_WRONG_CRED", Refused;
    WrongType = 10_083, "NFS4ERR_WRONG_TYPE", Unsupported;
    DirdelegUnavail = 10_084, "NFS4ERR_DIRDELEG_UNAVAIL", Unsupported;
    RejectDeleg = 10_085, "NFS4ERR_REJECT_DELEG", Busy;
    Returnconflict = 10_086, "NFS4ERR_RETURNCONFLICT", Busy;
    DelegRevoked = 10_087, "NFS4ERR_DELEG_REVOKED", Disconnected;
    PartnerNotsupp = 10_088, "NFS4ERR_PARTNER_NOTSUPP", Unsupported;
    PartnerNoAuth = 10_089, "NFS4ERR_PARTNER_NO_AUTH", Refused;
    UnionNotsupp = 10_090, "NFS4ERR_UNION_NOTSUPP", Unsupported;
    OffloadDenied = 10_091, "NFS4ERR_OFFLOAD_DENIED", Refused;
    WrongLfs = 10_092, "NFS4ERR_WRONG_LFS", Unsupported;
    Badlabel = 10_093, "NFS4ERR_BADLABEL", Unsupported;
    OffloadNoReqs = 10_094, "NFS4ERR_OFFLOAD_NO_REQS", Busy;
}

impl Nfs4Status {
    /// The error of `request` if the server answers with this status.
    #[cold]
    pub fn failure(self, request: &'static str) -> OpError {
        let detail = match self {
            Self::Symlink => format!("{self}: {}", FileType::SymbolicLink.name()),
            Self::WrongType => format!("{self}: a device, a socket or a named pipe"),
            _ => self.to_string(),
        };
        OpError::new(self.class(), OpStep::Request(request), detail)
    }
}

#[cfg(test)]
mod tests {
    use sharebench_model::ErrorClass;

    use super::*;

    #[test]
    fn codes_and_statuses_are_one_to_one() {
        assert_eq!(Nfs4Status::from_code(0), None);
        for code in (1..100).chain(10_000..10_100) {
            assert_eq!(Nfs4Status::from_code(code).map(Nfs4Status::code), Some(code));
        }
        // RFC 5662 does not define 10002 and 10073.
        for code in [10_002, 10_073, 10_095] {
            assert_eq!(Nfs4Status::from_code(code), Some(Nfs4Status::Other(code)));
        }
    }

    #[test]
    fn links_and_special_files_are_reported_as_such() {
        let link = Nfs4Status::Symlink.failure("OPEN");
        assert_eq!(link.detail, "NFS4ERR_SYMLINK: a symbolic link, which sharebench does not follow");
        assert!(Nfs4Status::WrongType.failure("OPEN").detail.contains("named pipe"));
    }

    #[test]
    fn a_lost_session_has_the_class_of_a_lost_connection() {
        let status = Nfs4Status::from_code(10_052).unwrap();
        assert_eq!(
            (status.to_string().as_str(), status.class()),
            ("NFS4ERR_BADSESSION", ErrorClass::Disconnected)
        );
        assert_eq!(Nfs4Status::Delay.class(), ErrorClass::Busy);
        assert_eq!(Nfs4Status::Other(10_095).to_string(), "NFS4 status 10095");
    }
}
