//! NCP on IPX in Ethernet frames, in a network of the test's own: conformance in every frame, and what tshark says of it.

use std::sync::Arc;

use sharebench_ncp_target::NcpTarget;
use sharebench_server::{MemoryVolume, NcpEtherServer, NcpServerOptions};
use sharebench_target::Secret;
use sharebench_target::conformance::Suite;
use sharebench_tests::{
    CLIENT_END, Capture, Need, SERVER_END, Served, Sharebench, Smbd, in_own_network, needs,
};

use crate::adapters::{conform, url};
use crate::stored::Stored;

const FRAMES: [&str; 4] = ["ii", "raw", "802.2", "snap"];
/// Durable writes to files opened without write-through do not exist in this protocol.
const SKIP: &[&str] = &["flush and durable write"];

/// A server on its end of the cable.
fn server(frame: &str) -> NcpEtherServer {
    let users = vec![(Served::USER.to_owned(), Secret::new(Smbd::PASSWORD))];
    let options = NcpServerOptions { users, threads: 1, ..NcpServerOptions::default() };
    let place = format!("{SERVER_END},{frame},10").parse().unwrap();
    NcpEtherServer::start(&place, Arc::new(MemoryVolume::new(256 << 20)), options).unwrap()
}

fn at(frame: &str, options: &str) -> String {
    let user = Served::USER;
    format!("ncp://{user}@SHAREBENCH/SHARE?transport=ether&iface={CLIENT_END}&frame={frame}{options}")
}

#[test]
fn ncp_conforms_in_every_frame_signed_and_unsigned_with_and_without_bursts() {
    needs!([Need::NetworkNamespace]);
    in_own_network(|| {
        for frame in FRAMES {
            let server = server(frame);
            let checked = if frame == "raw" { "&sign=3" } else { "&sign=3&checksum=3" };
            for options in ["", checked, "&burst=on", "&profile=vlm-1.20&cache=off"] {
                let target = NcpTarget::from_url(url(&at(frame, options)), Secret::new(Smbd::PASSWORD));
                let suite = Suite { skip: SKIP, secret: Some(Smbd::PASSWORD.into()), ..Suite::default() };
                conform(&target.unwrap(), &suite);
            }
            assert_eq!(server.connections(), 0);
        }
    });
}

#[test]
fn sweeps_on_ethernet_are_verified_and_tshark_takes_every_frame_apart() {
    needs!(Capture::NEEDS, [Need::NetworkNamespace]);
    in_own_network(|| {
        for (number, frame) in FRAMES.into_iter().enumerate() {
            let sharebench = Sharebench::new().unwrap();
            let directory = sharebench.home().join("served");
            std::fs::create_dir(&directory).unwrap();
            let capture = Capture::start_on(CLIENT_END).unwrap();
            let place = format!("{SERVER_END},{frame}");
            let line = ["serve", "served", "--ncp-ether", &place, "--user", Served::USER];
            let mut served = sharebench.start(&line, "served.log").unwrap();
            served.wait_for_output("serving", std::time::Duration::from_secs(10)).unwrap();
            let options = ["", "&sign=3", "&burst=on", "&checksum=2&lip=off"][number];
            let run = sharebench.run(&[
                "sweep",
                &at(frame, options),
                "--file-sizes=64KiB",
                "--record-sizes=1024",
                "--tests=write,read",
                "--repetitions=1",
                "--sample=5ms",
            ]);
            let run = run.unwrap().expect_success();
            served.signal(sharebench_tests::Signal::INT);
            served.wait(std::time::Duration::from_secs(10)).unwrap();
            let captured = capture.stop().unwrap();
            let stored = Stored::read(&sharebench, 1);
            assert_eq!(stored.steps.len(), 2, "{}", run.text());
            let read = stored.sum(0, &["bytes", "read"]);
            assert!(read > 0 && stored.sum(0, &["verified_bytes"]) == read);
            let seen = captured.ncp_requests().unwrap();
            println!("{frame}: {seen:?}");
            assert!(seen[&(0x57, 64)] >= stored.operations(0, "read"));
            assert_eq!(
                captured.ncp_oddities().unwrap(),
                (0, 0),
                "{frame}: malformed, replies without request"
            );
            let count = |filter: &str| captured.count("ipx", filter).unwrap();
            // tshark's flags of requests and responses are the wrong way round in SAP: types tell.
            let sap = [2, 3, 4].map(|kind| count(&format!("ipxsap.packet_type == {kind}")));
            assert!(sap[0] >= 2 && sap[1] > 0 && sap[1] == sap[2], "{frame}: told, asked, answered: {sap:?}");
            let rip = (count("ipxrip.request == 1"), count("ipxrip.response == 1"));
            assert!(rip.0 > 0 && rip.1 == rip.0 + 2, "{frame}: asked, answered and told: {rip:?}");
            assert_eq!(count("ipxsap.server.intermediate_networks == 16"), 1, "{frame}: the end is told");
            let checked = count("ipx.checksum != 0xffff && ncp.type == 0x2222");
            assert_eq!(checked > 0, options.contains("checksum"), "{frame}: {checked} with checksum");
        }
    });
}

#[test]
fn mistakes_on_ethernet_are_told_with_their_option_and_exit_code() {
    needs!([Need::NetworkNamespace], [Need::Program("setpriv")]);
    in_own_network(|| {
        let sharebench = Sharebench::new().unwrap();
        let _server = server("802.2");
        let few = ["--file-sizes=64KiB", "--record-sizes=512", "--tests=read", "--repetitions=1"];
        let nas = at("802.2", "&retry=1ms").replace("SHAREBENCH", "NAS");
        for (target, words) in [
            (nas, "no file server NAS answers in frame=802.2; heard are SHAREBENCH"),
            (at("snap", "&retry=1ms"), "none is heard"),
            (at("ii", "").replace(CLIENT_END, "nosuch0"), "there is no interface 'nosuch0'"),
            (at("ii", "").replace(CLIENT_END, "lo"), "'lo' is no Ethernet"),
        ] {
            let ended = sharebench.run(&[&["sweep", target.as_str()][..], &few].concat()).unwrap();
            assert_eq!(ended.code, Some(3), "{target}: {}", ended.text());
            assert!(ended.stderr.contains(words), "{target}: {}", ended.stderr);
        }
        let without = ["setpriv", "--bounding-set=-net_raw", "--inh-caps=-net_raw"];
        for (arguments, code) in [
            (
                format!(
                    "sweep '{}' --file-sizes=64KiB --record-sizes=512 --tests=read --repetitions=1",
                    at("ii", "")
                ),
                3,
            ),
            (format!("serve --memory 1MiB --ncp-ether {SERVER_END} --user lab"), 2),
        ] {
            let script = format!("exec \"$0\" {arguments}");
            let line = [&without[..], &["sh", "-c", &script]].concat();
            let ended = sharebench.run_by(&line).unwrap();
            assert_eq!(ended.code, Some(code), "{}", ended.text());
            assert!(ended.stderr.contains("CAP_NET_RAW"), "{}", ended.stderr);
        }
        let place = format!("{SERVER_END},ii");
        let open = sharebench.run(&["serve", "--memory", "1MiB", "--ncp-ether", &place]).unwrap();
        assert!(open.code == Some(2) && open.stderr.contains("without users"), "{}", open.text());
    });
}
