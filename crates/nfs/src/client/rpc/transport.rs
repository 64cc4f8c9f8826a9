//! How a connection becomes a TLS connection (RFC 9289).

use std::time::Duration;

use sharebench_client_core::DialError;
use sharebench_model::ErrorClass;
use sharebench_target::UrlPart;
use sharebench_tls::{ClientTls, Stream, TlsError};
use tokio::net::TcpStream;

use crate::client::options::Xprtsec;
use crate::client::rpc::dial::Service;
use crate::client::rpc::link::Link;
use crate::client::rpc::replies::undecodable;
use crate::protocol::{MOUNT_PROGRAM, MOUNT_VERSION, NFS_PROGRAM};
use crate::rpc::{AUTH_NONE, AUTH_TLS, CallTemplate, Rejection, STARTTLS, VerifiedReply};
use crate::xdr::{Reader, Writer};

/// The step in errors.
const REQUEST: &str = "AUTH_TLS probe";
const OPTION: UrlPart = UrlPart::Option("xprtsec");
/// Pause after the handshake with a server that names no protocol. One of them is NFS-Ganesha 15.2: a call that arrives too
/// soon may be lost, or answered by a second reply to the call that requested TLS (seen on 10 of 120 connections without a
/// pause, 2 of 360 with 2 ms, 0 of 360 with 10 ms).
const BEFORE_FIRST_CALL: Duration = Duration::from_millis(10);

/// How the connections of a URL with `xprtsec=tls` or `xprtsec=mtls` are protected.
#[derive(Debug, Clone)]
pub(crate) struct TlsRoute {
    /// What the URL requests.
    pub(crate) requested: Xprtsec,
    /// Whom the client trusts; none until the caller of the target configures it.
    pub(crate) tls: Option<ClientTls>,
    /// Host of the URL, which the certificate must be for.
    pub(crate) host: String,
    /// Program and version of the call that requests TLS.
    pub(crate) program: (u32, u32),
    /// A server without TLS is an error.
    pub(crate) required: bool,
}

impl TlsRoute {
    /// The route of a mount service. It may be another program than the NFS server, and few of them have TLS: it is then used
    /// without, because a handle gives access to nothing without the NFS server, whose connections are protected.
    pub(crate) fn of_mount(self, is_nfs_server: bool) -> Self {
        Self { program: (MOUNT_PROGRAM, MOUNT_VERSION), required: is_nfs_server, ..self }
    }

    /// The route of NFS calls of this version.
    pub(crate) fn of_nfs(requested: Xprtsec, host: &str, version: u32) -> Self {
        let program = (NFS_PROGRAM, version);
        Self { requested, tls: None, host: host.to_owned(), program, required: true }
    }

    /// Requests TLS on a new connection with a call of NULL, and performs the handshake (RFC 9289, 4.1).
    pub(crate) async fn protect(&self, tcp: TcpStream) -> Result<Link, DialError> {
        let Some(tls) = &self.tls else {
            return Err(unsupported("the certificates of trusted authorities are not configured"));
        };
        if self.requested == Xprtsec::Mtls && !tls.has_certificate() {
            return Err(unsupported(
                "xprtsec=mtls needs a certificate of the client (tls_cert and tls_key of --identity)",
            ));
        }
        let link = Link::Stream(Stream::Plain(tcp));
        let mut service = Service::on(link, CallTemplate::new(self.program.0, self.program.1, None));
        let offers = self.offers_tls(&mut service).await?;
        let (link, _) = service.into_link();
        match (offers, link) {
            (Ok(()), Link::Stream(Stream::Plain(tcp))) => {
                let stream = tls.connect(tcp, &self.host).await.map_err(|error| refused(&error))?;
                if stream.protocol().is_none() {
                    tokio::time::sleep(BEFORE_FIRST_CALL).await;
                }
                Ok(Link::Stream(Stream::Tls(Box::new(stream))))
            }
            (Err(_), link) if !self.required => Ok(link),
            (Err(answer), _) => Err(not_offered(&answer)),
            (Ok(()), link) => Ok(link),
        }
    }

    /// Sends the call. The inner result is an error if the server answers and has no TLS.
    async fn offers_tls(&self, service: &mut Service) -> Result<Result<(), String>, DialError> {
        let (program, version) = self.program;
        match probe(service, program, version).await? {
            // The server has the program in other versions only.
            Err(Rejection::ProgramMismatch { high, .. }) if high != version => {
                Ok(answered(probe(service, program, high).await?))
            }
            answer => Ok(answered(answer)),
        }
    }
}

/// The meaning of an answer.
fn answered(answer: Result<bool, Rejection>) -> Result<(), String> {
    match answer {
        Ok(true) => Ok(()),
        Ok(false) => Err("it answers the request without STARTTLS".to_owned()),
        Err(rejection) => Err(rejection.to_string()),
    }
}

/// Calls NULL with `AUTH_TLS`; true if the server expects the handshake.
async fn probe(
    service: &mut Service,
    program: u32,
    version: u32,
) -> Result<Result<bool, Rejection>, DialError> {
    let put = |writer: &mut Writer, xid| {
        writer.words(&[xid, 0, 2, program, version, 0, AUTH_TLS, 0, AUTH_NONE, 0]);
    };
    // A server may also close a connection whose flavor it does not know.
    let (xid, record) = service.exchange(REQUEST, put).await.map_err(|error| match error.class {
        ErrorClass::Disconnected => not_offered("it closes the connection"),
        _ => DialError::blame(OPTION)(error),
    })?;
    let broken = |error| DialError::blame(OPTION)(undecodable(error, REQUEST));
    let reply = VerifiedReply::get(&mut Reader::new(&record)).map_err(broken)?;
    if reply.xid != xid {
        let detail = format!("a reply to xid {:#010x}, which was not sent", reply.xid);
        return Err(DialError::new(OPTION, ErrorClass::Protocol, detail));
    }
    let verifier = reply.verifier;
    let starts =
        |()| verifier.is_some_and(|verifier| verifier.flavor == AUTH_NONE && verifier.body == STARTTLS);
    Ok(reply.outcome.map(starts))
}

fn unsupported(detail: &str) -> DialError {
    DialError::new(OPTION, ErrorClass::Unsupported, detail)
}

fn not_offered(answer: &str) -> DialError {
    unsupported(&format!(
        "the server does not offer TLS for RPC, or somebody on the way removes the offer; without TLS nothing is sent: {answer}"
    ))
}

fn refused(error: &TlsError) -> DialError {
    let class = match error {
        TlsError::Cut | TlsError::Connection(_) => ErrorClass::Disconnected,
        TlsError::Broken(_) => ErrorClass::Protocol,
        TlsError::Name { .. } | TlsError::Incompatible(_) => ErrorClass::Unsupported,
        _ => ErrorClass::Refused,
    };
    DialError::new(OPTION, class, error.to_string())
}
