//! Results of NFS version 4 (RFC 8881 18, RFC 7862 15).

use super::super::place;
use super::super::xdr::Xdr;
use crate::input::recorder::Recorder;

/// Most results that are read.
const MAX_RESULTS: u32 = 256;
/// Most entries of a listing that are read.
const MAX_ENTRIES: usize = 65_536;

/// The results of a compound.
#[derive(Debug)]
pub(super) struct Results {
    /// The status of the last one.
    pub(super) status: u32,
    pub(super) steps: Vec<StepResult>,
    /// All were read.
    pub(super) whole: bool,
}

/// The result of one step.
#[derive(Debug)]
pub(super) struct StepResult {
    pub(super) code: u32,
    pub(super) status: u32,
    pub(super) facts: Facts,
}

/// What is needed of a result.
#[derive(Debug)]
pub(super) enum Facts {
    None,
    Handle(Vec<u8>),
    Attributes(Attributes),
    /// Of READ and WRITE.
    Bytes(u32),
    Opened(Opened),
    Entries(Vec<Listed>),
}

#[derive(Debug)]
pub(super) struct Opened {
    pub(super) directory_changed: bool,
}

/// An entry of READDIR.
#[derive(Debug)]
pub(super) struct Listed {
    pub(super) name: Box<[u8]>,
    pub(super) attributes: Attributes,
}

/// Attributes, as far as they are needed.
#[derive(Debug, Default, Clone)]
pub(super) struct Attributes {
    pub(super) directory: bool,
    pub(super) size: Option<u64>,
    pub(super) handle: Option<Vec<u8>>,
}

impl Attributes {
    pub(super) fn note(&self, file: u32, recorder: &mut Recorder) {
        if self.directory {
            recorder.directory(file);
        }
        if let Some(size) = self.size {
            recorder.size(file, size);
        }
    }
}

/// Reads a reply. None where it ends before the number of its results.
pub(super) fn read(xdr: &mut Xdr<'_>) -> Option<Results> {
    let status = xdr.u32()?;
    xdr.skip_opaque()?;
    let count = xdr.u32()?;
    let mut results = Vec::new();
    let mut whole = count <= MAX_RESULTS;
    for _ in 0..count.min(MAX_RESULTS) {
        let (Some(code), Some(status)) = (xdr.u32(), xdr.u32()) else {
            whole = false;
            break;
        };
        // Errors end the compound; what they carry is not needed.
        let (facts, goes_on) = if status == 0 { facts(code, xdr) } else { (Facts::None, true) };
        results.push(StepResult { code, status, facts });
        if !goes_on {
            whole = results.len() == count as usize;
            break;
        }
    }
    Some(Results { status, steps: results, whole })
}

/// Whether a step has another current file afterwards.
pub(super) fn moves(code: u32) -> bool {
    matches!(code, 6 | 15 | 16 | 18 | 22 | 23 | 24 | 31)
}

/// What a result shows, and whether the next one can be read.
fn facts(code: u32, xdr: &mut Xdr<'_>) -> (Facts, bool) {
    let mut facts = Facts::None;
    let end = read_facts(code, xdr, &mut facts);
    (facts, end.is_some())
}

fn read_facts(code: u32, xdr: &mut Xdr<'_>, facts: &mut Facts) -> Option<()> {
    match code {
        7 | 8 | 13 | 15..=17 | 19 | 22..=24 | 30..=32 | 36 | 37 | 39 | 44 | 45 | 57..=59 | 62 | 66 | 71 => {}
        3 | 5 => xdr.skip(8)?,
        4 | 12 | 14 | 20 | 21 | 35 => xdr.skip(16)?,
        6 => {
            xdr.skip(20)?;
            xdr.bitmap()?;
        }
        9 => *facts = Facts::Attributes(attributes(xdr)?),
        10 => *facts = Facts::Handle(place::handle(xdr)?.to_vec()),
        11 | 28 | 73 | 75 => xdr.skip(20)?,
        18 => open(xdr, facts)?,
        25 => {
            xdr.u32()?;
            let mut data = *xdr;
            *facts = Facts::Bytes(xdr.u32()?);
            data.skip_opaque()?;
            *xdr = data;
        }
        26 => list(xdr, facts)?,
        27 | 72 => xdr.skip_opaque()?,
        29 => xdr.skip(40)?,
        33 | 52 => flavors(xdr)?,
        38 => {
            *facts = Facts::Bytes(xdr.u32()?);
            xdr.skip(12)?;
        }
        41 => xdr.skip(24)?,
        49 => {
            if xdr.flag()? {
                xdr.skip(8)?;
            }
        }
        50 => {
            xdr.skip(20)?;
            for _ in 0..xdr.u32()? {
                xdr.skip(24)?;
                xdr.skip_opaque()?;
            }
        }
        51 => {
            if xdr.flag()? {
                xdr.skip(16)?;
            }
        }
        53 => xdr.skip(36)?,
        55 => {
            let states = xdr.u32()? as usize;
            xdr.skip(states.checked_mul(4)?)?;
        }
        34 | 63 => {
            xdr.bitmap()?;
        }
        68 => read_plus(xdr, facts)?,
        69 => xdr.skip(12)?,
        _ => return None,
    }
    Some(())
}

/// OPEN (RFC 8881 18.16).
fn open(xdr: &mut Xdr<'_>, facts: &mut Facts) -> Option<()> {
    xdr.skip(20)?;
    let before = xdr.u64()?;
    let after = xdr.u64()?;
    *facts = Facts::Opened(Opened { directory_changed: before != after });
    xdr.skip(4)?;
    xdr.bitmap()?;
    match xdr.u32()? {
        0 => {}
        // READ and WRITE, and those with attributes (RFC 9754 4).
        kind @ (1 | 2 | 4 | 5) => {
            xdr.skip(20)?;
            if matches!(kind, 2 | 5) {
                xdr.skip(12)?;
            }
            xdr.skip(12)?;
            xdr.skip_opaque()?;
        }
        3 => {
            if matches!(xdr.u32()?, 1 | 2) {
                xdr.skip(4)?;
            }
        }
        _ => return None,
    }
    Some(())
}

/// READDIR: the entries until the message ends.
fn list(xdr: &mut Xdr<'_>, facts: &mut Facts) -> Option<()> {
    xdr.skip(8)?;
    let mut entries = Vec::new();
    let end = list_entries(xdr, &mut entries);
    *facts = Facts::Entries(entries);
    end?;
    xdr.skip(4)
}

fn list_entries(xdr: &mut Xdr<'_>, entries: &mut Vec<Listed>) -> Option<()> {
    while xdr.flag()? {
        if entries.len() >= MAX_ENTRIES {
            return None;
        }
        xdr.skip(8)?;
        let name = place::name(xdr)?;
        let attributes = attributes(xdr)?;
        entries.push(Listed { name, attributes });
    }
    Some(())
}

/// `READ_PLUS` (RFC 7862 15.10): data and holes.
fn read_plus(xdr: &mut Xdr<'_>, facts: &mut Facts) -> Option<()> {
    xdr.u32()?;
    let mut bytes = 0_u64;
    for _ in 0..xdr.u32()? {
        let kind = xdr.u32()?;
        xdr.skip(8)?;
        let mut data = *xdr;
        let len = if kind == 0 { u64::from(xdr.u32()?) } else { xdr.u64()? };
        bytes = bytes.saturating_add(len);
        *facts = Facts::Bytes(u32::try_from(bytes).unwrap_or(u32::MAX));
        if kind == 0 {
            data.skip_opaque()?;
            *xdr = data;
        }
    }
    Some(())
}

/// SECINFO (RFC 8881 18.29).
fn flavors(xdr: &mut Xdr<'_>) -> Option<()> {
    for _ in 0..xdr.u32()? {
        if xdr.u32()? == 6 {
            xdr.skip_opaque()?;
            xdr.skip(8)?;
        }
    }
    Some(())
}

/// `fattr4` (RFC 8881 3.3.7): attributes stand in the order of their numbers.
fn attributes(xdr: &mut Xdr<'_>) -> Option<Attributes> {
    let bits = xdr.bitmap()?;
    let mut values = Xdr(xdr.opaque(usize::MAX)?);
    let mut attributes = Attributes::default();
    // What cannot be read is left out: the list itself continues after it.
    let _ = read_attributes(bits, &mut values, &mut attributes);
    Some(attributes)
}

fn read_attributes(bits: u128, values: &mut Xdr<'_>, attributes: &mut Attributes) -> Option<()> {
    for number in 0..=19 {
        if bits & 1 << number == 0 {
            continue;
        }
        match number {
            0 => {
                values.bitmap()?;
            }
            1 => attributes.directory = values.u32()? == 2,
            4 => attributes.size = Some(values.u64()?),
            3 => values.skip(8)?,
            8 => values.skip(16)?,
            12 => {
                for _ in 0..values.u32()? {
                    values.skip(12)?;
                    values.skip_opaque()?;
                }
            }
            19 => attributes.handle = Some(place::handle(values)?.to_vec()),
            _ => values.skip(4)?,
        }
    }
    Some(())
}
