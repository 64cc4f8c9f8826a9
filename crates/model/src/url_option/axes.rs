//! The axes of options.

use super::declaration::Axis;

/// Every axis, in the order of the help.
pub const AXES: [&Axis; 6] = [&FAR, &NODELAY, &SECURITY, &CONNECTIONS, &COMPOUND, &LEASES];

/// An axis of one value per target, for every target that has the option.
const fn axis(
    flag: &'static str,
    value_name: &'static str,
    other_targets: &'static str,
    help: &'static str,
) -> Axis {
    Axis { flag, value_name, help, other_targets, has_levels: false, needs: None }
}

pub(super) const FAR: Axis = axis(
    "far",
    "TIME[,RATE],...",
    "a distance can be simulated for targets over a protocol only: smb://, nfs:// and ncp://",
    "Measure each target over a protocol at these simulated distances: 20ms, 20ms,100Mbit or 0,5ms,20ms,80ms. A distance \
     is the round-trip time that is added; a rate limits each connection. Loss is not simulated",
);

pub(super) const NODELAY: Axis = axis(
    "nodelay",
    "on|off,...",
    "only targets over a protocol have a connection: smb://, nfs:// and ncp://",
    "Measure each target over a protocol on TCP with requests that are sent at once (on), with Nagle's algorithm, which holds \
     small segments back until earlier ones are acknowledged (off), or with both: on,off. Sets nodelay= of the URLs",
);

pub(super) const SECURITY: Axis = Axis {
    has_levels: true,
    ..axis(
        "security",
        "LEVEL,...",
        "no level is of this protocol",
        "Measure each target at these security levels. SMB: none, sign, encrypt, or one with its algorithm, such as \
         sign:aes-cmac and encrypt:aes-256-gcm; NFS: sys, krb5, krb5i, krb5p, tls; NCP: signatures 0 to 3. A target takes \
         the levels of its protocol",
    )
};

pub(super) const CONNECTIONS: Axis = axis(
    "connections",
    "NUMBER,...",
    "only targets over a protocol have connections: smb://, nfs:// and ncp://",
    "Measure each target over a protocol with sessions of these numbers of connections, such as 1,2,4,8. Sets channels= of \
     smb://, nconnect= of nfs:// and connections= of ncp://",
);

pub(super) const COMPOUND: Axis = Axis {
    needs: Some(("vers", &["4.1", "4.2"])),
    ..axis(
        "compound",
        "off|on,...",
        "only nfs:// with vers=4.1 or vers=4.2 has calls of several operations",
        "Measure each nfs:// target of version 4.1 or 4.2 with one call for each operation (off), with the open, \
         read and close of a small file in one call (on), or with both: off,on. Sets compound= of the URLs. Transactions \
         of loads that read a whole file with one request profit, and the sweep open-read-close",
    )
};

pub(super) const LEASES: Axis = axis(
    "leases",
    "LEASE,...",
    "only smb:// has leases",
    "Measure each smb:// target with opens that request these leases: none, r (read), rh (and handle), rwh (and write), or \
     dir (of listed directories), such as none,rwh. Sets lease= of the URLs",
);
