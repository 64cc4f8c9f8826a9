//! What a server negotiates on a connection without a login.

use std::time::Duration;

use sharebench_target::SessionSpec;
use tokio::time::{Instant, timeout_at};

use crate::client::{BurstOptions, ClientError, ProbeResult};
use crate::security::level::Level;
use crate::target::options::NcpOptions;
use crate::target::setup::attach;
use crate::wire::TransportKind;
use crate::wire::negotiate::{AcceptedBurst, AcceptedPacketSize, OfferBurst, PacketSize, Security};
use crate::wire::{Codec, Completion};

/// First retransmission pause: shorter than that of a run, because a probe has little time.
const RETRY: Duration = Duration::from_millis(150);
/// The connection id of the offered burst.
const BURST_ID: u32 = 1;

/// What the server negotiated over one transport.
#[derive(Debug)]
pub(super) struct NegotiationFindings {
    pub(super) transport: TransportKind,
    /// Data bytes of a request.
    pub(super) buffer: usize,
    /// What the server does about signatures; none if it does not know function 0x61.
    pub(super) signatures: Option<SignatureOffer>,
    /// The result of probing the path; datagrams only.
    pub(super) lip: ProbeResult,
    /// Packet burst; datagrams only.
    pub(super) burst: Option<Result<AcceptedBurst, Completion>>,
}

/// What a server does about packet signatures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SignatureOffer {
    NotOffered,
    OnRequest,
    /// It prefers or requires them. Which of both shows only at the login.
    Preferred,
}

/// Connects over one transport and negotiates; an error in words if there is no connection.
pub(super) async fn examine(
    options: &NcpOptions,
    transport: TransportKind,
    deadline: Instant,
) -> Result<NegotiationFindings, String> {
    let datagrams = transport.is_datagram();
    let options = NcpOptions {
        transport,
        signatures: Level::Never,
        checksums: Level::Never,
        lip: datagrams,
        burst: None,
        retry: if datagrams { RETRY } else { options.retry },
        ..options.clone()
    };
    let spec = SessionSpec {
        connect_timeout: deadline.saturating_duration_since(Instant::now()),
        ..SessionSpec::default()
    };
    match timeout_at(deadline, negotiate(&options, &spec)).await {
        Ok(negotiated) => negotiated,
        Err(_) => Err("no answer within the time limit".to_owned()),
    }
}

async fn negotiate(options: &NcpOptions, spec: &SessionSpec) -> Result<NegotiationFindings, String> {
    let mut client = attach(options, spec, None, &drop).await.map_err(|error| error.detail)?;
    let mut findings = NegotiationFindings {
        transport: options.transport,
        buffer: client.buffer(),
        signatures: None,
        lip: client.probed(),
        burst: None,
    };
    let words = |error: ClientError| error.to_string();
    // Without signatures first: a server that prefers them sets the bit unrequested (docs/protocols/ncp.md 5.2).
    for requested in [Security(0), Security::SIGNATURE] {
        let call = PacketSize { proposed: client.buffer() as u16, security: requested.0 };
        let accepted = match client.call("negotiate", &call.into()).await {
            Ok(data) => AcceptedPacketSize::decode(data).map_err(|error| error.to_string())?,
            Err(ClientError::Refused { .. }) => break,
            Err(error) => return Err(words(error)),
        };
        let signs = Security(accepted.security).has(Security::SIGNATURE);
        findings.signatures = Some(match (requested == Security::SIGNATURE, signs) {
            (false, true) => SignatureOffer::Preferred,
            (true, true) => SignatureOffer::OnRequest,
            (_, false) => SignatureOffer::NotOffered,
        });
        if signs {
            break;
        }
    }
    if options.transport.is_datagram() {
        let burst = BurstOptions::default();
        let limit = burst.window;
        let offer = OfferBurst {
            id: BURST_ID,
            max_packet: client.burst_packet(burst.packet),
            socket: 0,
            max_send: limit,
            max_receive: limit,
        };
        findings.burst = match client.call("offer burst", &offer.into()).await {
            Ok(data) => Some(Ok(AcceptedBurst::decode(data).map_err(|error| error.to_string())?)),
            Err(ClientError::Refused { completion, .. }) => Some(Err(completion)),
            Err(error) => return Err(words(error)),
        };
    }
    // The connection would occupy a slot of the server until its watchdog removes it.
    let _ = client.disconnect().await;
    Ok(findings)
}
