//! Wrong passwords, passwords as clear text, and peers that sign or encrypt less than required.

use std::io::{Read, Write};
use std::net::TcpStream;

use sharebench_ncp::wire::tcp::request_header;
use sharebench_tests::{Served, Sharebench, Smbd, SmbdOptions};

use crate::attack::{Attack, message, sweep, sweep_as};

/// The rows, in the order of the table.
pub const ATTACKS: &[Attack] = &[
    Attack { what: "wrong password", on: "smbd", needs: &Smbd::NEEDS, act: wrong_at_smbd },
    Attack {
        what: "wrong password",
        on: "embedded SMB",
        needs: &[],
        act: || wrong(|served| served.smb_url("")),
    },
    Attack {
        what: "wrong password",
        on: "embedded NCP",
        needs: &[],
        act: || wrong(|served| served.ncp_url("")),
    },
    Attack {
        what: "unknown user",
        on: "embedded SMB",
        needs: &[],
        act: || unknown(|served| served.smb_url("")),
    },
    Attack {
        what: "unknown user",
        on: "embedded NCP",
        needs: &[],
        act: || unknown(|served| served.ncp_url("")),
    },
    Attack { what: "the correct password as clear text", on: "embedded NCP", needs: &[], act: clear_text },
    Attack {
        what: "a client that does not sign, where the server requires it (`--ncp-options sign=3`)",
        on: "embedded NCP",
        needs: &[],
        act: || levels("3", "?sign=0"),
    },
    Attack {
        what: "a server that does not sign, where the client requires it (`sign=3`)",
        on: "sharebench over NCP",
        needs: &[],
        act: || levels("0", "?sign=3"),
    },
    Attack {
        what: "a server that does not encrypt (2.1), where the client requires it (`encrypt=required`)",
        on: "sharebench over SMB",
        needs: &Smbd::NEEDS,
        act: no_encryption,
    },
];

const WRONG: [(&str, &str); 1] = [("SHAREBENCH_PASSWORD", "not this one")];

fn wrong_at_smbd() -> String {
    let sharebench = Sharebench::new().unwrap();
    let smbd = Smbd::start(&SmbdOptions::default()).unwrap();
    message(&sweep_as(&sharebench, &smbd.url("", ""), &WRONG), &["user or password"])
}

fn wrong(url: fn(&Served) -> String) -> String {
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    message(&sweep_as(&sharebench, &url(&served), &WRONG), &["user or password"])
}

fn unknown(url: fn(&Served) -> String) -> String {
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    let url = url(&served).replace(Served::USER, "nobody-here");
    message(&sweep(&sharebench, &url), &["user or password"])
}

/// Function 0x17, sub-function 0x14: login with the password as it is (docs/protocols/ncp.md 2.4).
fn clear_text() -> String {
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    let mut stream = TcpStream::connect(("127.0.0.1", served.ncp_port)).unwrap();
    let created = ask(&mut stream, &[0x11, 0x11, 0, 0xFF, 1, 0xFF, 0]);
    let low = created[3];
    let high = created[5];
    let user = Served::USER.to_uppercase();
    let password = Smbd::PASSWORD.to_uppercase();
    let mut body = vec![0x14, 0, 1, user.len() as u8];
    body.extend_from_slice(user.as_bytes());
    body.push(password.len() as u8);
    body.extend_from_slice(password.as_bytes());
    let mut call = vec![0x22, 0x22, 1, low, 1, high, 0x17, 0, body.len() as u8];
    call.extend_from_slice(&body);
    let completion = ask(&mut stream, &call)[6];
    if completion == 0 {
        "let in".to_owned()
    } else {
        format!("rejected (completion code {completion:#04x})")
    }
}

/// Sends a packet on TCP and returns the reply without the TCP framing.
fn ask(stream: &mut TcpStream, packet: &[u8]) -> Vec<u8> {
    stream.write_all(&[&request_header(16 + packet.len(), 0x1_0000)[..], packet].concat()).unwrap();
    let mut head = [0; 8];
    stream.read_exact(&mut head).unwrap();
    let len = u32::from_be_bytes(*head.last_chunk().unwrap()) as usize;
    let mut answer = vec![0; len - head.len()];
    stream.read_exact(&mut answer).unwrap();
    answer
}

fn levels(of_server: &str, of_client: &str) -> String {
    let sharebench = Sharebench::new().unwrap();
    let served =
        sharebench.serve_by(&[], "served", &["--ncp-options", &format!("sign={of_server}")]).unwrap();
    message(&sweep(&sharebench, &served.ncp_url(of_client)), &["sign"])
}

fn no_encryption() -> String {
    let sharebench = Sharebench::new().unwrap();
    let options = SmbdOptions { dialects: Some(("SMB2_02", "SMB2_10")), ..SmbdOptions::default() };
    let smbd = Smbd::start(&options).unwrap();
    message(&sweep(&sharebench, &smbd.url("", "encrypt=required")), &["encrypt", "dialect"])
}
