//! Every fact about targets, with its stored name, its class and its words in reports.

use crate::{FactClass, Facts};

/// Declares [`Fact`]. A line without a class or without words does not compile.
macro_rules! declare {
    ($($(#[$doc:meta])+ $fact:ident = $name:literal, $class:ident, $words:literal;)+) => {
        /// A fact about a target, declared once for all clients, the engine, analysis and reports.
        ///
        /// Sessions state facts in [`TargetFacts`](crate::TargetFacts); a run stores them by [`Fact::name`]. The
        /// class decides what a difference means.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Fact {
            $($(#[$doc])+ $fact,)+
        }

        impl Fact {
            /// Every fact, in the order of its declaration.
            pub const ALL: &'static [Self] = &[$(Self::$fact,)+];

            /// The name under which runs store it.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$fact => $name,)+ }
            }

            /// What a difference in it means.
            pub const fn class(self) -> FactClass {
                match self { $(Self::$fact => FactClass::$class,)+ }
            }

            /// Its words in reports; the value follows them.
            pub const fn words(self) -> &'static str {
                match self { $(Self::$fact => $words,)+ }
            }
        }
    };
}

declare! {
    // Versions and protection.
    /// Version of SMB, such as `3.1.1`.
    Dialect = "dialect", Setting, "dialect";
    /// Version of NFS, such as `4.1`.
    Vers = "vers", Setting, "vers";
    /// How messages of SMB are signed: an algorithm or `off`.
    Signing = "signing", Setting, "signing";
    /// How messages of SMB are encrypted: a cipher or `off`.
    Encryption = "encryption", Setting, "encryption";
    /// Flavor of RPC authentication: `sys`, `krb5`, `krb5i`, `krb5p`.
    Sec = "sec", Setting, "sec";
    /// Transport security of NFS that the URL requests: `tls`, `mtls`.
    Xprtsec = "xprtsec", Setting, "xprtsec";
    /// Cipher suite of TLS.
    TlsCipher = "tls_cipher", Setting, "TLS cipher";
    /// Protocol that both sides of TLS have named (ALPN): `sunrpc` or `none`.
    TlsProtocol = "tls_protocol", Condition, "TLS protocol";
    /// True if NCP requests are signed.
    Signed = "signed", Setting, "signature";
    /// Signature level of the NCP client, 0 to 3: what it requests or accepts.
    SignLevel = "sign_level", Condition, "signature level";
    /// True if NCP requests carry a checksum: `on` or `off`.
    Checksums = "checksums", Setting, "checksum";
    /// How the user logged in: the mechanism of SMB, or `none`.
    Login = "login", Condition, "login";
    /// Whom the server took the user for: `user`, `guest` or `anonymous`.
    Session = "session", Condition, "session";
    /// Security contexts of RPC.
    SecContexts = "sec_contexts", Result, "security contexts";
    /// Why the protocol of the session is unsafe. The run reports it before it measures.
    Unsafe = "unsafe", Result, "unsafe";

    // Transport.
    /// How messages travel: `tcp`, `udp`, `ipx` or the session service of `NetBIOS`.
    Transport = "transport", Setting, "transport";
    /// The simulated distance.
    SimulatedDistance = "simulated_distance", Setting, "simulated distance";
    /// Whether requests are sent at once (`TCP_NODELAY`), where the URL states it: `on` or `off`.
    Nodelay = "nodelay", Setting, "nodelay";
    /// Connections of one session in use.
    Connections = "connections", Setting, "connections";
    /// Connections of one NFS session, by the name of its mount option.
    Nconnect = "nconnect", Setting, "connections";
    /// Connections that the URL requests.
    ConnectionsRequested = "connections_requested", Condition, "connections requested";
    /// Addresses of the server that the connections use.
    ConnectionAddresses = "connection_addresses", Identity, "connection addresses";
    /// Address and port of the client's first connection.
    LocalAddress = "local_address", Identity, "local address";
    /// Port of the NFS service.
    Port = "port", Identity, "port";
    /// Port of the MOUNT service.
    Mountport = "mountport", Identity, "mountport";
    /// Time until a datagram is repeated, in tenths of a second.
    Timeo = "timeo", Setting, "timeo";
    /// Time until an NCP request is repeated.
    Retry = "retry", Setting, "retry";
    /// Frame type of IPX on Ethernet.
    Frame = "frame", Setting, "frame";
    /// Network interface of IPX.
    Interface = "interface", Identity, "interface";

    // Limits of a session.
    /// Largest READ of SMB in bytes.
    MaxRead = "max_read", Setting, "max read";
    /// Largest WRITE of SMB in bytes.
    MaxWrite = "max_write", Setting, "max write";
    /// Requests that an SMB1 server accepts at a time.
    MaxMpx = "max_mpx", Setting, "max mpx";
    /// Credits of an SMB session when it was ready.
    Credits = "credits", Result, "credits";
    /// Largest READ of NFS 3 in bytes.
    Rtmax = "rtmax", Setting, "rtmax";
    /// Preferred READ of NFS 3 in bytes.
    Rtpref = "rtpref", Condition, "rtpref";
    /// Largest WRITE of NFS 3 in bytes.
    Wtmax = "wtmax", Setting, "wtmax";
    /// Preferred WRITE of NFS 3 in bytes.
    Wtpref = "wtpref", Condition, "wtpref";
    /// Preferred READDIR of NFS 3 in bytes.
    Dtpref = "dtpref", Condition, "dtpref";
    /// Largest READ of NFS 4 in bytes.
    Maxread = "maxread", Setting, "maxread";
    /// Largest WRITE of NFS 4 in bytes.
    Maxwrite = "maxwrite", Setting, "maxwrite";
    /// Largest file in bytes.
    MaxFileSize = "max_file_size", Condition, "max file size";
    /// Slots of an NFS 4 session that the client requests.
    SlotsRequested = "slots_requested", Condition, "slots requested";
    /// Slots of an NFS 4 session that the server grants.
    SlotsGranted = "slots_granted", Setting, "slots";
    /// Requests in flight on one NCP connection.
    RequestsPerConnection = "requests_per_connection", Setting, "requests per connection";
    /// Bytes of one NCP request that the server and the client agreed on.
    Buffer = "buffer", Setting, "buffer";
    /// Bytes of one NCP request that the client proposed.
    BufferProposed = "buffer_proposed", Condition, "buffer proposed";
    /// Large Internet packets of NCP: the size that the probe found.
    Lip = "lip", Setting, "large Internet packets";
    /// Packet burst of NCP: `on` or `refused`; not stated where it is off.
    Burst = "burst", Setting, "burst";
    /// Window of packet burst in bytes.
    BurstWindow = "burst_window", Setting, "burst window";
    /// Bytes of one packet of a burst.
    BurstPacket = "burst_packet", Setting, "burst packet";
    /// Gap between the packets of a burst.
    BurstGap = "burst_gap", Setting, "burst gap";
    /// What the URL requests and the server does not offer, where the session works without it. The run reports it
    /// before it measures.
    NotGranted = "not granted", Condition, "not granted";

    // How the client works.
    /// Client that the NCP options imitate.
    Profile = "profile", Setting, "profile";
    /// File data that the client caches, or [`NO_CLIENT_CACHE`](crate::NO_CLIENT_CACHE).
    ClientCache = "client_cache", Setting, "client cache";
    /// When an NCP client requests stable storage, such as [`COMMIT_ON_CLOSE`](crate::COMMIT_ON_CLOSE).
    Commit = "commit", Setting, "commit";
    /// Whether NCP requests are split at multiples of the buffer: `on` or `off`.
    Split = "split", Setting, "split";
    /// True if NCP requests carry 64-bit offsets.
    LargeFiles = "large_files", Setting, "large files";
    /// Name space in use.
    Names = "names", Setting, "names";
    /// Name space that the URL requests.
    NamesRequested = "names_requested", Condition, "names requested";
    /// Name spaces of the volume.
    NameSpaces = "name_spaces", Condition, "name spaces";
    /// Whether several operations of NFS 4 share a COMPOUND: `on` or `off`.
    Compound = "compound", Setting, "compound";
    /// Lease that the URL requests.
    LeaseRequested = "lease_requested", Setting, "lease";
    /// Stated if the URL requests durable handles.
    DurableHandles = "durable_handles", Setting, "durable handles";
    /// When the client requests delegations.
    Delegations = "delegations", Condition, "delegations";
    /// Engine of a path: `psync`, `uring`, `overlapped`.
    Engine = "engine", Setting, "engine";
    /// Whether a path bypasses the page cache: `yes` or `no`.
    DirectIo = "direct_io", Setting, "direct I/O";

    /// Whether the kernel registered the buffers of `io_uring`: `yes` or `no`.
    RegisteredBuffers = "registered_buffers", Condition, "registered buffers";

    // The server and its files.
    /// Name and version of the server.
    Server = "server", Condition, "server";
    /// GUID of an SMB server.
    ServerGuid = "server_guid", Identity, "server GUID";
    /// Write verifier of NFS: it identifies one start of the server.
    WriteVerifier = "write_verifier", Identity, "write verifier";
    /// Exported directory.
    Export = "export", Identity, "export";
    /// User of `AUTH_SYS`.
    Uid = "uid", Condition, "uid";
    /// Group of `AUTH_SYS`.
    Gid = "gid", Condition, "gid";
    /// Lease of an NFS 4 server in seconds.
    LeaseSeconds = "lease_seconds", Condition, "lease seconds";
    /// What an NFS 4 server offers of pNFS.
    Pnfs = "pnfs", Condition, "pNFS";
    /// Channel of callbacks of NFS 4.
    Backchannel = "backchannel", Condition, "backchannel";
    /// Why READDIRPLUS is not used.
    Readdirplus = "readdirplus", Condition, "READDIRPLUS";
    /// How a path is reached: `mounted` or `local`.
    Access = "access", Condition, "access";
    /// Type of the file system.
    FileSystem = "file_system", Setting, "file system";
    /// Options of the mount, separated by commas.
    MountOptions = "mount_options", Setting, "mount options";
    /// Directory on which the file system is mounted.
    MountPoint = "mount_point", Identity, "mount point";
    /// What is mounted.
    MountSource = "mount_source", Identity, "mount source";
    /// Where the bytes that a mount transfers are counted.
    WireCounter = "wire_counter", Identity, "counter of wire bytes";
    /// Block of the file system in bytes.
    BlockSize = "block_size", Condition, "block size";
    /// Unit of direct I/O in bytes.
    DirectIoUnit = "direct_io_unit", Condition, "unit of direct I/O";
    /// Kind of drive on Windows.
    Drive = "drive", Condition, "drive";
    /// Size of the file system in bytes.
    SpaceTotal = "space_total_bytes", Result, "space total bytes";
    /// Bytes that could be written when the run began.
    SpaceAvailable = "space_available_bytes", Result, "space available bytes";
    /// Kind of a target in memory.
    Kind = "kind", Condition, "kind";

    // What the plan made of the target.
    /// What users do between two steps of a load, where they do not log off.
    UsersBetweenSteps = "users_between_steps", Condition, "users between steps";
    /// Cells that the target cannot measure, with the reasons.
    SkippedCells = "skipped cells", Result, "skipped cells";
    /// How a block of a load is sent that one request does not carry.
    Block = "block", Result, "block";

    // Counts of a run.
    /// Connections that were lost.
    ConnectionsLost = "connections_lost", Result, "connections lost";
    /// Requests that were sent again over another connection or session.
    RequestsRepeated = "requests_repeated", Result, "requests repeated";
    /// Logins after a session had expired.
    LoginsRenewed = "logins_renewed", Result, "logins renewed";
    /// Clients of NFS 4 that replaced one that the server had forgotten.
    ClientsReplaced = "clients_replaced", Result, "clients replaced";
    /// Datagrams that were sent again.
    Retransmissions = "retransmissions", Result, "retransmissions";
    /// Replies that arrived twice.
    DuplicateReplies = "duplicate_replies", Result, "duplicate replies";
    /// NCP requests that were sent again.
    Resent = "resent", Result, "resent";
    /// Fragments of bursts that were lost.
    BurstFragmentsLost = "burst_fragments_lost", Result, "burst fragments lost";
    /// Windows of packet burst in use.
    BurstWindowUsed = "burst_window_used", Result, "burst window used";
    /// Gaps of packet burst in use.
    BurstGapUsed = "burst_gap_used", Result, "burst gap used";
    /// Names that were shortened to 8.3.
    ShortNames = "short_names", Result, "short names";
    /// Leases by state.
    LeasesGranted = "leases_granted", Result, "leases granted";
    /// Leases that the server broke.
    LeasesBroken = "leases_broken", Result, "leases broken";
    /// Breaks of leases that the client acknowledged.
    LeaseBreaksAcknowledged = "lease_breaks_acknowledged", Result, "lease breaks acknowledged";
    /// Oplocks by level.
    OplocksGranted = "oplocks_granted", Result, "oplocks granted";
    /// Oplocks that the server broke.
    OplocksBroken = "oplocks_broken", Result, "oplocks broken";
    /// Breaks of oplocks that the client acknowledged.
    OplockBreaksAcknowledged = "oplock_breaks_acknowledged", Result, "oplock breaks acknowledged";
    /// Durable handles, of those requested.
    DurableHandlesGranted = "durable_handles_granted", Result, "durable handles granted";
    /// Delegations, of those requested.
    DelegationsGranted = "delegations_granted", Result, "delegations granted";
    /// Delegations that the server recalled.
    DelegationsRecalled = "delegations_recalled", Result, "delegations recalled";
}

impl Fact {
    /// The facts that describe a target in one line; every protocol has some of them.
    pub const BRIEF: [Self; 11] = [
        Self::Dialect,
        Self::Signing,
        Self::Encryption,
        Self::Vers,
        Self::Server,
        Self::FileSystem,
        Self::Engine,
        Self::Transport,
        Self::Buffer,
        Self::Profile,
        Self::SimulatedDistance,
    ];

    /// The fact of a stored name; none if this version does not declare it.
    pub fn from_name(name: &str) -> Option<Self> {
        // The name that NCP targets had.
        let name = if name == "local_addr" { Self::LocalAddress.name() } else { name };
        Self::ALL.iter().copied().find(|fact| fact.name() == name)
    }

    /// The words for a stored name in reports: those of its declaration, or the name itself.
    pub fn words_for(name: &str) -> String {
        Self::from_name(name).map_or_else(|| name.replace('_', " "), |fact| fact.words().to_owned())
    }

    /// Its value among stored facts; none if it is not stated.
    pub fn value(self, stored: &Facts) -> Option<&str> {
        stored.get(self.name()).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::TargetFacts;

    #[test]
    fn names_are_unique_and_found_again() {
        let names: BTreeSet<&str> = Fact::ALL.iter().map(|fact| fact.name()).collect();
        assert_eq!(names.len(), Fact::ALL.len());
        assert!(Fact::ALL.iter().all(|fact| Fact::from_name(fact.name()) == Some(*fact)));
    }

    #[test]
    fn stored_facts_keep_their_names_and_unknown_ones_are_conditions() {
        let facts =
            TargetFacts::from([(Fact::Nconnect, "4".to_owned()), (Fact::NotGranted, "x, y".to_owned())]);
        let stored = facts.stored();
        assert_eq!(stored["nconnect"], "4");
        assert_eq!((stored["not granted"].as_str(), Fact::NotGranted.value(&stored)), ("x, y", Some("x, y")));
        assert_eq!(FactClass::of_stored("local_addr"), FactClass::Identity);
        assert_eq!(FactClass::of_stored("client_cache"), FactClass::Setting);
        assert_eq!(FactClass::of_stored("of another version"), FactClass::Condition);
    }
}
