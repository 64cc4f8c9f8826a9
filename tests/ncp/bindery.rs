//! The bindery of `serve --accounts` as a client reads it, and the packets as tshark parses them.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use sharebench_ncp::client::{
    Client, Login, ObjectName, Options, Path, TcpTransport, Transport, UdpTransport, block_on,
};
use sharebench_ncp::wire::bindery::{ANY_KIND, GROUP, GetConnectionAddressOld, GetObjectConnectionsOld};
use sharebench_ncp::wire::login::{FILE_SERVER, GetAccessLevel, USER};
use sharebench_ncp::wire::name_space::space;
use sharebench_ncp::wire::server_info::GetConnectionUserOld;
use sharebench_ncp::wire::{Pstr, Request};
use sharebench_tests::{Capture, Served, Sharebench, needs};

const TIMEOUT: Duration = Duration::from_secs(10);
const ACCOUNTS: &str = "# staff\nalice:first secret:lab,staff:Alice Example\nbob:second secret:lab\n";
/// Sub-functions of 0x17 that the test sends.
const CALLS: [u16; 13] = [0x13, 0x15, 0x16, 0x1A, 0x1B, 0x1C, 0x35, 0x36, 0x37, 0x3C, 0x3D, 0x43, 0x46];

/// Reads everything that the bindery has.
async fn read_bindery<C: Transport>(mut client: Client<C>) {
    client.login(Login { user: "alice", password: "first secret" }).await.unwrap();
    let objects = client.objects(ANY_KIND, "*").await.unwrap();
    let mut names: Vec<_> = objects.iter().map(|object| String::from_utf8_lossy(&object.name)).collect();
    names.sort();
    let account = Served::USER.to_uppercase();
    let mut expected = vec!["ALICE", "BOB", "EVERYONE", "LAB", "SHAREBENCH", "STAFF", "SUPERVISOR", &account];
    expected.sort_unstable();
    assert_eq!(names, expected);
    for object in &objects {
        let name = String::from_utf8_lossy(&object.name);
        assert_eq!(client.object(object.kind, &name).await.unwrap().as_ref(), Some(object));
        assert_eq!(client.object_with_id(object.id).await.unwrap().as_ref(), Some(object));
        for property in client.properties(object.kind, &name).await.unwrap() {
            let property = String::from_utf8_lossy(&property.name).into_owned();
            assert!(client.property(object.kind, &name, &property).await.unwrap().is_some(), "{property}");
        }
    }
    let full_name = client.property(USER, "ALICE", "IDENTIFICATION").await.unwrap().unwrap();
    assert!(full_name.starts_with(b"Alice Example\0"));
    let lab = client.object(GROUP, "LAB").await.unwrap().unwrap().id;
    assert!(client.set(USER, "BOB", "GROUPS_I'M_IN").await.unwrap().unwrap().contains(&lab));
    assert!(
        client
            .is_in_set(
                ObjectName { kind: GROUP, name: "STAFF" },
                "GROUP_MEMBERS",
                ObjectName { kind: USER, name: "ALICE" }
            )
            .await
            .unwrap()
    );
    assert!(
        !client
            .is_in_set(
                ObjectName { kind: GROUP, name: "STAFF" },
                "GROUP_MEMBERS",
                ObjectName { kind: USER, name: "BOB" }
            )
            .await
            .unwrap()
    );
    assert!(client.property(FILE_SERVER, "SHAREBENCH", "NET_ADDRESS").await.unwrap().is_some());
    let users = client.users().await.unwrap();
    let [user] = &users[..] else { panic!("{users:?}") };
    assert_eq!((&user.user.name[..], user.login[0] > 120), (&b"ALICE"[..], true), "{:?}", user.login);
    let number = user.connection;
    assert_eq!(client.object_connections(USER, "ALICE").await.unwrap(), [u32::from(number)]);
    client.connection_address(number).await.unwrap();
    let connection = number as u8;
    let old: [Request<'_>; 4] = [
        GetConnectionAddressOld { connection }.into(),
        GetConnectionUserOld { connection }.into(),
        GetObjectConnectionsOld { kind: USER, name: Pstr::new(b"ALICE").unwrap() }.into(),
        GetAccessLevel {}.into(),
    ];
    for call in &old {
        client.call("older form", call).await.unwrap();
    }
    assert!(client.entry_info(&Path::new(space::LONG, [&b"SHARE"[..]]).unwrap()).await.unwrap().directory);
    client.disconnect().await.unwrap();
}

#[test]
fn accounts_of_a_file_are_in_the_bindery_and_tshark_parses_its_calls() {
    needs!(Capture::NEEDS);
    let sharebench = Sharebench::new().unwrap();
    let file = sharebench.home().join("accounts");
    fs::write(&file, ACCOUNTS).unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    let file = file.to_str().unwrap();
    let served = sharebench.serve_by(&[], "served", &["--accounts", file, "--log-logins"]).unwrap();
    let capture = Capture::start_with_datagrams(served.ncp_port).unwrap();
    let addr = format!("127.0.0.1:{}", served.ncp_port).parse().unwrap();
    block_on(async {
        // Both connect first: tshark merges two connections with the same number.
        let tcp = TcpTransport::connect(addr, TIMEOUT).unwrap();
        let tcp = Client::connect(tcp, Options::default()).await.unwrap();
        let udp = UdpTransport::connect(addr, TIMEOUT).unwrap();
        let udp = Client::connect(udp, Options::default()).await.unwrap();
        read_bindery(tcp).await;
        read_bindery(udp).await;
    });
    let captured = capture.stop().unwrap();
    let seen = captured.ncp_requests().unwrap();
    for sub in CALLS {
        assert!(seen.contains_key(&(0x17, sub)), "{sub:02x}: {seen:?}");
    }
    assert_eq!(captured.ncp_oddities().unwrap(), (0, 0), "malformed, replies without request");
    let log = fs::read_to_string(sharebench.home().join("served.log")).unwrap();
    assert_eq!(log.matches("ncp: login of \"ALICE\" from 127.0.0.1").count(), 2, "{log}");
}

#[test]
fn accounts_file_that_others_can_read_is_rejected() {
    let sharebench = Sharebench::new().unwrap();
    let file = sharebench.home().join("accounts");
    fs::write(&file, ACCOUNTS).unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
    let refused = |sharebench: &Sharebench| {
        let run = sharebench.run(&["serve", "--memory=1MiB", "--ncp=127.0.0.1:0", "--accounts", "accounts"]);
        let run = run.unwrap();
        assert_eq!(run.code, Some(2), "{}", run.text());
        run.stderr
    };
    assert!(refused(&sharebench).contains("other users can read or change it"));
    fs::write(&file, "alice:one\nbob\n").unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    assert!(refused(&sharebench).contains("line 2: field 2 (password) is missing"));
}
