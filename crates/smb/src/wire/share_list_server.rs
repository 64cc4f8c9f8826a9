//! The server's side of [`share_list`](super::share_list): answers to packets on the pipe `srvsvc`.

use super::share_list::{
    BIND, BIND_ACK, DONE, FIRST, LAST, ListedShare, MAX_FRAGMENT, NDR, NDR_VERSION, NdrReader, PIPE, REQUEST,
    RESPONSE, SHARE_ENUM, SRVSVC, SRVSVC_VERSION, put_header, put_text,
};
use super::{Field, Reader, WireError};

/// Packet type: a call that failed in the protocol (C706 12.6.4.7).
const FAULT: u8 = 3;
/// `nca_s_op_rng_error`: the interface has no such operation (C706 E.1).
const UNKNOWN_OPERATION: u32 = 0x1C01_0002;
/// `ERROR_INVALID_LEVEL` (MS-ERREF 2.2).
const INVALID_LEVEL: u32 = 124;
/// Results of a presentation context: accepted, or rejected by the provider (C706 12.6.3.1).
const ACCEPTED: u16 = 0;
const REJECTED: u16 = 2;
/// Reasons of a rejection: abstract syntax, transfer syntaxes.
const UNKNOWN_INTERFACE: u16 = 1;
const UNKNOWN_TRANSFER_SYNTAX: u16 = 2;
/// Highest level that is answered.
const MAX_LEVEL: u32 = 2;
/// The only association group.
const GROUP: u32 = 1;

/// The answer to one packet of a client: to a bind, to `NetrShareEnum` with these shares, or a fault to another call.
///
/// The packet must be complete: a call in several fragments is an error, because the parameters of `NetrShareEnum` fit
/// into one. So does the answer as long as the list has some dozen shares.
pub fn answer(packet: &[u8], shares: &[ListedShare]) -> Result<Vec<u8>, WireError> {
    let mut reader = Reader::new(packet, "DCE/RPC packet");
    let [version, _, kind, flags]: [u8; 4] = reader.get()?;
    if version != 5 || flags & (FIRST | LAST) != FIRST | LAST {
        return Err(reader.bad("flags", u64::from(flags)));
    }
    // Data representation, lengths of the fragment and of its authentication.
    reader.take(8)?;
    let call: u32 = reader.get()?;
    match kind {
        BIND => bind_ack(call, &mut reader),
        REQUEST => {
            let _hint: u32 = reader.get()?;
            let context: u16 = reader.get()?;
            let operation: u16 = reader.get()?;
            if operation != SHARE_ENUM {
                let mut fault = Vec::new();
                UNKNOWN_OPERATION.put(&mut fault);
                0u32.put(&mut fault);
                return Ok(result(FAULT, call, context, &fault));
            }
            Ok(result(RESPONSE, call, context, &enumeration(reader.rest(), shares)?))
        }
        _ => Err(reader.bad("ptype", u64::from(kind))),
    }
}

/// A fault, or the response to a call, which have the same fields before their data.
fn result(kind: u8, call: u32, context: u16, data: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    put_header(kind, call, 8 + data.len(), &mut out);
    (data.len() as u32).put(&mut out);
    context.put(&mut out);
    // Number of cancellations, and a reserved byte.
    0u16.put(&mut out);
    out.extend_from_slice(data);
    out
}

/// Accepts the contexts with interface `srvsvc` and transfer syntax NDR (C706 12.6.4.4).
fn bind_ack(call: u32, reader: &mut Reader<'_>) -> Result<Vec<u8>, WireError> {
    // Fragment sizes and association group of the client.
    reader.take(8)?;
    let [contexts, ..]: [u8; 4] = reader.get()?;
    let mut body = Vec::new();
    MAX_FRAGMENT.put(&mut body);
    MAX_FRAGMENT.put(&mut body);
    GROUP.put(&mut body);
    let address = format!("\\PIPE\\{PIPE}\0");
    (address.len() as u16).put(&mut body);
    body.extend_from_slice(address.as_bytes());
    body.resize(body.len().next_multiple_of(4), 0);
    [contexts, 0, 0, 0].put(&mut body);
    for _ in 0..contexts {
        let _id: u16 = reader.get()?;
        let [syntaxes, _]: [u8; 2] = reader.get()?;
        let serves = syntax(reader)? == (SRVSVC, SRVSVC_VERSION);
        let mut knows_syntax = false;
        for _ in 0..syntaxes {
            knows_syntax |= syntax(reader)? == (NDR, NDR_VERSION);
        }
        if serves && knows_syntax {
            ACCEPTED.put(&mut body);
            0u16.put(&mut body);
            NDR.put(&mut body);
            NDR_VERSION.put(&mut body);
        } else {
            REJECTED.put(&mut body);
            (if serves { UNKNOWN_TRANSFER_SYNTAX } else { UNKNOWN_INTERFACE }).put(&mut body);
            [0; 20].put(&mut body);
        }
    }
    let mut out = Vec::new();
    put_header(BIND_ACK, call, body.len(), &mut out);
    out.append(&mut body);
    Ok(out)
}

fn syntax(reader: &mut Reader<'_>) -> Result<([u8; 16], u32), WireError> {
    Ok((reader.get()?, reader.get()?))
}

/// The fixed part of a share at a level, whose pointers are any numbers but 0 (MS-SRVS 2.2.4.22 to 2.2.4.24): name, then type and
/// comment, then rights, limit and number of users, path and password. Users and the path on the host stay unknown.
fn put_share(share: &ListedShare, level: u32, out: &mut Vec<u8>) {
    3u32.put(out);
    if level >= 1 {
        share.kind.put(out);
        4u32.put(out);
    }
    if level >= 2 {
        for word in [0, u32::MAX, 0, 5, 0] {
            word.put(out);
        }
    }
}

/// The result of `NetrShareEnum` (MS-SRVS 3.1.4.8) at the levels up to [`MAX_LEVEL`].
fn enumeration(stub: &[u8], shares: &[ListedShare]) -> Result<Vec<u8>, WireError> {
    let mut parameters = NdrReader::new(stub);
    if parameters.word()? != 0 {
        parameters.text()?;
    }
    let level = parameters.word()?;
    let mut out = Vec::new();
    level.put(&mut out);
    level.put(&mut out);
    if level > MAX_LEVEL {
        for word in [0, 0, 0, INVALID_LEVEL] {
            word.put(&mut out);
        }
        return Ok(out);
    }
    let count = shares.len() as u32;
    // Pointers to the container and to its array, with the size of the array. Any other number than 0 is a pointer.
    for word in [1, count, 2, count] {
        word.put(&mut out);
    }
    for share in shares {
        put_share(share, level, &mut out);
    }
    for share in shares {
        for text in [&*share.name, &*share.comment, ""].iter().take(level as usize + 1) {
            put_text(text, &mut out);
        }
    }
    // TotalEntries, and no ResumeHandle.
    for word in [count, 0, DONE] {
        word.put(&mut out);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::share_list::{Fragment, bind, check_bind_ack, share_enum, shares};
    use super::*;

    fn listed() -> Vec<ListedShare> {
        let share = |name: &str, kind| ListedShare { name: name.into(), kind, comment: "ü".into() };
        vec![share("share", 0), share("IPC$", 0x8000_0003)]
    }

    /// Offset of the results of contexts in the answer to a bind.
    const RESULTS: usize = 16 + 8 + 16 + 4;

    #[test]
    fn the_client_lists_the_shares_of_the_server() {
        let bound = answer(&bind(), &listed()).unwrap();
        assert_eq!(check_bind_ack(&bound), Ok(()));
        assert_eq!((bound.len(), bound[RESULTS], bound[RESULTS + 4]), (RESULTS + 24, 0, NDR[0]));
        for expected in [listed(), Vec::new()] {
            let response = answer(&share_enum("nas"), &expected).unwrap();
            let fragment = Fragment::decode(&response).unwrap().unwrap();
            assert!(fragment.last && fragment.len == response.len());
            assert_eq!(shares(fragment.stub), Ok(expected));
        }
    }

    #[test]
    fn another_interface_transfer_syntax_operation_and_level_are_rejected() {
        // The first byte of the interface, and that of the transfer syntax.
        for (at, reason) in [(32, 1), (52, 2)] {
            let mut other = bind();
            other[at] ^= 1;
            let rejected = answer(&other, &listed()).unwrap();
            assert_eq!(rejected[RESULTS..RESULTS + 4], [2, 0, reason, 0]);
        }
        let mut call = share_enum("nas");
        call[22] = 16;
        assert_eq!(answer(&call, &listed()).unwrap()[2], FAULT);
        let mut call = share_enum("nas");
        call[52] = 3;
        let response = answer(&call, &listed()).unwrap();
        assert_eq!(response[response.len() - 4..], 124u32.to_le_bytes());
    }

    /// The parts of the answer at each level, as words of four bytes and the texts after them.
    #[test]
    fn shares_are_listed_at_levels_0_to_2() {
        const DISK: u32 = 0;
        const PIPES: u32 = 0x8000_0003;
        let fixed: [&[u32]; 3] = [
            &[3, 3],
            &[3, DISK, 4, 3, PIPES, 4],
            &[3, DISK, 4, 0, u32::MAX, 0, 5, 0, 3, PIPES, 4, 0, u32::MAX, 0, 5, 0],
        ];
        for (level, fixed) in (0u32..).zip(fixed) {
            let mut call = share_enum("nas");
            call[52] = level as u8;
            call[56] = level as u8;
            let response = answer(&call, &listed()).unwrap();
            let mut expected = Vec::new();
            for word in [&[level, level, 1, 2, 2, 2][..], fixed].concat() {
                word.put(&mut expected);
            }
            for name in ["share", "IPC$"] {
                for text in [name, "ü", ""].iter().take(level as usize + 1) {
                    put_text(text, &mut expected);
                }
            }
            for word in [2, 0, DONE] {
                word.put(&mut expected);
            }
            assert_eq!(response[24..], expected, "level {level}");
        }
    }

    #[test]
    fn incomplete_packets_are_errors() {
        for packet in [bind(), share_enum("nas")] {
            // Up to the level, which is the last parameter that is decoded.
            let needed = if packet[2] == BIND { packet.len() } else { 56 };
            assert!((0..needed).all(|len| answer(&packet[..len], &listed()).is_err()));
        }
        let mut fragment = bind();
        fragment[3] = FIRST;
        assert!(answer(&fragment, &listed()).is_err());
    }

    proptest! {
        #[test]
        fn garbage_causes_no_panic_and_a_bounded_answer(
            kind in prop::sample::select(vec![BIND, REQUEST]),
            bytes in prop::collection::vec(prop_oneof![3 => Just(0u8), 2 => Just(1u8), 1 => any::<u8>()], 0..300),
        ) {
            let packet = [&[5, 0, kind, FIRST | LAST][..], &bytes].concat();
            let len = answer(&packet, &listed()).map_or(0, |answer| answer.len());
            prop_assert!(len <= packet.len() + 256);
            let _ = answer(&bytes, &listed());
        }
    }
}
