//! ONC RPC version 2 (RFC 5531): call and reply headers, credentials `AUTH_NONE` and `AUTH_SYS`.

use crate::xdr::{Reader, Writer, XdrError};

/// Largest body of a credential or verifier (RFC 5531, 8.2).
pub const MAX_AUTH_BYTES: usize = 400;

/// Largest number of groups in `AUTH_SYS` (RFC 5531, appendix A).
pub const MAX_GROUPS: usize = 16;

const CALL: u32 = 0;
const REPLY: u32 = 1;
const RPC_VERSION: u32 = 2;
/// No credential, or no verifier.
pub const AUTH_NONE: u32 = 0;
/// User and groups by number, which nothing proves.
pub const AUTH_SYS: u32 = 1;
/// Flavor of the call that requests TLS (RFC 9289, 4.1).
pub const AUTH_TLS: u32 = 7;
/// Verifier of the reply with which a server begins TLS (RFC 9289, 4.1).
pub const STARTTLS: &[u8] = b"STARTTLS";

/// Identity of the caller in `AUTH_SYS` (RFC 5531, appendix A).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AuthSys {
    /// Name of the calling machine, at most 255 bytes.
    pub machine: String,
    /// Effective user.
    pub uid: u32,
    /// Effective group.
    pub gid: u32,
    /// Further groups; those above [`MAX_GROUPS`] are left out.
    pub groups: Vec<u32>,
}

impl AuthSys {
    fn put(&self, writer: &mut Writer) {
        let machine = &self.machine.as_bytes()[..self.machine.len().min(255)];
        // AUTH_SYS has space for 16 groups. A longer list would be rejected as a whole.
        let groups = &self.groups[..self.groups.len().min(MAX_GROUPS)];
        let body = 4 + 4 + machine.len().next_multiple_of(4) + 8 + 4 + 4 * groups.len();
        writer.u32(AUTH_SYS);
        writer.u32(body as u32);
        // The stamp has no meaning.
        writer.u32(0);
        writer.opaque(machine);
        writer.u32(self.uid);
        writer.u32(self.gid);
        writer.u32(groups.len() as u32);
        for group in groups {
            writer.u32(*group);
        }
    }
}

/// Header of a call, decoded by a server (RFC 5531, 9: `call_body`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallHeader {
    /// Identifier that matches the reply with its call.
    pub xid: u32,
    /// Program number.
    pub program: u32,
    /// Program version.
    pub version: u32,
    /// Procedure of the program.
    pub procedure: u32,
    /// Flavor of the credential.
    pub flavor: u32,
}

/// Why a call cannot be dispatched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// Not a call, or truncated, so that no reply is possible.
    #[error("not an RPC call: {0}")]
    Garbage(#[from] XdrError),
    /// An RPC version other than 2, which the server must deny.
    #[error("call {xid:#010x} is RPC version {version}")]
    RpcVersion {
        /// Identifier that matches the reply with its call.
        xid: u32,
        /// Its version.
        version: u32,
    },
    /// A credential other than `AUTH_NONE` and `AUTH_SYS`, which the server must deny.
    #[error("call {xid:#010x} has credential flavor {flavor}")]
    Flavor {
        /// Identifier that matches the reply with its call.
        xid: u32,
        /// Its flavor.
        flavor: u32,
    },
}

impl CallHeader {
    /// Decodes a call's header and leaves `reader` at its arguments.
    #[inline]
    pub fn get(reader: &mut Reader<'_>) -> Result<Self, CallError> {
        let (header, _) = Self::get_with_credential(reader)?;
        let Self { xid, flavor, .. } = header;
        if flavor != AUTH_NONE && flavor != AUTH_SYS {
            return Err(CallError::Flavor { xid, flavor });
        }
        Ok(header)
    }

    /// Decodes the header of a call of any flavor, with the body of its credential: see [`get_auth_sys`] and
    /// [`crate::rpcsec::GssCredential`].
    #[inline]
    pub fn get_with_credential<'a>(reader: &mut Reader<'a>) -> Result<(Self, &'a [u8]), CallError> {
        let xid = reader.u32()?;
        match reader.u32()? {
            CALL => {}
            value => return Err(XdrError::BadValue { field: "message type", value }.into()),
        }
        match reader.u32()? {
            RPC_VERSION => {}
            version => return Err(CallError::RpcVersion { xid, version }),
        }
        let program = reader.u32()?;
        let version = reader.u32()?;
        let procedure = reader.u32()?;
        let flavor = reader.u32()?;
        let credential = reader.opaque("credential", MAX_AUTH_BYTES)?;
        reader.u32()?;
        reader.opaque("verifier", MAX_AUTH_BYTES)?;
        Ok((Self { xid, program, version, procedure, flavor }, credential))
    }
}

/// Decodes user and group of a credential `AUTH_SYS` (RFC 5531, appendix A: `authsys_parms`).
pub fn get_auth_sys(reader: &mut Reader<'_>) -> Result<(u32, u32), XdrError> {
    reader.u32()?;
    reader.opaque("machine name", 255)?;
    let identity = (reader.u32()?, reader.u32()?);
    let groups = reader.u32()?;
    if groups as usize > MAX_GROUPS {
        return Err(XdrError::TooLong { field: "groups", len: groups, max: MAX_GROUPS });
    }
    reader.take(4 * groups as usize)?;
    Ok(identity)
}

/// The header of every call of one program and credential, encoded once: everything between xid and arguments.
#[derive(Debug, Clone)]
pub struct CallTemplate {
    bytes: Vec<u8>,
}

impl CallTemplate {
    /// Prepares calls of `program` and `version` as `auth`, or with `AUTH_NONE`.
    pub fn new(program: u32, version: u32, auth: Option<&AuthSys>) -> Self {
        let mut writer = Writer::with_capacity(128);
        for word in [CALL, RPC_VERSION, program, version, 0] {
            writer.u32(word);
        }
        match auth {
            Some(auth) => auth.put(&mut writer),
            None => writer.u64(0),
        }
        // The verifier: AUTH_NONE, empty.
        writer.u64(0);
        Self { bytes: writer.as_slice().to_vec() }
    }

    /// Encodes the header of a call of `procedure`; the arguments follow.
    #[inline]
    pub fn put(&self, writer: &mut Writer, xid: u32, procedure: u32) {
        writer.u32(xid);
        // The procedure is the fifth word after the xid (message type, RPC version, program, version,
        // procedure), so its offset is fixed and a call is one copy and one patch.
        let at = writer.len() + 16;
        writer.raw(&self.bytes);
        writer.patch(at, procedure);
    }
}

/// Why a peer did not perform a call (RFC 5531, 9: `rejected_reply`, `accept_stat`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// The peer supports other versions of RPC.
    #[error("RPC_MISMATCH: RPC versions {low} to {high} only")]
    RpcMismatch {
        /// Lowest supported version.
        low: u32,
        /// Highest supported version.
        high: u32,
    },
    /// The peer rejects the credential.
    #[error("{}", auth_error_text(*.0))]
    Auth(u32),
    /// The peer does not serve the program.
    #[error("PROG_UNAVAIL")]
    ProgramUnavailable,
    /// The peer serves other versions of the program.
    #[error("PROG_MISMATCH: versions {low} to {high} only")]
    ProgramMismatch {
        /// Lowest served version.
        low: u32,
        /// Highest served version.
        high: u32,
    },
    /// The program has no such procedure.
    #[error("PROC_UNAVAIL")]
    ProcedureUnavailable,
    /// The peer could not decode the arguments.
    #[error("GARBAGE_ARGS")]
    GarbageArguments,
    /// The peer failed for another reason.
    #[error("SYSTEM_ERR")]
    System,
}

/// The meaning of a rejected credential (RFC 5531, 9: `auth_stat`).
fn auth_error_text(status: u32) -> String {
    let name = match status {
        1 => "AUTH_BADCRED: the server rejects the form of the credential",
        2 => "AUTH_REJECTEDCRED: the server requires a new session",
        5 => {
            "AUTH_TOOWEAK: the server does not accept this security flavor here: Kerberos only (sec=krb5, krb5i or \
             krb5p), TLS only (xprtsec=tls), or a port below 1024 (resvport=1)"
        }
        13 => "RPCSEC_GSS_CREDPROBLEM: the server does not know the security context (any more)",
        14 => "RPCSEC_GSS_CTXPROBLEM: the server rejects the security context",
        _ => return format!("AUTH_ERROR {status}"),
    };
    format!("{name} (AUTH_ERROR {status})")
}

impl Rejection {
    /// Encodes a complete reply to call `xid` with this rejection.
    pub fn put(self, writer: &mut Writer, xid: u32) {
        writer.u32(xid);
        writer.u32(REPLY);
        let words: &[u32] = match &self {
            Self::RpcMismatch { low, high } => &[1, 0, *low, *high],
            Self::Auth(status) => &[1, 1, *status],
            Self::ProgramUnavailable => &[0, 0, 0, 1],
            Self::ProgramMismatch { low, high } => &[0, 0, 0, 2, *low, *high],
            Self::ProcedureUnavailable => &[0, 0, 0, 3],
            Self::GarbageArguments => &[0, 0, 0, 4],
            Self::System => &[0, 0, 0, 5],
        };
        writer.words(words);
    }
}

/// Encodes the header of a successful reply; the results follow (RFC 5531, 9: `accepted_reply`).
#[inline]
pub fn put_success(writer: &mut Writer, xid: u32) {
    writer.u32(xid);
    writer.u32(REPLY);
    // MSG_ACCEPTED, an empty AUTH_NONE verifier, SUCCESS.
    writer.raw(&[0; 16]);
}

/// True if a record is a call, and not a reply (RFC 5531, 9: `msg_type`).
#[inline]
pub fn is_call(record: &[u8]) -> bool {
    record.get(4..8).is_some_and(|kind| kind == CALL.to_be_bytes())
}

/// True if a record is a reply.
#[inline]
pub fn is_reply(record: &[u8]) -> bool {
    record.get(4..8).is_some_and(|kind| kind == REPLY.to_be_bytes())
}

/// Decodes a reply's header (RFC 5531, 9: `reply_body`) and leaves `reader` at its results.
#[inline]
pub fn get_reply(reader: &mut Reader<'_>) -> Result<(u32, Result<(), Rejection>), XdrError> {
    let xid = reader.u32()?;
    match reader.u32()? {
        REPLY => {}
        value => return Err(XdrError::BadValue { field: "message type", value }),
    }
    let outcome = match reader.u32()? {
        0 => get_accepted(reader)?,
        1 => Err(get_denied(reader)?),
        value => return Err(XdrError::BadValue { field: "reply status", value }),
    };
    Ok((xid, outcome))
}

/// The verifier of an accepted reply (RFC 5531, 9: `opaque_auth`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplyVerifier<'a> {
    /// Its flavor.
    pub flavor: u32,
    /// Its body.
    pub body: &'a [u8],
}

/// The header of a reply with its verifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VerifiedReply<'a> {
    /// Identifier that matches the reply with its call.
    pub xid: u32,
    /// None in a reply that denies the call.
    pub verifier: Option<ReplyVerifier<'a>>,
    /// Whether the call was performed.
    pub outcome: Result<(), Rejection>,
}

impl<'a> VerifiedReply<'a> {
    /// As [`get_reply`], with the verifier.
    pub fn get(reader: &mut Reader<'a>) -> Result<Self, XdrError> {
        let mut head = *reader;
        let (xid, outcome) = get_reply(reader)?;
        let _ = head.u32()?;
        let _ = head.u32()?;
        let status = head.u32()?;
        let denied = status != 0;
        let verifier = if denied {
            None
        } else {
            Some(ReplyVerifier { flavor: head.u32()?, body: head.opaque("verifier", MAX_AUTH_BYTES)? })
        };
        Ok(Self { xid, verifier, outcome })
    }
}

fn get_accepted(reader: &mut Reader<'_>) -> Result<Result<(), Rejection>, XdrError> {
    reader.u32()?;
    reader.opaque("verifier", MAX_AUTH_BYTES)?;
    Ok(match reader.u32()? {
        0 => Ok(()),
        1 => Err(Rejection::ProgramUnavailable),
        2 => Err(Rejection::ProgramMismatch { low: reader.u32()?, high: reader.u32()? }),
        3 => Err(Rejection::ProcedureUnavailable),
        4 => Err(Rejection::GarbageArguments),
        5 => Err(Rejection::System),
        value => return Err(XdrError::BadValue { field: "accept status", value }),
    })
}

fn get_denied(reader: &mut Reader<'_>) -> Result<Rejection, XdrError> {
    Ok(match reader.u32()? {
        0 => Rejection::RpcMismatch { low: reader.u32()?, high: reader.u32()? },
        1 => Rejection::Auth(reader.u32()?),
        value => return Err(XdrError::BadValue { field: "reject status", value }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_header_has_the_layout_of_rfc_5531_section_9() {
        let auth = AuthSys { machine: "lab".into(), uid: 7, gid: 8, groups: vec![9] };
        let mut writer = Writer::default();
        CallTemplate::new(100_003, 3, Some(&auth)).put(&mut writer, 0x0102_0304, 6);
        let words: Vec<u32> =
            writer.as_slice().chunks(4).map(|word| u32::from_be_bytes(word.try_into().unwrap())).collect();
        let lab = u32::from_be_bytes(*b"lab\0");
        // xid, CALL, rpcvers, prog, vers, proc; AUTH_SYS, length, stamp, name, uid, gid, gids; AUTH_NONE.
        let expected = [0x0102_0304, 0, 2, 100_003, 3, 6, 1, 28, 0, 3, lab, 7, 8, 1, 9, 0, 0];
        assert_eq!(words, expected);
        let mut reader = Reader::new(writer.as_slice());
        let header = CallHeader::get(&mut reader).unwrap();
        assert_eq!((header.xid, header.procedure, header.flavor), (0x0102_0304, 6, AUTH_SYS));
        assert!(reader.rest().is_empty());
        let (again, credential) =
            CallHeader::get_with_credential(&mut Reader::new(writer.as_slice())).unwrap();
        assert_eq!((again, get_auth_sys(&mut Reader::new(credential))), (header, Ok((7, 8))));
    }

    #[test]
    fn every_rejection_round_trips() {
        for rejection in [
            Rejection::RpcMismatch { low: 2, high: 2 },
            Rejection::Auth(5),
            Rejection::ProgramUnavailable,
            Rejection::ProgramMismatch { low: 3, high: 4 },
            Rejection::ProcedureUnavailable,
            Rejection::GarbageArguments,
            Rejection::System,
        ] {
            let mut writer = Writer::default();
            rejection.put(&mut writer, 99);
            let reply = get_reply(&mut Reader::new(writer.as_slice()));
            assert_eq!(reply, Ok((99, Err(rejection))));
        }
    }

    #[test]
    fn a_rejected_credential_is_explained() {
        let weak = Rejection::Auth(5).to_string();
        assert!(weak.contains("Kerberos only") && weak.ends_with("(AUTH_ERROR 5)"), "{weak}");
        assert_eq!(Rejection::Auth(99).to_string(), "AUTH_ERROR 99");
    }

    #[test]
    fn a_success_is_24_bytes() {
        let mut writer = Writer::default();
        put_success(&mut writer, 5);
        assert_eq!(writer.len(), 24);
        assert_eq!(get_reply(&mut Reader::new(writer.as_slice())), Ok((5, Ok(()))));
    }

    #[test]
    fn other_rpc_versions_and_kerberos_are_distinguished_from_garbage() {
        let call = |version: u32, flavor: u32| {
            let mut writer = Writer::default();
            for word in [1, CALL, version, 100_003, 3, 0, flavor, 0, 0, 0] {
                writer.u32(word);
            }
            CallHeader::get(&mut Reader::new(writer.as_slice()))
        };
        assert_eq!(call(3, 0), Err(CallError::RpcVersion { xid: 1, version: 3 }));
        assert_eq!(call(2, 6), Err(CallError::Flavor { xid: 1, flavor: 6 }));
    }
}
