//! The session service of `NetBIOS` over TCP, in front of SMB1 on port 139 (RFC 1001 15, RFC 1002 4.3).

use sharebench_client_core::DialError;
use sharebench_model::ErrorClass;
use sharebench_target::UrlPart;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Port of the session service.
pub(crate) const PORT: u16 = 139;
const SESSION_REQUEST: u8 = 0x81;
const POSITIVE_RESPONSE: u8 = 0x82;
const NEGATIVE_RESPONSE: u8 = 0x83;
/// A name that every server of the session service accepts, instead of its own.
const ANY_SERVER: &str = "*SMBSERVER";
const CLIENT: &str = "SHAREBENCH";
/// Last byte of the name of a server, and of a client.
const SERVER_SUFFIX: u8 = 0x20;
const CLIENT_SUFFIX: u8 = 0x00;

/// Opens a session of the service, which must come before the first message.
pub(super) async fn open_session(stream: &mut TcpStream) -> Result<(), DialError> {
    let gone =
        |error: std::io::Error| DialError::new(UrlPart::Port, ErrorClass::Disconnected, error.to_string());
    let names = [encoded(ANY_SERVER, SERVER_SUFFIX), encoded(CLIENT, CLIENT_SUFFIX)].concat();
    let mut request = vec![SESSION_REQUEST, 0, 0, names.len() as u8];
    request.extend_from_slice(&names);
    stream.write_all(&request).await.map_err(gone)?;
    let mut head = [0; 4];
    stream.read_exact(&mut head).await.map_err(gone)?;
    match head[0] {
        POSITIVE_RESPONSE => Ok(()),
        NEGATIVE_RESPONSE => {
            let code = stream.read_u8().await.map_err(gone)?;
            let detail =
                format!("the NetBIOS session service rejects the name {ANY_SERVER} (code {code:#x})");
            Err(DialError::new(UrlPart::Option("transport"), ErrorClass::Refused, detail))
        }
        other => {
            let detail = format!("the answer to a NetBIOS session request has type {other:#x}");
            Err(DialError::protocol_violation(detail))
        }
    }
}

/// A name in the first-level encoding: 16 bytes, each as two letters, as one label.
fn encoded(name: &str, suffix: u8) -> Vec<u8> {
    let mut padded = [b' '; 16];
    for (place, byte) in padded.iter_mut().zip(name.bytes().take(15)) {
        *place = byte;
    }
    padded[15] = suffix;
    let mut out = vec![32];
    out.extend(padded.iter().flat_map(|byte| [b'A' + (byte >> 4), b'A' + (byte & 15)]));
    out.push(0);
    out
}

#[cfg(test)]
mod tests {
    use super::encoded;

    #[test]
    fn a_name_has_the_encoding_of_the_rfc() {
        // RFC 1001 14.1: "The NetBIOS name" is EFGIGFCAEOGFHEECEJEPFDCAGOGBGNGF; here "FRED".
        let name = encoded("FRED", 0x20);
        assert_eq!(&name[..9], b"\x20EGFCEFEE");
        assert_eq!((name.len(), name[33], &name[31..33]), (34, 0, &b"CA"[..]));
    }
}
