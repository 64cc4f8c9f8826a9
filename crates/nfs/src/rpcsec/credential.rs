//! The credential of a call (RFC 2203 5).

use crate::rpc::MAX_AUTH_BYTES;
use crate::xdr::{Reader, Writer, XdrError, padding};

use super::init::MAX_HANDLE_BYTES;

/// The flavor `RPCSEC_GSS` (RFC 2203 5).
pub const GSS_FLAVOR: u32 = 6;
/// Sequence numbers are below this value (RFC 2203 5.3.3.1).
pub const MAX_SEQUENCE: u32 = 0x8000_0000;
const VERSION: u32 = 1;

/// What a call does with its context (RFC 2203 5: `rpc_gss_proc_t`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GssProcedure {
    /// A call of the program.
    Data,
    /// The first token of a new context.
    Init,
    /// A further token.
    ContinueInit,
    /// The end of the context.
    Destroy,
}

impl GssProcedure {
    const fn number(self) -> u32 {
        match self {
            Self::Data => 0,
            Self::Init => 1,
            Self::ContinueInit => 2,
            Self::Destroy => 3,
        }
    }

    fn of_number(value: u32) -> Result<Self, XdrError> {
        let all = [Self::Data, Self::Init, Self::ContinueInit, Self::Destroy];
        let found = all.into_iter().find(|procedure| procedure.number() == value);
        found.ok_or(XdrError::BadValue { field: "RPCSEC_GSS procedure", value })
    }
}

/// A credential (RFC 2203 5: `rpc_gss_cred_t`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GssCredential<'a> {
    /// What the call does.
    pub procedure: GssProcedure,
    /// Sequence number; 0 while a context is established.
    pub sequence: u32,
    /// Number of the service ([`super::Service::of_number`]).
    pub service: u32,
    /// The context, as the server named it.
    pub handle: &'a [u8],
}

impl<'a> GssCredential<'a> {
    /// Decodes the body of a credential.
    pub fn get(body: &'a [u8]) -> Result<Self, XdrError> {
        let mut reader = Reader::new(body);
        match reader.u32()? {
            VERSION => {}
            value => return Err(XdrError::BadValue { field: "RPCSEC_GSS version", value }),
        }
        let procedure = GssProcedure::of_number(reader.u32()?)?;
        let sequence = reader.u32()?;
        let service = reader.u32()?;
        let handle = reader.opaque("context handle", MAX_HANDLE_BYTES)?;
        Ok(Self { procedure, sequence, service, handle })
    }

    /// Encodes flavor and body.
    pub fn put(&self, writer: &mut Writer) {
        let handle = &self.handle[..self.handle.len().min(MAX_HANDLE_BYTES)];
        let body = 5 * 4 + handle.len() + padding(handle.len());
        debug_assert!(body <= MAX_AUTH_BYTES);
        writer.words(&[
            GSS_FLAVOR,
            body as u32,
            VERSION,
            self.procedure.number(),
            self.sequence,
            self.service,
        ]);
        writer.opaque(handle);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_round_trips_and_unknown_values_are_errors() {
        let credential =
            GssCredential { procedure: GssProcedure::Destroy, sequence: 9, service: 3, handle: b"seven b" };
        let mut writer = Writer::default();
        credential.put(&mut writer);
        let mut reader = Reader::new(writer.as_slice());
        assert_eq!(reader.u32(), Ok(GSS_FLAVOR));
        let body = reader.opaque("credential", MAX_AUTH_BYTES).unwrap();
        assert_eq!(GssCredential::get(body), Ok(credential));
        for at in [3, 7] {
            let mut wrong = body.to_vec();
            wrong[at] = 9;
            assert!(GssCredential::get(&wrong).is_err());
        }
        assert!((0..body.len()).all(|len| GssCredential::get(&body[..len]).is_err()));
    }
}
