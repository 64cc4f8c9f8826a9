//! Volumes with DOS names only: conformance with converted names, the choice of the name space, and its facts.

use std::sync::Arc;

use sharebench_doubles::conformance::Suite;
use sharebench_model::{Entry, ErrorClass, Fact, MetaOp, MetaYield, OpenHow};
use sharebench_ncp::target::NcpTarget;
use sharebench_server::{MemoryVolume, NameSpaces, NcpServer, NcpServerOptions};
use sharebench_target::{MARKER, Secret, Session, SessionSpec, Target, TargetUrl, UrlPart, call};

const PASSWORD: &str = "Pass word";

/// A server with the volume SHARE and the user lab, on TCP and UDP, or on IPX in UDP.
fn server(names: NameSpaces, ipx: bool) -> NcpServer {
    let accounts = vec![("lab".to_owned(), Secret::new(PASSWORD))];
    let options = NcpServerOptions { accounts, names, threads: 1, ..NcpServerOptions::default() };
    let volume = Arc::new(MemoryVolume::new(256 << 20));
    let start = if ipx { NcpServer::start_ipx } else { NcpServer::start };
    start("127.0.0.1:0".parse().unwrap(), volume, options).unwrap()
}

fn at(server: &NcpServer, rest: &str) -> NcpTarget {
    let url = TargetUrl::parse(&format!("ncp://lab@{}/{rest}", server.addr())).unwrap();
    NcpTarget::from_url(url, Secret::new(PASSWORD)).unwrap()
}

async fn session(target: &NcpTarget) -> Box<dyn Session> {
    target.connect(&SessionSpec::default()).await.unwrap()
}

async fn listed(session: &mut dyn Session, path: &str) -> Vec<Entry> {
    match call(session, MetaOp::List { path: path.to_owned() }).await.unwrap() {
        MetaYield::Entries(entries) => entries,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn target_conforms_on_volumes_with_dos_names_only() {
    let tcp = server(NameSpaces::Dos, false);
    let ipx = server(NameSpaces::Dos, true);
    // The protocol has no durable writes to files opened without write-through.
    let skip = &["flush and durable write"][..];
    for (server, options, max_depth) in [
        (&tcp, "", 32),
        (&tcp, "?names=dos&sign=3&connections=4", 4),
        (&tcp, "?transport=udp&retry=5s&names=dos", 4),
        (&ipx, "?transport=ipx&retry=5s", 4),
    ] {
        let target = at(server, &format!("share{options}"));
        let suite = Suite { skip, max_depth, secret: Some(PASSWORD.into()), ..Suite::default() };
        let summary = suite.run(&target).await.unwrap_or_else(|failures| panic!("{options}: {failures}"));
        assert!(summary.counted.requests > 1000, "{options}: {summary:?}");
    }
}

#[tokio::test]
async fn target_conforms_in_the_dos_name_space_of_a_volume_with_long_names() {
    let server = server(NameSpaces::All, false);
    let target = at(&server, "SHARE?names=dos");
    let suite = Suite { skip: &["flush and durable write"], ..Suite::default() };
    suite.run(&target).await.unwrap_or_else(|failures| panic!("{failures}"));
    // What another client wrote under a long name is found under its derived name.
    let mut long = session(&at(&server, "SHARE?names=long")).await;
    call(&mut *long, MetaOp::open("a file with a long name.text", OpenHow::CreateNew)).await.unwrap();
    let mut dos = session(&target).await;
    let names = listed(&mut *dos, "").await;
    assert!(names.len() == 1 && names[0].name.starts_with("af~"), "{names:?}");
    call(&mut *dos, MetaOp::Remove { path: names[0].name.clone() }).await.unwrap();
    assert_eq!(listed(&mut *long, "").await, []);
}

#[tokio::test]
async fn name_space_is_that_of_the_volume_unless_the_url_selects_one() {
    for (names, option, granted, spaces) in [
        (NameSpaces::All, "", "long", "dos, long"),
        (NameSpaces::All, "?names=os2", "long", "dos, long"),
        (NameSpaces::All, "?names=dos", "dos", "dos, long"),
        (NameSpaces::Dos, "", "dos", "dos"),
        (NameSpaces::Dos, "?names=dos", "dos", "dos"),
    ] {
        let server = server(names, false);
        let facts = session(&at(&server, &format!("SHARE{option}"))).await.facts();
        let requested = option.strip_prefix("?names=").unwrap_or("auto").replace("os2", "long");
        let found = (
            facts[Fact::Names].as_str(),
            facts[Fact::NamesRequested].as_str(),
            facts[Fact::NameSpaces].as_str(),
        );
        assert_eq!(found, (granted, requested.as_str(), spaces), "{option}");
    }
    let server = server(NameSpaces::Dos, false);
    let refused = at(&server, "SHARE?names=long").connect(&SessionSpec::default()).await;
    let error = refused.err().expect("a volume without long names");
    assert_eq!((error.part, error.class), (UrlPart::Option("names"), ErrorClass::Unsupported));
    assert!(error.to_string().contains("use names=dos"), "{error}");
    let refused = at(&server, "SHARE/directory-with-a-long-name").connect(&SessionSpec::default()).await;
    let error = refused.err().expect("a directory without an 8.3 name");
    assert!(
        error.part == UrlPart::Path && error.to_string().contains("'DIRECTORY-WITH-A-LONG-NAME' is not"),
        "{error}"
    );
}

#[tokio::test]
async fn names_of_one_session_are_known_to_the_others_and_stated_at_the_end() {
    let server = server(NameSpaces::Dos, false);
    let target = at(&server, "SHARE");
    let mut writer = session(&target).await;
    let directory = ".sharebench-1f2e3d4c-0";
    call(&mut *writer, MetaOp::MakeDir { path: directory.to_owned() }).await.unwrap();
    for name in [MARKER, "data-65536", "Upper"] {
        call(&mut *writer, MetaOp::open(format!("{directory}/{name}"), OpenHow::CreateNew)).await.unwrap();
    }
    let names = |entries: Vec<Entry>| {
        let mut names: Vec<String> = entries.into_iter().map(|entry| entry.name).collect();
        names.sort();
        names
    };
    let mut reader = session(&target).await;
    assert_eq!(names(listed(&mut *reader, "").await), [directory]);
    assert_eq!(names(listed(&mut *reader, directory).await), [MARKER, "Upper", "data-65536"]);
    // Another process sees the names of the volume, and reaches the same files by them.
    let other = at(&server, "SHARE");
    let mut stranger = session(&other).await;
    assert_eq!(names(listed(&mut *stranger, "").await), ["1f2e3d4c.s00"]);
    let short = names(listed(&mut *stranger, "1f2e3d4c.s00").await);
    assert!(short.contains(&"madeby.sbn".to_owned()) && short.contains(&"upper".to_owned()), "{short:?}");
    for name in short {
        call(&mut *stranger, MetaOp::Remove { path: format!("{directory}/{name}") }).await.unwrap();
    }
    let stated = &target.final_facts()[Fact::ShortNames];
    assert!(stated.contains("1F2E3D4C.S00 = .sharebench-1f2e3d4c-0"), "{stated}");
    assert!(
        stated.contains("MADEBY.SBN = .made-by-sharebench") && stated.contains(" = data-65536"),
        "{stated}"
    );
    assert_eq!(session(&at(&server, "SHARE")).await.facts().get(Fact::ShortNames), None);
}
