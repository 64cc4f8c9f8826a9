//! SPNEGO tokens (RFC 4178 4.2) around one mechanism, NTLM or Kerberos.

use super::AuthError;
use super::der::{Der, element};
use super::message;

/// States of a negotiation (RFC 4178 4.2.2).
pub(super) const ACCEPT_COMPLETED: u8 = 0;
pub(super) const ACCEPT_INCOMPLETE: u8 = 1;
pub(super) const REJECT: u8 = 2;
/// As [`ACCEPT_INCOMPLETE`]; both sides have to sign the list of mechanisms.
pub(super) const REQUEST_MIC: u8 = 3;

const SEQUENCE: u8 = 0x30;
const OBJECT_ID: u8 = 0x06;
const OCTETS: u8 = 0x04;
const ENUMERATED: u8 = 0x0A;
const APPLICATION: u8 = 0x60;
const RESPONSE: u8 = 0xA1;
/// Context tags of `NegTokenInit` and `NegTokenResp`.
const FIELD: [u8; 4] = [0xA0, 0xA1, 0xA2, 0xA3];

/// 1.3.6.1.5.5.2
const SPNEGO: [u8; 6] = [0x2B, 6, 1, 5, 5, 2];
/// 1.3.6.1.4.1.311.2.2.10
const NTLM: [u8; 10] = [0x2B, 6, 1, 4, 1, 0x82, 0x37, 2, 2, 0x0A];
/// 1.3.6.1.4.1.311.2.2.30
const NEGOEX: [u8; 10] = [0x2B, 6, 1, 4, 1, 0x82, 0x37, 2, 2, 0x1E];
/// 1.2.840.113554.1.2.2
const KERBEROS: [u8; 9] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x12, 1, 2, 2];
/// 1.2.840.48018.1.2.2, which older Windows sends for Kerberos (MS-SPNG 2.2.1).
const MS_KERBEROS: [u8; 9] = [0x2A, 0x86, 0x48, 0x82, 0xF7, 0x12, 1, 2, 2];
/// 1.2.840.113554.1.2.2.3
const USER_TO_USER: [u8; 10] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x12, 1, 2, 2, 3];

/// A login mechanism that a server lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mechanism {
    Ntlm,
    Kerberos,
    KerberosUserToUser,
    NegoEx,
    Other,
}

impl Mechanism {
    fn from_object_id(object_id: &[u8]) -> Self {
        if object_id == NTLM {
            Self::Ntlm
        } else if object_id == KERBEROS || object_id == MS_KERBEROS {
            Self::Kerberos
        } else if object_id == USER_TO_USER {
            Self::KerberosUserToUser
        } else if object_id == NEGOEX {
            Self::NegoEx
        } else {
            Self::Other
        }
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Ntlm => "NTLM",
            Self::Kerberos => "Kerberos",
            Self::KerberosUserToUser => "Kerberos user to user",
            Self::NegoEx => "NegoEx",
            Self::Other => "another mechanism",
        }
    }
}

/// The mechanisms in the token of a NEGOTIATE response (`NegTokenInit2`, MS-SPNG 2.2.1), each once; empty if the server
/// sends no list.
pub(crate) fn listed_mechanisms(token: &[u8]) -> Result<Vec<Mechanism>, AuthError> {
    let mut listed = Vec::new();
    if token.is_empty() {
        return Ok(listed);
    }
    let mut outer = Der::new(Der::new(token).expect(APPLICATION, "NegTokenInit2")?);
    if outer.expect(OBJECT_ID, "SPNEGO")? != SPNEGO {
        return Err(AuthError::Malformed { what: "SPNEGO", len: token.len() });
    }
    let init = outer.expect(FIELD[0], "NegTokenInit2")?;
    let mut fields = Der::new(Der::new(init).expect(SEQUENCE, "NegTokenInit2")?);
    let list = fields.expect(FIELD[0], "mechTypes")?;
    let mut list = Der::new(Der::new(list).expect(SEQUENCE, "MechTypeList")?);
    while !list.is_empty() {
        let mechanism = Mechanism::from_object_id(list.expect(OBJECT_ID, "MechType")?);
        if !listed.contains(&mechanism) {
            listed.push(mechanism);
        }
    }
    Ok(listed)
}

/// The list of mechanisms as both sides sign it: `MechTypeList` with its tag.
pub(super) fn mech_list() -> Vec<u8> {
    element(SEQUENCE, &[&element(OBJECT_ID, &[&NTLM])])
}

/// The list of a client that accepts Kerberos only. Older Windows recognizes the second identifier only.
pub(super) fn kerberos_list() -> Vec<u8> {
    element(SEQUENCE, &[&element(OBJECT_ID, &[&KERBEROS]), &element(OBJECT_ID, &[&MS_KERBEROS])])
}

/// The mechanisms that a server lists in its NEGOTIATE response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerMechanisms {
    /// NTLM only.
    Ntlm,
    /// Kerberos only.
    Kerberos,
    /// Kerberos, then NTLM.
    Both,
}

/// The token of a NEGOTIATE response (`NegTokenInit2`, MS-SPNG 2.2.1).
pub(super) fn hint(mechanisms: ServerMechanisms) -> Vec<u8> {
    let [ms_kerberos, kerberos, ntlm] =
        [&MS_KERBEROS[..], &KERBEROS, &NTLM].map(|id| element(OBJECT_ID, &[id]));
    let list = match mechanisms {
        ServerMechanisms::Ntlm => mech_list(),
        ServerMechanisms::Kerberos => element(SEQUENCE, &[&ms_kerberos, &kerberos]),
        ServerMechanisms::Both => element(SEQUENCE, &[&ms_kerberos, &kerberos, &ntlm]),
    };
    let mechs = element(FIELD[0], &[&list]);
    let init = element(FIELD[0], &[&element(SEQUENCE, &[&mechs])]);
    element(APPLICATION, &[&element(OBJECT_ID, &[&SPNEGO]), &init])
}

/// A server's answer in this state, which chooses NTLM unless the login is complete.
pub(super) fn answer(state: u8, token: Option<&[u8]>, mic: Option<&[u8]>) -> Vec<u8> {
    let field = |tag: u8, content: Option<&[u8]>| {
        content.map_or_else(Vec::new, |content| element(tag, &[&element(OCTETS, &[content])]))
    };
    let chosen = if state == ACCEPT_COMPLETED {
        Vec::new()
    } else {
        element(FIELD[1], &[&element(OBJECT_ID, &[&NTLM])])
    };
    let state = element(FIELD[0], &[&element(ENUMERATED, &[&[state]])]);
    let fields = [&state[..], &chosen, &field(FIELD[2], token), &field(FIELD[3], mic)];
    element(RESPONSE, &[&element(SEQUENCE, &fields)])
}

/// The server's answer that completes a login with Kerberos. It has no signature over the list of mechanisms, because the
/// client's first mechanism was chosen, and a signature would have to be answered (RFC 4178 5).
pub(super) fn accept_kerberos(mechanism: &[u8], token: &[u8]) -> Vec<u8> {
    let state = element(FIELD[0], &[&element(ENUMERATED, &[&[ACCEPT_COMPLETED]])]);
    let chosen = element(FIELD[1], &[&element(OBJECT_ID, &[mechanism])]);
    let token = element(FIELD[2], &[&element(OCTETS, &[token])]);
    element(RESPONSE, &[&element(SEQUENCE, &[&state, &chosen, &token])])
}

/// The first token of a client whose first mechanism is Kerberos.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KerberosInit<'a> {
    /// Identifier of Kerberos, as the client wrote it.
    pub(super) mechanism: &'a [u8],
    pub(super) token: &'a [u8],
}

impl<'a> KerberosInit<'a> {
    /// None for every other token, which another mechanism has to judge.
    pub(super) fn parse(bytes: &'a [u8]) -> Option<Self> {
        let mut outer = Der::new(Der::new(bytes).expect(APPLICATION, "NegTokenInit").ok()?);
        if outer.expect(OBJECT_ID, "SPNEGO").ok()? != SPNEGO {
            return None;
        }
        let init = outer.expect(FIELD[0], "NegTokenInit").ok()?;
        let mut fields = Der::new(Der::new(init).expect(SEQUENCE, "NegTokenInit").ok()?);
        let mechanisms = fields.expect(FIELD[0], "mechTypes").ok()?;
        let mut list = Der::new(Der::new(mechanisms).expect(SEQUENCE, "MechTypeList").ok()?);
        let mechanism = list.expect(OBJECT_ID, "MechType").ok()?;
        while !fields.is_empty() {
            let (tag, content) = fields.next("NegTokenInit field").ok()?;
            if tag == FIELD[2] && Mechanism::from_object_id(mechanism) == Mechanism::Kerberos {
                let token = Der::new(content).expect(OCTETS, "mechToken").ok()?;
                return Some(Self { mechanism, token });
            }
        }
        None
    }
}

/// A client's token as a server receives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClientToken<'a> {
    /// Plain NTLM.
    Bare(&'a [u8]),
    /// The first token (`NegTokenInit`, RFC 4178 4.2.1).
    Init {
        /// `MechTypeList` with its tag, as both sides sign it.
        mechanisms: &'a [u8],
        /// The token is for NTLM.
        ntlm_first: bool,
        token: Option<&'a [u8]>,
    },
    /// A further token (`NegTokenResp`, RFC 4178 4.2.2).
    Response { token: Option<&'a [u8]>, mic: Option<&'a [u8]> },
}

impl<'a> ClientToken<'a> {
    /// Decodes a token and rejects a list of mechanisms without NTLM.
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Self, AuthError> {
        if bytes.starts_with(&message::SIGNATURE) {
            return Ok(Self::Bare(bytes));
        }
        if bytes.first() != Some(&APPLICATION) {
            let response = Response::parse(bytes)?;
            return Ok(Self::Response { token: response.token, mic: response.mic });
        }
        let mut outer = Der::new(Der::new(bytes).expect(APPLICATION, "NegTokenInit")?);
        if outer.expect(OBJECT_ID, "SPNEGO")? != SPNEGO {
            return Err(AuthError::Malformed { what: "SPNEGO", len: bytes.len() });
        }
        let init = outer.expect(FIELD[0], "NegTokenInit")?;
        let mut fields = Der::new(Der::new(init).expect(SEQUENCE, "NegTokenInit")?);
        let mechanisms = fields.expect(FIELD[0], "mechTypes")?;
        let mut list = Der::new(Der::new(mechanisms).expect(SEQUENCE, "MechTypeList")?);
        let mut token = None;
        while !fields.is_empty() {
            let (tag, content) = fields.next("NegTokenInit field")?;
            if tag == FIELD[2] {
                token = Some(Der::new(content).expect(OCTETS, "mechToken")?);
            }
        }
        let ntlm_first = list.expect(OBJECT_ID, "MechType")? == NTLM;
        let mut listed = ntlm_first;
        while !list.is_empty() {
            listed |= list.expect(OBJECT_ID, "MechType")? == NTLM;
        }
        if !listed {
            return Err(AuthError::Mechanism);
        }
        Ok(Self::Init { mechanisms, ntlm_first, token })
    }
}

/// The client's first token, with its list of mechanisms.
pub(super) fn init(list: &[u8], token: &[u8]) -> Vec<u8> {
    let mechs = element(FIELD[0], &[list]);
    let token = element(FIELD[2], &[&element(OCTETS, &[token])]);
    let init = element(FIELD[0], &[&element(SEQUENCE, &[&mechs, &token])]);
    element(APPLICATION, &[&element(OBJECT_ID, &[&SPNEGO]), &init])
}

/// A later token of the client.
pub(super) fn response(token: Option<&[u8]>, mic: Option<&[u8]>) -> Vec<u8> {
    let field = |tag: u8, content: Option<&[u8]>| {
        content.map_or_else(Vec::new, |content| element(tag, &[&element(OCTETS, &[content])]))
    };
    let state = element(FIELD[0], &[&element(ENUMERATED, &[&[ACCEPT_INCOMPLETE]])]);
    let token = field(FIELD[2], token);
    let mic = field(FIELD[3], mic);
    element(RESPONSE, &[&element(SEQUENCE, &[&state, &token, &mic])])
}

/// The server's token (`NegTokenResp`, RFC 4178 4.2.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Response<'a> {
    pub(super) state: Option<u8>,
    /// The mechanism that the server chooses.
    pub(super) mechanism: Option<Mechanism>,
    pub(super) token: Option<&'a [u8]>,
    pub(super) mic: Option<&'a [u8]>,
}

impl<'a> Response<'a> {
    /// Decodes a token.
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Self, AuthError> {
        let outer = Der::new(bytes).expect(RESPONSE, "NegTokenResp")?;
        let mut fields = Der::new(Der::new(outer).expect(SEQUENCE, "NegTokenResp")?);
        let mut response = Self::default();
        while !fields.is_empty() {
            let (tag, content) = fields.next("NegTokenResp field")?;
            let mut value = Der::new(content);
            match FIELD.iter().position(|field| *field == tag) {
                Some(0) => match value.expect(ENUMERATED, "negState")? {
                    [state] => response.state = Some(*state),
                    other => return Err(AuthError::Malformed { what: "negState", len: other.len() }),
                },
                Some(1) => {
                    response.mechanism =
                        Some(Mechanism::from_object_id(value.expect(OBJECT_ID, "supportedMech")?));
                }
                Some(2) => response.token = Some(value.expect(OCTETS, "responseToken")?),
                Some(3) => response.mic = Some(value.expect(OCTETS, "mechListMIC")?),
                _ => {}
            }
        }
        Ok(response)
    }

    /// Decodes the server's token to a client that wants NTLM.
    pub(super) fn for_ntlm(bytes: &'a [u8]) -> Result<Self, AuthError> {
        let response = Self::parse(bytes)?;
        match response.mechanism {
            None | Some(Mechanism::Ntlm) => Ok(response),
            Some(_) => Err(AuthError::Mechanism),
        }
    }
}
