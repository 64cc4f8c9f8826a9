//! The first messages of a connection, and the order of the later ones.

use sharebench_smb::wire::smb1::{ANY_SMB2, NT_LM, put_negotiate};

use super::*;

#[test]
fn a_message_id_that_was_used_or_not_granted_ends_the_connection() {
    on_both(|server, _| {
        for next in [0, 1000] {
            let mut raw = Raw::log_in(server.addr(), "share");
            raw.next = next;
            let echo = raw.message(command::ECHO, 0, |body| Empty::default().encode(body));
            raw.send(&echo);
            assert_eq!(raw.receive(), None);
        }
    });
}

#[test]
fn a_client_that_begins_with_smb1_continues_with_smb2() {
    on_both(|server, _| {
        let mut raw = Raw::connect(server.addr());
        let mut smb1 = Vec::new();
        put_negotiate(&[NT_LM, "SMB 2.002", "SMB 2.???"], &mut smb1);
        raw.send(&smb1);
        let reply = raw.receive().unwrap();
        assert_eq!(NegotiateResponse::decode(&reply).unwrap().dialect, ANY_SMB2);
        raw.next = 1;
        assert_eq!(raw.negotiate().dialect, 0x0210);
        let mut only_smb1 = Raw::connect(server.addr());
        let mut smb1 = Vec::new();
        put_negotiate(&[NT_LM], &mut smb1);
        only_smb1.send(&smb1);
        assert_eq!(only_smb1.receive(), None);
    });
}
