//! NCP on IPX in Ethernet frames, in a network of the test's own: conformance in every frame, and what tshark says of it.

use std::sync::Arc;

use sharebench_doubles::conformance::Suite;
use sharebench_ncp::target::NcpTarget;
use sharebench_server::{MemoryVolume, NcpEtherServer, NcpServerOptions};
use sharebench_target::Secret;
use sharebench_tests::program::PATIENCE;
use sharebench_tests::{
    CLIENT_END, Capture, Need, SERVER_END, Served, Sharebench, Signal, Smbd, in_own_network, needs,
};

use crate::adapters::{conform, url};
use crate::stored::Stored;

const FRAMES: [&str; 4] = ["ii", "raw", "802.2", "snap"];
/// Durable writes to files opened without write-through do not exist in this protocol.
const SKIP: &[&str] = &["flush and durable write"];
/// Requests are counted: none is sent again because this machine stood still.
const PATIENT: &str = "&retry=5s";

/// A server on its end of the cable.
fn server(frame: &str) -> NcpEtherServer {
    let accounts = vec![(Served::USER.to_owned(), Secret::new(Smbd::PASSWORD))];
    let options = NcpServerOptions { accounts, threads: 1, ..NcpServerOptions::default() };
    let place = format!("{SERVER_END},{frame},10").parse().unwrap();
    NcpEtherServer::start(&place, Arc::new(MemoryVolume::new(256 << 20)), options).unwrap()
}

fn at(frame: &str, options: &str) -> String {
    let user = Served::USER;
    format!("ncp://{user}@SHAREBENCH/SHARE?transport=ether&iface={CLIENT_END}&frame={frame}{options}")
}

#[test]
fn ncp_conforms_in_every_frame_type_signed_and_unsigned_with_and_without_bursts() {
    needs!([Need::NetworkNamespace]);
    in_own_network(|| {
        for frame in FRAMES {
            let server = server(frame);
            let checked = if frame == "raw" { "&sign=3" } else { "&sign=3&checksum=3" };
            // A window that adapts splits a record into several requests, which the suite counts.
            for options in ["", checked, "&profile=vlm-1.20&cache=off&window=22944"] {
                let text = at(frame, &format!("{PATIENT}{options}"));
                let target = NcpTarget::from_url(url(&text), Secret::new(Smbd::PASSWORD));
                // The receive buffer of the server's one socket holds the packets of few connections.
                let secret = Some(Smbd::PASSWORD.into());
                let suite = Suite { skip: SKIP, max_depth: 4, secret, ..Suite::default() };
                conform(&target.unwrap(), &suite);
            }
            assert_eq!(server.connections(), 0);
        }
    });
}

#[test]
fn sweeps_on_ethernet_are_verified_and_tshark_parses_every_frame() {
    needs!(Capture::NEEDS, [Need::NetworkNamespace]);
    in_own_network(|| {
        let capture = Capture::start_on(CLIENT_END).unwrap();
        let swept = ["", "&sign=3", "&burst=on&window=8192", "&checksum=2&lip=off"];
        let reads: usize = FRAMES.into_iter().zip(swept).map(|(frame, options)| sweep(frame, options)).sum();
        let captured = capture.stop().unwrap();
        let frames = Frames(captured.ipx_fields("ipx", &FIELDS).unwrap());
        let is = |name: &'static str, value: &'static str| frames.count(|frame| frame(name) == value);
        println!("{} frames, {reads} reads", frames.0.len());
        let read = frames.count(|frame| {
            (frame("ncp.type"), frame("ncp.func"), frame("ncp.subfunc")) == ("0x2222", "0x57", "64")
        });
        assert_eq!(read, reads, "no read was sent twice");
        let lonely =
            frames.count(|frame| frame("ncp.type") == "0x3333" && frame("ncp.req_frame_num").is_empty());
        // tshark takes some packets of control of a burst for calls.
        let malformed = frames.count(|frame| {
            !frame("_ws.malformed").is_empty() && !matches!(frame("ncp.system_flags.sys"), "1" | "True")
        });
        assert_eq!((malformed, lonely), (0, 0), "malformed, replies without request");
        assert!(is("ncp.type", "0x7777") >= 2 * 2 * 7, "packets of bursts");
        let sap = ["2", "3", "4"].map(|kind| is("ipxsap.packet_type", kind));
        assert!(sap[0] == 8 && sap[1] >= 4 && sap[1] == sap[2], "broadcasts, queries, replies: {sap:?}");
        let down = is("ipxsap.server.intermediate_networks", "16");
        let rip = ["1", "2"].map(|kind| is("ipxrip.packet_type", kind));
        assert!(rip[0] >= 4 && rip[1] == rip[0] + 8 && down == 4, "{rip:?}, {down} at the end");
        let checked = frames.count(|frame| !matches!(frame("ipx.checksum"), "0xffff" | ""));
        assert!(checked > 2 * 32 && checked < frames.0.len() / 2, "{checked} with checksum");
    });
}

/// What is asked of tshark about each frame.
const FIELDS: [&str; 10] = [
    "ncp.type",
    "ncp.func",
    "ncp.subfunc",
    "ncp.req_frame_num",
    "ncp.system_flags.sys",
    "_ws.malformed",
    "ipx.checksum",
    "ipxsap.packet_type",
    "ipxsap.server.intermediate_networks",
    "ipxrip.packet_type",
];

/// Frames of a capture by their [`FIELDS`].
struct Frames(Vec<Vec<String>>);

impl Frames {
    /// Counts the frames for which `found` is true; it reads fields by name.
    fn count<'f>(&'f self, found: impl Fn(&dyn Fn(&str) -> &'f str) -> bool) -> usize {
        let at = |name: &str| FIELDS.iter().position(|known| *known == name).unwrap();
        let field = |frame: &'f [String], name: &str| frame.get(at(name)).map_or("", String::as_str);
        self.0.iter().filter(|&frame| found(&|name| field(frame, name))).count()
    }
}

/// Sweeps what the program serves in a frame; how many reads that took by ordinary calls.
fn sweep(frame: &str, options: &str) -> usize {
    let sharebench = Sharebench::new().unwrap();
    std::fs::create_dir(sharebench.home().join("served")).unwrap();
    // Separate networks: tshark merges two connections with the same number and node address.
    let network = 16 + FRAMES.iter().position(|known| *known == frame).unwrap();
    let place = format!("{SERVER_END},{frame},{network:x}");
    let line = ["serve", "served", "--ncp-ether", &place, "--account", Served::USER];
    let mut served = sharebench.start(&line, "served.log").unwrap();
    served.wait_for_output("serving", PATIENCE).unwrap();
    let target = at(frame, &format!("{PATIENT}{options}"));
    let size = if options.contains("burst") { "--record-sizes=8KiB" } else { "--record-sizes=1024" };
    let run = sharebench.run(&[
        "sweep",
        &target,
        "--file-sizes=16KiB",
        size,
        "--tests=write,read",
        // Every read is a measured one.
        "--server-cache=as-is",
        "--repetitions=1",
        "plan:min_sample_time=1ms",
    ]);
    let run = run.unwrap().expect_success();
    served.signal(Signal::INT);
    served.wait(PATIENCE).unwrap();
    let stored = Stored::read(&sharebench, 1);
    assert_eq!(stored.steps.len(), 2, "{}", run.text());
    let read = stored.sum(0, &["bytes", "read"]);
    assert!(read > 0 && stored.sum(0, &["verified_bytes"]) == read);
    if options.contains("burst") { 0 } else { stored.operations(0, "read") as usize }
}

#[test]
fn mistakes_on_ethernet_are_reported_with_option_and_exit_code() {
    needs!([Need::NetworkNamespace], [Need::Program("setpriv")]);
    in_own_network(|| {
        let sharebench = Sharebench::new().unwrap();
        let _server = server("802.2");
        let few = ["--file-sizes=64KiB", "--record-sizes=512", "--tests=read", "--repetitions=1"];
        // The others are given the time to be heard.
        let nas = at("802.2", "&retry=200ms").replace("SHAREBENCH", "NAS");
        for (target, words) in [
            (nas, "no response from file server NAS with frame=802.2; responding servers: SHAREBENCH"),
            (at("snap", "&retry=1ms"), "no server responded"),
            (at("ii", "").replace(CLIENT_END, "nosuch0"), "no interface 'nosuch0'"),
            (at("ii", "").replace(CLIENT_END, "lo"), "'lo' is not an Ethernet interface"),
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
            (format!("serve --memory 1MiB --ncp-ether {SERVER_END} --account lab"), 2),
        ] {
            let script = format!("exec \"$0\" {arguments}");
            let line = [&without[..], &["sh", "-c", &script]].concat();
            let ended = sharebench.run_by(&line).unwrap();
            assert_eq!(ended.code, Some(code), "{}", ended.text());
            assert!(ended.stderr.contains("CAP_NET_RAW"), "{}", ended.stderr);
        }
        let place = format!("{SERVER_END},ii");
        let open = sharebench.run(&["serve", "--memory", "1MiB", "--ncp-ether", &place]).unwrap();
        assert!(open.code == Some(2) && open.stderr.contains("without accounts"), "{}", open.text());
    });
}
