//! Security flavors that a server accepts where it rejects the flavor of the URL: `SECINFO` and `SECINFO_NO_NAME`.

use sharebench_client_core::DialError;
use sharebench_model::OpError;

use crate::client::v4::compound::Results;
use crate::client::v4::requests::Request;
use crate::client::v4::session::Nfs4Session;
use crate::incompatibility::Incompatibility;
use crate::v4::data::FileHandle4;
use crate::v4::item::Opaque;
use crate::v4::names::{Lookup, SecInfoNoName, SecurityFlavor, SecurityFlavors};
use crate::v4::operation::Operation;
use crate::v4::status::Nfs4Status;

/// The style of `SECINFO_NO_NAME` for the current handle (RFC 8881, 18.45.1).
const CURRENT_HANDLE: u32 = 0;

impl Nfs4Session {
    /// The error of a call about a handle, or about the pseudo root: with the flavors that the server accepts there, if it
    /// rejects that of the URL.
    pub(crate) async fn explain_handle(
        &mut self,
        handle: Option<FileHandle4>,
        error: DialError,
    ) -> DialError {
        // Minor version 0 has no operation for it.
        if self.last_status() != Some(Nfs4Status::Wrongsec) || self.minor == 0 {
            return error;
        }
        let flavors = self.flavors_of_handle(handle).await;
        self.other_flavors(flavors, error)
    }

    /// The error of a rejected flavor: with those that the server accepts, if it has named any.
    pub(crate) fn other_flavors(&self, flavors: Result<Vec<u32>, OpError>, error: DialError) -> DialError {
        let Ok(flavors) = flavors else { return error };
        if flavors.is_empty() {
            return error;
        }
        let export = format!("/{}", self.options.path.trim_matches('/'));
        let selected = self.options.flavor();
        if flavors.contains(&selected) {
            // It accepts these credentials, but not over this connection.
            let xprtsec = if self.channel.has_tls() { "mtls" } else { "tls" };
            return Incompatibility::NeedsTls { export, xprtsec }.into();
        }
        Incompatibility::Flavors { export, selected, flavors }.into()
    }

    /// `SECINFO` (RFC 7530, 16.31): the flavors that a name accepts.
    pub(crate) async fn flavors_of_name(
        &mut self,
        parent: &FileHandle4,
        name: &str,
    ) -> Result<Vec<u32>, OpError> {
        let mut results = self
            .request(Request::reading(Operation::SecInfo), |compound, _| {
                compound
                    .handle(parent)
                    .operation(Operation::SecInfo, &Lookup { name: Opaque(name.as_bytes()) });
            })
            .await?;
        results.done(Operation::PutFh)?;
        flavors(&mut results, Operation::SecInfo)
    }

    /// `SECINFO_NO_NAME` (RFC 8881, 18.45). A server does not reject the flavor of PUTFH or PUTROOTFH before it (2.6.3.1).
    async fn flavors_of_handle(&mut self, handle: Option<FileHandle4>) -> Result<Vec<u32>, OpError> {
        let put = if handle.is_some() { Operation::PutFh } else { Operation::PutRootFh };
        let mut results = self
            .request(Request::reading(Operation::SecInfoNoName), |compound, _| {
                match &handle {
                    Some(handle) => compound.handle(handle),
                    None => compound.plain(put),
                }
                .operation(Operation::SecInfoNoName, &SecInfoNoName { style: CURRENT_HANDLE });
            })
            .await?;
        results.done(put)?;
        flavors(&mut results, Operation::SecInfoNoName)
    }
}

fn flavors(results: &mut Results<'_>, operation: Operation) -> Result<Vec<u32>, OpError> {
    let SecurityFlavors { flavors } = results.get(operation)?;
    let number = |flavor| match flavor {
        SecurityFlavor::Rpc(flavor) => flavor,
        // The pseudo flavors of RFC 2623, 2.2: none, integrity, privacy.
        SecurityFlavor::Gss(mechanism) => 390_002 + mechanism.service,
    };
    Ok(flavors.iter().map(number).collect())
}
