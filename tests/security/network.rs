//! An attacker on the network path who strips signatures, changes and repeats messages, and forces downgrades.

use sharebench_tests::{Cut, FaultProxy, Served, Sharebench, Smbd, SmbdOptions, Way};

use crate::attack::{Attack, message, sweep};

/// Length of the prefix of a message.
const PREFIX: usize = 4;
const COMMAND: std::ops::Range<usize> = PREFIX + 12..PREFIX + 14;
const FLAGS: usize = PREFIX + 16;
const SIGNED: u8 = 8;
const SIGNATURE: std::ops::Range<usize> = PREFIX + 48..PREFIX + 64;
const BODY: usize = PREFIX + 64;
const NEGOTIATE: u16 = 0;
const READ: u16 = 8;
const WRITE: u16 = 9;

/// Function that changes a message into the messages that are forwarded.
type Tamper = fn(Way, Vec<u8>) -> Vec<Vec<u8>>;

/// The rows, in the order of the table.
pub const ATTACKS: &[Attack] = &[
    Attack {
        what: "signatures stripped from replies (`sign=required`)",
        on: "sharebench at smbd",
        needs: &Smbd::NEEDS,
        act: || at_smbd("sign=required", strip, &["not signed"]),
    },
    Attack {
        what: "a byte of a signed reply changed (`sign=required`)",
        on: "sharebench at smbd",
        needs: &Smbd::NEEDS,
        act: || at_smbd("sign=required", change_reads, &["signed wrongly"]),
    },
    Attack {
        what: "a byte of an encrypted message changed (`encrypt=required`)",
        on: "sharebench at smbd",
        needs: &Smbd::NEEDS,
        act: || at_smbd("encrypt=required", change_sealed, &["protocol", "authentic"]),
    },
    Attack {
        what: "a signed reply sent twice (`sign=required`)",
        on: "sharebench at smbd",
        needs: &Smbd::NEEDS,
        act: || at_smbd("sign=required", repeat_reads, &["not in flight"]),
    },
    Attack {
        what: "a signed WRITE sent twice (`sign=required`)",
        on: "smbd",
        needs: &Smbd::NEEDS,
        act: || at_smbd("sign=required", repeat_writes, &["disconnected", "protocol"]),
    },
    Attack {
        what: "a signed WRITE sent twice (`sign=required`)",
        on: "embedded SMB",
        needs: &[],
        act: || at_served("?sign=required", repeat_writes, &["disconnected", "protocol", "not in flight"]),
    },
    Attack {
        what: "a byte of a signed WRITE changed (`sign=required`)",
        on: "embedded SMB",
        needs: &[],
        act: || at_served("?sign=required", change_writes, &["refused", "disconnected", "not signed"]),
    },
    Attack {
        what: "NEGOTIATE's security mode changed (3.1.1: preauthentication integrity)",
        on: "sharebench at smbd",
        needs: &Smbd::NEEDS,
        act: || at_smbd("", weaken, &["has no valid signature"]),
    },
    Attack {
        what: "NEGOTIATE's security mode changed (3.1.1: preauthentication integrity)",
        on: "sharebench at embedded SMB",
        needs: &[],
        act: || at_served("", weaken, &["has no valid signature"]),
    },
    Attack {
        what: "dialects above 2.1 removed from NEGOTIATE (FSCTL_VALIDATE_NEGOTIATE_INFO)",
        on: "sharebench at smbd",
        needs: &Smbd::NEEDS,
        act: || at_smbd("", force_old, &["downgrade", "disconnected"]),
    },
    Attack {
        what: "dialects above 2.1 removed from NEGOTIATE (FSCTL_VALIDATE_NEGOTIATE_INFO)",
        on: "sharebench at embedded SMB",
        needs: &[],
        act: || at_served("", force_old, &["downgrade", "disconnected"]),
    },
    Attack {
        what: "a byte of a signed reply changed, within the 52 bytes that NCP signs (`sign=3`)",
        on: "sharebench over NCP",
        needs: &[],
        act: || at_ncp(|way, piece| change_data(way, piece, 40)),
    },
    Attack {
        what: "a byte of a signed reply changed, after the 52 bytes that NCP signs (`sign=3`)",
        on: "sharebench over NCP",
        needs: &[],
        act: || at_ncp(|way, piece| change_data(way, piece, 400)),
    },
];

fn at_smbd(options: &str, tamper: Tamper, words: &[&str]) -> String {
    let sharebench = Sharebench::new().unwrap();
    let smbd = Smbd::start(&SmbdOptions::default()).unwrap();
    under(&sharebench, &smbd.url("", options), smbd.port(), (Cut::Messages, tamper), words)
}

fn at_served(options: &str, tamper: Tamper, words: &[&str]) -> String {
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    under(&sharebench, &served.smb_url(options), served.smb_port, (Cut::Messages, tamper), words)
}

fn at_ncp(tamper: Tamper) -> String {
    let sharebench = Sharebench::new().unwrap();
    let served: Served = sharebench.serve_by(&[], "served", &["--ncp-options", "sign=3"]).unwrap();
    let url = served.ncp_url("?sign=3");
    under(&sharebench, &url, served.ncp_port, (Cut::Bytes, tamper), &["signature"])
}

fn under(
    sharebench: &Sharebench,
    url: &str,
    port: u16,
    (cut, tamper): (Cut, Tamper),
    words: &[&str],
) -> String {
    let proxy = FaultProxy::start(port, cut).unwrap();
    proxy.tamper(tamper);
    let url = url.replacen(&format!(":{port}/"), &format!(":{}/", proxy.port()), 1);
    message(&sweep(sharebench, &url), words)
}

/// Returns the command of a message that is not encrypted.
fn command(message: &[u8]) -> Option<u16> {
    let plain = message.get(PREFIX..PREFIX + 4)? == b"\xFESMB";
    message.get(COMMAND).filter(|_| plain).map(|bytes| u16::from_le_bytes([bytes[0], bytes[1]]))
}

/// Changes a byte of a large piece, which can only contain data.
fn change_data(way: Way, mut piece: Vec<u8>, at: usize) -> Vec<Vec<u8>> {
    if way == Way::ToClient && piece.len() > 4096 {
        piece[at] ^= 1;
    }
    vec![piece]
}

fn strip(way: Way, mut message: Vec<u8>) -> Vec<Vec<u8>> {
    if way == Way::ToClient && matches!(command(&message), Some(READ | WRITE)) {
        message[FLAGS] &= !SIGNED;
        message[SIGNATURE].fill(0);
    }
    vec![message]
}

fn change(mut message: Vec<u8>) -> Vec<Vec<u8>> {
    let last = message.len() - 1;
    message[last] ^= 1;
    vec![message]
}

fn change_reads(way: Way, message: Vec<u8>) -> Vec<Vec<u8>> {
    if way == Way::ToClient && command(&message) == Some(READ) { change(message) } else { vec![message] }
}

fn change_writes(way: Way, message: Vec<u8>) -> Vec<Vec<u8>> {
    if way == Way::ToServer && command(&message) == Some(WRITE) { change(message) } else { vec![message] }
}

fn change_sealed(way: Way, message: Vec<u8>) -> Vec<Vec<u8>> {
    let sealed = message.get(PREFIX..PREFIX + 4) == Some(b"\xFDSMB");
    if way == Way::ToClient && sealed { change(message) } else { vec![message] }
}

fn repeat_reads(way: Way, message: Vec<u8>) -> Vec<Vec<u8>> {
    if way == Way::ToClient && command(&message) == Some(READ) {
        return vec![message.clone(), message];
    }
    vec![message]
}

fn repeat_writes(way: Way, message: Vec<u8>) -> Vec<Vec<u8>> {
    if way == Way::ToServer && command(&message) == Some(WRITE) {
        return vec![message.clone(), message];
    }
    vec![message]
}

/// "Signing required" becomes "enabled" and vice versa (MS-SMB2 2.2.4).
fn weaken(way: Way, mut message: Vec<u8>) -> Vec<Vec<u8>> {
    if way == Way::ToClient && command(&message) == Some(NEGOTIATE) {
        message[BODY + 2] ^= 2;
    }
    vec![message]
}

/// Every dialect of three becomes 2.1 (MS-SMB2 2.2.3).
fn force_old(way: Way, mut message: Vec<u8>) -> Vec<Vec<u8>> {
    if way == Way::ToServer && command(&message) == Some(NEGOTIATE) {
        let count = usize::from(u16::from_le_bytes([message[BODY + 2], message[BODY + 3]]));
        for dialect in message[BODY + 36..BODY + 36 + 2 * count].chunks_exact_mut(2) {
            if dialect[1] == 3 {
                dialect.copy_from_slice(&[0x10, 0x02]);
            }
        }
    }
    vec![message]
}
