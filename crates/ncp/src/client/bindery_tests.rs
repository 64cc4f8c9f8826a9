//! The bindery over simulated links: objects, properties, and the number of requests of long lists.

use super::simulated_link::{Link, login};
use super::tests::server_options;
use super::*;
use crate::security::level::Level;
use crate::server::{Options as ServerOptions, Peer, User};
use crate::wire::TransportKind;
use crate::wire::bindery::{ANY_KIND, GROUP};
use crate::wire::login::{FILE_SERVER, USER};
use crate::wire::tests::hex;

/// A server with the account of the tests and `more` further ones.
fn server_with(more: u32) -> ServerOptions {
    let mut options = server_options(Level::IfRequested);
    options.max_connections = 10_000;
    options.users[0].groups = vec![b"LAB".to_vec()];
    options.users.extend((0..more).map(|at| User::new(&format!("user{at}"), 0x0002_0000 + at, "")));
    options
}

#[test]
fn client_reads_objects_properties_and_users_over_every_transport() {
    for transport in [TransportKind::Tcp, TransportKind::Udp, TransportKind::IpxInUdp] {
        for signatures in [Level::Never, Level::Always] {
            let mut client = login(Link::to(server_with(100), transport, 1), signatures);
            block_on(async {
                let all = client.objects(ANY_KIND, "*").await.unwrap();
                assert_eq!(all.len(), 4 + 101);
                let server = all.iter().find(|object| object.kind == FILE_SERVER).unwrap();
                assert_eq!(server.name, b"SHARE");
                let bench = client.object(USER, "bench").await.unwrap().unwrap();
                assert_eq!((bench.id, &bench.name[..]), (7, &b"BENCH"[..]));
                assert_eq!(client.object_with_id(7).await.unwrap(), Some(bench.clone()));
                assert_eq!(client.object(USER, "nobody").await.unwrap(), None);
                let names = |found: Vec<BinderyProperty>| -> Vec<Vec<u8>> {
                    found.into_iter().map(|property| property.name).collect()
                };
                let found = names(client.properties(USER, "BENCH").await.unwrap());
                assert_eq!(found, [&b"LOGIN_CONTROL"[..], b"GROUPS_I'M_IN", b"SECURITY_EQUALS"]);
                let found = names(client.properties(FILE_SERVER, "SHARE").await.unwrap());
                assert_eq!(found, [b"NET_ADDRESS"]);
                let members = client.set(GROUP, "EVERYONE", "GROUP_MEMBERS").await.unwrap().unwrap();
                assert_eq!(members.len(), 102);
                assert!(
                    client
                        .is_in_set(
                            ObjectName { kind: GROUP, name: "LAB" },
                            "GROUP_MEMBERS",
                            ObjectName { kind: USER, name: "BENCH" }
                        )
                        .await
                        .unwrap()
                );
                assert!(
                    !client
                        .is_in_set(
                            ObjectName { kind: GROUP, name: "LAB" },
                            "GROUP_MEMBERS",
                            ObjectName { kind: USER, name: "USER1" }
                        )
                        .await
                        .unwrap()
                );
                assert_eq!(client.property(USER, "BENCH", "IDENTIFICATION").await.unwrap(), None);
                let users = client.users().await.unwrap();
                let [user] = &users[..] else { panic!("{users:?}") };
                assert_eq!((user.connection, &user.user, user.login), (1, &bench, [126, 11, 21, 1, 2, 3, 6]));
                assert_eq!(client.object_connections(USER, "BENCH").await.unwrap(), [1]);
                client.connection_address(1).await.unwrap();
            });
        }
    }
}

#[test]
fn user_list_and_object_scan_send_one_request_per_entry() {
    let mut client = login(Link::to(server_with(9_997), TransportKind::Tcp, 1), Level::Never);
    for peer in 100..599 {
        let mut out = Vec::new();
        let server = &client.transport().server;
        server.receive(Peer::Stream(peer), TransportKind::Udp, &hex("111100ffffff00"), &mut out);
        assert_eq!(out[6], 0);
    }
    block_on(async {
        let before = client.counts().requests;
        assert_eq!(client.users().await.unwrap().len(), 1);
        let requests = client.counts().requests - before;
        // The server information, and 16 numbers beyond the largest.
        assert_eq!(requests, 1 + 500 + 16);
        let before = client.counts().requests;
        assert_eq!(client.objects(USER, "*").await.unwrap().len(), 9_999);
        assert_eq!(client.counts().requests - before, 9_999 + 1);
    });
}
