//! From a URL to a session: NEGOTIATE, two `SESSION_SETUP_ANDX`, `TREE_CONNECT_ANDX`.

use std::sync::Arc;

use sharebench_client_core::{DialError, resolve};
use sharebench_model::ErrorClass;
use sharebench_target::{LoginPhase, SessionSpec, UrlPart};

use super::connection::Connection;
use super::netbios;
use super::session::{Smb1Negotiated, Smb1Session};
use crate::auth::NtlmLogin;
use crate::client::channels::session_counts::SessionCounts;
use crate::client::connect::dial::{blame, dial_first};
use crate::client::connect::login::missing_key;
use crate::client::connect::login_method::WORKSTATION;
use crate::client::options::{Protection, Smb1Transport, SmbOptions};
use crate::nt1::message::{NO_ANDX, NoWords, put_text};
use crate::nt1::session::{
    EXTENDED_RESPONSE, GUEST, NegotiateResponse, SIGNING_ENABLED, SIGNING_REQUIRED, SessionSetupRequest,
    SessionSetupResponse, TreeConnectRequest, capability,
};
use crate::nt1::signing::Signer;
use crate::nt1::{Header, Message, command};
use crate::status::NtStatus;
use crate::wire::Field;
use crate::wire::smb1::NT_LM;

/// What this client can do.
const CAPABILITIES: u32 = capability::UNICODE
    | capability::LARGE_FILES
    | capability::NT_SMBS
    | capability::NT_STATUS
    | capability::LEVEL_II_OPLOCKS
    | capability::LARGE_READX
    | capability::LARGE_WRITEX
    | capability::EXTENDED_SECURITY;
/// Largest message that this client announces; the field has two bytes.
const MAX_BUFFER: u16 = 0xFFFF;
/// One request of large reads and writes: more than 64 KiB are an extension of few servers.
const LARGE_TRANSFER: u32 = 64 << 10;
/// What a message holds in addition to its data.
const OVERHEAD: u32 = 128;
const GUID_LEN: usize = 16;

/// Opens a session within the caller's deadline.
pub(crate) async fn open_session(
    options: &SmbOptions,
    spec: &SessionSpec,
    counts: &Arc<SessionCounts>,
    reached: &dyn Fn(LoginPhase),
) -> Result<Smb1Session, DialError> {
    let addresses = resolve(&options.host).await?;
    reached(LoginPhase::NameResolved);
    let (mut stream, _) = dial_first(&addresses, options.port, &options.tcp).await?;
    if options.nt1 == Some(Smb1Transport::Netbios) {
        netbios::open_session(&mut stream).await?;
    }
    reached(LoginPhase::Connected);
    let mut connection =
        Connection::new(stream, spec.slots as usize, spec.slot_bytes as usize, Arc::clone(counts));
    let mut negotiated = negotiate(&mut connection, options).await?;
    reached(LoginPhase::Negotiated);
    if !spec.allow_split {
        check_limits(&negotiated, spec)?;
    }
    login(&mut connection, options, &mut negotiated).await?;
    reached(LoginPhase::LoggedIn);
    connect_tree(&mut connection, options).await?;
    reached(LoginPhase::Attached);
    let mut session = Smb1Session::new(connection, options, negotiated);
    session.check_directory().await.map_err(blame(UrlPart::Path))?;
    reached(LoginPhase::Opened);
    Ok(session)
}

async fn negotiate(connection: &mut Connection, options: &SmbOptions) -> Result<Smb1Negotiated, DialError> {
    let dialects = |out: &mut Vec<u8>| {
        // Buffer format 2: a text that ends with NUL.
        2u8.put(out);
        out.extend_from_slice(NT_LM.as_bytes());
        0u8.put(out);
    };
    let header = connection.exchange(command::NEGOTIATE, &NoWords {}, dialects).await;
    let header = header.map_err(|error| blame(UrlPart::Port)(error).before_first_reply())?;
    if NtStatus(header.status) != NtStatus::SUCCESS {
        return Err(blame(UrlPart::Port)(NtStatus(header.status).failure("NEGOTIATE")));
    }
    let unsupported =
        |detail: &str| DialError::new(UrlPart::Option("dialect"), ErrorClass::Unsupported, detail);
    let parts = Message::split(&connection.reply).map_err(DialError::protocol_violation)?;
    // One word: no dialect is accepted, or an older one.
    if parts.words.len() < 34 {
        return Err(unsupported("the server offers no SMB1 (NT LM 0.12)"));
    }
    let words: NegotiateResponse = parts.get().map_err(DialError::protocol_violation)?;
    if words.dialect != 0 || words.capabilities & capability::EXTENDED_SECURITY == 0 {
        return Err(unsupported("the server offers SMB1 without extended security"));
    }
    let requires = words.security_mode & SIGNING_REQUIRED != 0;
    if options.sign == Protection::Off && requires {
        let detail = "the server requires signing";
        return Err(DialError::new(UrlPart::Option("sign"), ErrorClass::Refused, detail));
    }
    if options.sign == Protection::Required && words.security_mode & (SIGNING_ENABLED | SIGNING_REQUIRED) == 0
    {
        let detail = "the server cannot sign";
        return Err(DialError::new(UrlPart::Option("sign"), ErrorClass::Unsupported, detail));
    }
    let small = words.max_buffer.saturating_sub(OVERHEAD).min(u32::from(MAX_BUFFER) - OVERHEAD);
    let limit = |large: u32| if words.capabilities & large == 0 { small } else { LARGE_TRANSFER };
    connection.max_mpx = usize::from(words.max_mpx.max(1));
    let guid = parts.bytes.first_chunk::<GUID_LEN>().copied().unwrap_or_default();
    Ok(Smb1Negotiated {
        session_key: words.session_key,
        max_mpx: words.max_mpx,
        max_read: limit(capability::LARGE_READX),
        max_write: limit(capability::LARGE_WRITEX),
        signed: requires || options.sign == Protection::Required,
        server_guid: guid,
        session: "user",
    })
}

/// Checks that a record of the session's slots fits into one request, because records are never split.
fn check_limits(negotiated: &Smb1Negotiated, spec: &SessionSpec) -> Result<(), DialError> {
    let max = negotiated.max_read.min(negotiated.max_write);
    if spec.slot_bytes <= max {
        return Ok(());
    }
    let detail = format!(
        "a record of {} bytes exceeds the {max} bytes of an SMB1 request; records are never split",
        spec.slot_bytes
    );
    Err(DialError::new(UrlPart::Share, ErrorClass::Unsupported, detail))
}

async fn login(
    connection: &mut Connection,
    options: &SmbOptions,
    negotiated: &mut Smb1Negotiated,
) -> Result<(), DialError> {
    let mut ntlm = match &options.user {
        Some(user) => NtlmLogin::new(user, &options.domain, &options.password, WORKSTATION),
        None => NtlmLogin::anonymous(),
    };
    connection.announces_signing = negotiated.signed;
    let broken = |error: crate::auth::AuthError| {
        DialError::new(UrlPart::Credentials, ErrorClass::Protocol, error.to_string())
    };
    let (header, _, first) = setup(connection, negotiated, &ntlm.first_token()).await?;
    if NtStatus(header.status) != NtStatus::MORE_PROCESSING_REQUIRED {
        return Err(login_error(&header));
    }
    connection.uid = header.uid;
    let answer = ntlm.second_token(&first).map_err(broken)?;
    let (header, action, last) = setup(connection, negotiated, &answer).await?;
    if NtStatus(header.status) != NtStatus::SUCCESS {
        return Err(login_error(&header));
    }
    connection.announces_signing = false;
    let key = ntlm.session_key().filter(|_| action & GUEST == 0);
    if key.is_some() {
        ntlm.check_final(&last).map_err(broken)?;
    } else {
        negotiated.session = if options.user.is_some() { "guest" } else { "anonymous" };
    }
    if negotiated.signed {
        let Some(key) = key else {
            return Err(missing_key("sign", options.user.as_deref(), "sign"));
        };
        let signer = Signer::new(&key);
        // The response of the login proves that the server knows the key.
        if !signer.verify(&mut connection.reply, 1) {
            return Err(DialError::protocol_violation(
                "the last response of the login has no valid signature",
            ));
        }
        connection.signer = Some(signer);
    }
    Ok(())
}

/// One `SESSION_SETUP_ANDX`: header, action and token of the response.
async fn setup(
    connection: &mut Connection,
    negotiated: &Smb1Negotiated,
    token: &[u8],
) -> Result<(Header, u16, Vec<u8>), DialError> {
    let words = SessionSetupRequest {
        andx: NO_ANDX,
        max_buffer: MAX_BUFFER,
        max_mpx: negotiated.max_mpx,
        vc: 1,
        session_key: negotiated.session_key,
        token_len: token.len() as u16,
        reserved: 0,
        capabilities: CAPABILITIES,
    };
    let bytes = |out: &mut Vec<u8>| {
        out.extend_from_slice(token);
        put_text("", 0, out);
        put_text("", 0, out);
    };
    let header = connection.exchange(command::SESSION_SETUP_ANDX, &words, bytes).await;
    let header = header.map_err(blame(UrlPart::Credentials))?;
    if !matches!(NtStatus(header.status), NtStatus::SUCCESS | NtStatus::MORE_PROCESSING_REQUIRED) {
        return Ok((header, 0, Vec::new()));
    }
    let parts = Message::split(&connection.reply).map_err(DialError::protocol_violation)?;
    let words: SessionSetupResponse = parts.get().map_err(DialError::protocol_violation)?;
    let token = parts.bytes.get(..usize::from(words.token_len));
    let token = token.ok_or_else(|| DialError::protocol_violation("SESSION_SETUP_ANDX: a cut token"))?;
    Ok((header, words.action, token.to_vec()))
}

fn login_error(header: &Header) -> DialError {
    let status = NtStatus(header.status);
    let detail = format!("SESSION_SETUP_ANDX: {}", status.explained());
    DialError::new(UrlPart::Credentials, status.class(), detail)
}

async fn connect_tree(connection: &mut Connection, options: &SmbOptions) -> Result<(), DialError> {
    let words = TreeConnectRequest { andx: NO_ANDX, flags: EXTENDED_RESPONSE, password_len: 1 };
    let path = format!("\\\\{}\\{}", options.host, options.share);
    let bytes = |out: &mut Vec<u8>| {
        0u8.put(out);
        put_text(&path, 0, out);
        // Any kind of service: a pipe would fail at the first open.
        out.extend_from_slice(b"?????\0");
    };
    let header = connection.exchange(command::TREE_CONNECT_ANDX, &words, bytes).await;
    let header = header.map_err(blame(UrlPart::Share))?;
    match NtStatus(header.status) {
        NtStatus::SUCCESS => {}
        status => return Err(blame(UrlPart::Share)(status.failure("TREE_CONNECT_ANDX"))),
    }
    let parts = Message::split(&connection.reply).map_err(DialError::protocol_violation)?;
    if !parts.bytes.starts_with(b"A:\0") {
        let detail = format!("'{}' is not a disk share", options.share);
        return Err(DialError::new(UrlPart::Share, ErrorClass::Unsupported, detail));
    }
    connection.tid = header.tid;
    Ok(())
}
