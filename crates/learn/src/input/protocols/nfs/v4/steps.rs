//! The operations of a COMPOUND call, as far as the workload needs them.

use std::net::SocketAddr;

use super::super::place;
use super::super::xdr::Xdr;
use crate::input::recorder::Recorder;

/// Most steps of a compound; clients use at most some dozen.
const MAX_STEPS: u32 = 256;

/// One operation of a compound, as far as it is needed.
#[derive(Debug)]
pub(in super::super) enum Step {
    /// PUTFH.
    Put(u32),
    /// PUTROOTFH and PUTPUBFH.
    PutRoot,
    Save,
    Restore,
    GetHandle,
    LookupParent,
    Lookup(Box<[u8]>),
    /// The bitmap of what is asked for.
    GetAttributes(u128),
    Access,
    Open(Open),
    Close,
    Read {
        offset: u64,
        asked: u32,
    },
    Write {
        offset: u64,
        bytes: u32,
        stable: bool,
    },
    Flush,
    SetAttributes(Option<u64>),
    List {
        /// It reads from the start.
        first: bool,
    },
    Create {
        name: Box<[u8]>,
        directory: bool,
    },
    Remove(Box<[u8]>),
    Rename {
        from: Box<[u8]>,
        to: Box<[u8]>,
    },
    Link(Box<[u8]>),
    Lock {
        release: bool,
    },
    Connect,
    Other(&'static str),
    /// Of sessions, states and layouts.
    Ignored,
}

/// The arguments of OPEN.
#[derive(Debug)]
pub(in super::super) struct Open {
    /// None opens the current file itself.
    pub(super) name: Option<Box<[u8]>>,
    pub(super) write: bool,
    pub(super) create: Create,
}

/// Whether OPEN makes a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Create {
    Never,
    /// If it does not exist; one that exists may be emptied.
    Unchecked {
        emptied: bool,
    },
    /// It must not exist.
    Always,
}

/// Reads a call. None where not even its list of steps begins; a list that ends early ends there.
pub(in super::super) fn call(
    procedure: u32,
    xdr: &mut Xdr<'_>,
    server: SocketAddr,
    recorder: &mut Recorder,
) -> Option<Vec<Step>> {
    if procedure != 1 {
        return None;
    }
    xdr.skip_opaque()?;
    xdr.u32()?;
    let count = xdr.u32()?.min(MAX_STEPS);
    let mut steps = Vec::new();
    for _ in 0..count {
        let Some((step, goes_on)) = xdr.u32().and_then(|code| step(code, xdr, server, recorder)) else {
            break;
        };
        steps.push(step);
        if !goes_on {
            break;
        }
    }
    (count == 0 || !steps.is_empty()).then_some(steps)
}

/// A step, and whether the next one can be read.
fn step(code: u32, xdr: &mut Xdr<'_>, server: SocketAddr, recorder: &mut Recorder) -> Option<(Step, bool)> {
    let step = match code {
        3 => skipped(xdr, 4, Step::Access)?,
        4 => skipped(xdr, 20, Step::Close)?,
        5 => skipped(xdr, 12, Step::Flush)?,
        6 => create(xdr)?,
        9 => Step::GetAttributes(xdr.bitmap()?),
        10 => Step::GetHandle,
        11 => Step::Link(place::name(xdr)?),
        12 => lock(xdr)?,
        13 => {
            xdr.skip(28)?;
            xdr.skip_opaque()?;
            Step::Other("LOCKT")
        }
        14 => skipped(xdr, 40, Step::Lock { release: true })?,
        15 => Step::Lookup(place::name(xdr)?),
        16 => Step::LookupParent,
        18 => return open(xdr),
        22 => Step::Put(place::file(place::handle(xdr)?, server, recorder)),
        23 | 24 => Step::PutRoot,
        25 | 68 => {
            xdr.skip(16)?;
            Step::Read { offset: xdr.u64()?, asked: xdr.u32()? }
        }
        26 => {
            let cookie = xdr.u64()?;
            xdr.skip(16)?;
            xdr.bitmap()?;
            Step::List { first: cookie == 0 }
        }
        27 => Step::Other("READLINK"),
        28 => Step::Remove(place::name(xdr)?),
        29 => Step::Rename { from: place::name(xdr)?, to: place::name(xdr)? },
        31 => Step::Restore,
        32 => Step::Save,
        34 => {
            xdr.skip(16)?;
            let (size, whole) = set_attributes(xdr)?;
            return Some((Step::SetAttributes(size), whole));
        }
        // Their answers open the client's state at the server.
        35 | 42 => return Some((Step::Connect, false)),
        38 => {
            xdr.skip(16)?;
            let offset = xdr.u64()?;
            let stable = xdr.u32()? != 0;
            // The data may continue after the first bytes of the message.
            let mut data = *xdr;
            let bytes = xdr.u32()?;
            let whole = data.skip_opaque().is_some();
            *xdr = data;
            return Some((Step::Write { offset, bytes, stable }, whole));
        }
        59 => skipped(xdr, 32, Step::Other("ALLOCATE"))?,
        60 => return Some((Step::Other("COPY"), false)),
        62 => skipped(xdr, 32, Step::Other("DEALLOCATE"))?,
        69 => skipped(xdr, 28, Step::Other("SEEK"))?,
        70 => return Some((Step::Other("WRITE_SAME"), false)),
        71 => skipped(xdr, 56, Step::Other("CLONE"))?,
        72 => {
            xdr.skip_opaque()?;
            Step::Other("GETXATTR")
        }
        73 => return Some((Step::Other("SETXATTR"), false)),
        74 => skipped(xdr, 12, Step::Other("LISTXATTRS"))?,
        75 => {
            xdr.skip_opaque()?;
            Step::Other("REMOVEXATTR")
        }
        _ => return ignored(code, xdr).map(|goes_on| (Step::Ignored, goes_on)),
    };
    Some((step, true))
}

fn skipped(xdr: &mut Xdr<'_>, bytes: usize, step: Step) -> Option<Step> {
    xdr.skip(bytes).map(|()| step)
}

/// Skips the arguments of a step that is no operation on a file. False where their length is not known.
fn ignored(code: u32, xdr: &mut Xdr<'_>) -> Option<bool> {
    match code {
        7 | 30 | 57 => xdr.skip(8)?,
        41 => xdr.skip(24)?,
        17 | 37 => {
            xdr.bitmap()?;
            xdr.skip_opaque()?;
        }
        19 | 52 | 58 => xdr.skip(4)?,
        20 => xdr.skip(20)?,
        21 => xdr.skip(28)?,
        33 => xdr.skip_opaque()?,
        8 | 36 | 44 | 45 | 66 | 67 => xdr.skip(16)?,
        39 => {
            xdr.skip(8)?;
            xdr.skip_opaque()?;
        }
        49 => {
            xdr.skip(36)?;
            for bytes in [8, 12] {
                if xdr.flag()? {
                    xdr.skip(bytes)?;
                }
            }
            xdr.skip(4)?;
            xdr.skip_opaque()?;
        }
        50 => xdr.skip(56)?,
        51 => {
            xdr.skip(12)?;
            if xdr.u32()? == 1 {
                xdr.skip(32)?;
                xdr.skip_opaque()?;
            }
        }
        53 => xdr.skip(32)?,
        55 => {
            let states = xdr.u32()? as usize;
            xdr.skip(states.checked_mul(16)?)?;
        }
        63 => {
            xdr.skip(32)?;
            xdr.bitmap()?;
        }
        _ => return Some(false),
    }
    Some(true)
}

/// CREATE (RFC 8881 18.4).
fn create(xdr: &mut Xdr<'_>) -> Option<Step> {
    let kind = xdr.u32()?;
    match kind {
        5 => xdr.skip_opaque()?,
        3 | 4 => xdr.skip(8)?,
        _ => {}
    }
    let name = place::name(xdr)?;
    xdr.bitmap()?;
    xdr.skip_opaque()?;
    Some(Step::Create { name, directory: kind == 2 })
}

/// LOCK (RFC 8881 18.10).
fn lock(xdr: &mut Xdr<'_>) -> Option<Step> {
    xdr.skip(24)?;
    if xdr.flag()? {
        // Sequence, state, sequence, client; owner.
        xdr.skip(32)?;
        xdr.skip_opaque()?;
    } else {
        xdr.skip(20)?;
    }
    Some(Step::Lock { release: false })
}

/// OPEN (RFC 8881 18.16).
fn open(xdr: &mut Xdr<'_>) -> Option<(Step, bool)> {
    xdr.skip(4)?;
    let write = xdr.u32()? & 2 != 0;
    xdr.skip(12)?;
    xdr.skip_opaque()?;
    let create = if xdr.u32()? == 1 {
        match xdr.u32()? {
            0 => Create::Unchecked { emptied: set_attributes(xdr)?.0 == Some(0) },
            1 => {
                set_attributes(xdr)?;
                Create::Always
            }
            2 => {
                xdr.skip(8)?;
                Create::Always
            }
            3 => {
                xdr.skip(8)?;
                set_attributes(xdr)?;
                Create::Always
            }
            _ => return None,
        }
    } else {
        Create::Never
    };
    let name = match xdr.u32()? {
        0 | 3 => Some(place::name(xdr)?),
        1 => {
            xdr.skip(4)?;
            None
        }
        2 => {
            xdr.skip(16)?;
            Some(place::name(xdr)?)
        }
        4 | 6 => None,
        5 => {
            xdr.skip(16)?;
            None
        }
        _ => return None,
    };
    Some((Step::Open(Open { name, write, create }), true))
}

/// The size among attributes that are set, and whether the message continues after them.
fn set_attributes(xdr: &mut Xdr<'_>) -> Option<(Option<u64>, bool)> {
    let bits = xdr.bitmap()?;
    let mut rest = *xdr;
    rest.u32()?;
    // Size is the first attribute that can be set (RFC 8881 5.8).
    let size = if bits & 1 << 4 != 0 { Some(rest.u64()?) } else { None };
    let whole = xdr.skip_opaque().is_some();
    Some((size, whole))
}
