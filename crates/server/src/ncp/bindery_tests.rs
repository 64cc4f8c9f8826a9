//! Accounts, events of logins, and the times of long lists over sockets.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use sharebench_ncp::client::{Login, block_on};
use sharebench_ncp::security::level::Level;
use sharebench_ncp::wire::Completion;
use sharebench_ncp::wire::bindery::{ANY_KIND, GROUP};
use sharebench_ncp::wire::login::USER;
use sharebench_target::Secret;

use super::tests::{LOGIN, memory, options, refusal, start, tcp, udp};
use super::{BinderyProfile, NcpServerOptions};
use crate::EventLog;

#[test]
fn accounts_log_in_and_appear_with_groups_and_full_names() {
    let mut options = options();
    options.accounts.push(("Ann".to_owned(), Secret::new("other")));
    let profile = BinderyProfile { groups: vec!["staff".to_owned()], full_name: "Ann Example".to_owned() };
    options.bindery_profiles = HashMap::from([("Ann".to_owned(), profile)]);
    let server = start(memory(), options);
    block_on(async {
        let mut client = tcp(server.addr(), Level::Always).await;
        client.login(Login { user: "ann", password: "OTHER" }).await.unwrap();
        let ann = client.object(USER, "ANN").await.unwrap().unwrap();
        assert_eq!(client.set(GROUP, "STAFF", "GROUP_MEMBERS").await.unwrap(), Some(vec![ann.id]));
        let full_name = client.property(USER, "ANN", "IDENTIFICATION").await.unwrap().unwrap();
        assert!(full_name.starts_with(b"Ann Example\0"));
        let mut other = udp(server.addr(), Level::Never).await;
        other.login(LOGIN).await.unwrap();
        let names: Vec<_> = client.users().await.unwrap().into_iter().map(|user| user.user.name).collect();
        assert_eq!(names, [b"ANN", b"LAB"]);
        let address = client.connection_address(2).await.unwrap();
        assert_eq!((address.node, address.socket > 0), ([0, 0, 127, 0, 0, 1], true), "a client on UDP");
    });
}

#[test]
fn logins_and_rejections_are_reported_with_address_and_name() {
    for log_logins in [false, true] {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let log = {
            let lines = Arc::clone(&lines);
            EventLog::new(move |line| lines.lock().unwrap().push(line.to_owned()))
        };
        let server = start(memory(), NcpServerOptions { log, log_logins, ..options() });
        block_on(async {
            let mut client = tcp(server.addr(), Level::Never).await;
            client.login(LOGIN).await.unwrap();
            let wrong = Login { password: "wrong", ..LOGIN };
            while refusal(client.login(wrong).await) != Completion::IntruderLockout {}
        });
        let lines = lines.lock().unwrap();
        let with = |start: &str| lines.iter().filter(|line| line.starts_with(start)).count();
        assert_eq!(with("ncp: login of \"LAB\" from 127.0.0.1"), usize::from(log_logins));
        assert!(with("ncp: failed login of \"LAB\" from 127.0.0.1") >= 3, "{lines:?}");
        let rejected = "ncp: rejected login of \"LAB\" from 127.0.0.1: locked out as an intruder (0xC5)";
        assert_eq!(lines.iter().filter(|line| *line == rejected).count(), 1, "{lines:?}");
    }
}

/// Prints the times of a user list of 500 connections and of a scan of 10,000 objects; run it alone, in a release build.
#[test]
#[ignore = "measures times"]
fn long_lists_take_a_request_per_entry() {
    let accounts = (0..9_997).map(|at| (format!("user{at}"), Secret::new("x")));
    let mut options = options();
    options.accounts.extend(accounts);
    let server = start(memory(), options);
    block_on(async {
        let mut clients = Vec::new();
        for _ in 0..500 {
            let mut client = tcp(server.addr(), Level::Never).await;
            client.login(LOGIN).await.unwrap();
            clients.push(client);
        }
        let client = &mut clients[0];
        let mut best = [Duration::MAX; 2];
        for _ in 0..5 {
            let begin = Instant::now();
            assert_eq!(client.users().await.unwrap().len(), 500);
            best[0] = best[0].min(begin.elapsed());
            let begin = Instant::now();
            assert_eq!(client.objects(ANY_KIND, "*").await.unwrap().len(), 10_001);
            best[1] = best[1].min(begin.elapsed());
        }
        println!("user list of 500 connections: {:?}, scan of 10,001 objects: {:?}", best[0], best[1]);
    });
}
