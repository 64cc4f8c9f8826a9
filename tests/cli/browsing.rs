//! `report` in its other forms: pictures, a workbook, tables in a file, and the results database in the browser.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use sharebench_tests::program::PATIENCE;
use sharebench_tests::{Browser, Program, Reader, Sharebench, needs};

fn measured(sharebench: &Sharebench, runs: usize) {
    for name in ["one", "two"] {
        fs::create_dir(sharebench.home().join(name)).unwrap();
    }
    let line = ["sweep", "./one", "./two", "--file-sizes", "64KiB,256KiB", "--record-sizes", "4KiB,16KiB"];
    let more = [
        "--tests",
        "read",
        "--repetitions",
        "6",
        "plan:min_sample_time=1ms",
        "--quiet",
        "--title",
        "nas <b>",
    ];
    for _ in 0..runs {
        let _ = sharebench.run(&[&line[..], &more[..]].concat()).unwrap().expect_success();
    }
}

#[test]
fn extension_of_the_file_name_selects_the_format() {
    let sharebench = Sharebench::new().unwrap();
    measured(&sharebench, 1);
    for (file, begin) in [("a.html", "<!doctype html>"), ("a.xlsx", "PK")] {
        let _ = sharebench.run(&["report", "1", "-o", file]).unwrap().expect_success();
        let bytes = fs::read(sharebench.home().join(file)).unwrap();
        assert!(bytes.starts_with(begin.as_bytes()), "{file}: {:?}", String::from_utf8_lossy(&bytes[..20]));
    }
    let book = fs::read(sharebench.home().join("a.xlsx")).unwrap();
    // The parts of a workbook are compressed, their names are not: one for each of the sheets `findings` and `read`.
    let text = String::from_utf8_lossy(&book);
    assert!(text.contains("xl/worksheets/sheet2.xml") && !text.contains("xl/worksheets/sheet3.xml"));
    for (format, begin) in [("md", "# nas"), ("json", "{"), ("csv", "section,"), ("text", "nas <b>")] {
        let printed = sharebench.run(&["show", "1", "--format", format]).unwrap().expect_success();
        assert!(printed.stdout.starts_with(begin), "{format}: {}", printed.text());
        let file = sharebench.run(&["report", "1", "-o", &format!("a.{format}")]).unwrap();
        assert!(file.code == Some(2) && file.stderr.contains("--format md"), "{}", file.text());
    }
    let printed = sharebench.run(&["show", "1", "--format", "csv"]).unwrap().expect_success();
    assert_eq!(printed.stdout.lines().count(), 5);
    let refused = sharebench.run(&["report", "1"]).unwrap();
    assert!(refused.code == Some(2) && refused.stderr.contains("--output"), "{}", refused.text());
}

#[test]
fn every_chart_is_exported_as_an_image() {
    needs!(Browser::NEEDS);
    let sharebench = Sharebench::new().unwrap();
    measured(&sharebench, 1);
    let _ = sharebench.run(&["report", "1", "--images", "slides"]).unwrap().expect_success();
    let mut names: Vec<String> = fs::read_dir(sharebench.home().join("slides"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    for part in
        ["read-ratio-two-one.svg", "read-throughput-64KiB.png", "read-percentiles.svg", "run-timeline.png"]
    {
        assert!(names.iter().any(|name| name.ends_with(part)), "no {part} among {names:?}");
    }
    for name in &names {
        let bytes = fs::read(sharebench.home().join("slides").join(name)).unwrap();
        let begin: &[u8] = if name.ends_with("svg") { b"<svg" } else { b"\x89PNG" };
        assert!(bytes.starts_with(begin) && bytes.len() > 2000, "{name}: {} bytes", bytes.len());
    }
    let none = sharebench.run(&["report", "1", "--images", "x", "--browser", "/nonexistent"]).unwrap();
    assert!(none.code == Some(2) && none.stderr.contains("/nonexistent"), "{}", none.text());
}

/// Status line and body of a GET by hand.
fn ask(address: &str, request: &str) -> String {
    let mut connection = TcpStream::connect(address).unwrap();
    connection.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    connection.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    // A refusal may come before all was sent.
    let _ = connection.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

/// The printed address of the pages: host with port, and the path with the token.
fn address(program: &mut Program) -> (String, String) {
    program.wait_for_output("Ctrl-C", PATIENCE).unwrap();
    let output = program.output();
    let url = output.split_once("http://").unwrap().1.split(' ').next().unwrap();
    let (at, path) = url.split_once('/').unwrap();
    (at.to_owned(), format!("/{}", path.trim_end_matches('/')))
}

#[test]
fn results_pages_are_served_to_this_machine_only() {
    let sharebench = Sharebench::new().unwrap();
    measured(&sharebench, 2);
    let before = fs::read(sharebench.home().join("sharebench.db")).unwrap();
    let mut served = sharebench.start(&["report", "--serve"], "serve.log").unwrap();
    let (at, token) = address(&mut served);
    let request = |target: &str| ask(&at, &format!("GET {target} HTTP/1.1\r\nHost: {at}\r\n\r\n"));
    let get = |target: &str| request(&format!("{token}{target}"));
    let list = get("/");
    assert!(list.starts_with("HTTP/1.1 200 OK") && list.contains("2 of 2"), "{list}");
    assert!(list.contains("nas &lt;b&gt;") && !list.contains("<b>nas"), "{list}");
    assert!(get("/?q=nothing").contains("0 of 2"));
    let both = get("/report?run=1&run=2");
    assert!(both.starts_with("HTTP/1.1 200 OK") && both.contains("id=\"answer\""), "{both:.300}");
    for (target, status) in [
        ("/report?run=9", "404"),
        ("/report", "400"),
        ("/report?run=-1", "400"),
        ("/x/../etc/passwd", "404"),
        ("/%00", "404"),
    ] {
        assert!(get(target).starts_with(&format!("HTTP/1.1 {status}")), "{target}");
    }
    for target in ["/", "/report?run=1", "/../etc/passwd", "//", "/%00"] {
        assert!(request(target).starts_with("HTTP/1.1 403"), "{target}");
    }
    assert!(ask(&at, "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n").contains("421"));
    assert!(ask(&at, &format!("DELETE {token}/ HTTP/1.1\r\nHost: {at}\r\n\r\n")).contains("405"));
    assert!(
        ask(&at, &"x".repeat(20_000)).starts_with("HTTP/1.1 431")
            || ask(&at, "x y z\r\n\r\n").contains("400")
    );
    assert_eq!(fs::read(sharebench.home().join("sharebench.db")).unwrap(), before, "nothing is changed");
    let refused = sharebench.run(&["report", "--serve", "0.0.0.0:0"]).unwrap();
    assert!(refused.code == Some(2) && refused.stderr.contains("loopback"), "{}", refused.text());
}

#[test]
fn links_and_forms_of_the_results_pages_work_in_a_browser() {
    needs!(Reader::NEEDS);
    let sharebench = Sharebench::new().unwrap();
    measured(&sharebench, 2);
    let mut served = sharebench.start(&["report", "--serve"], "serve.log").unwrap();
    let (at, token) = address(&mut served);
    let seen = Reader::browse(&format!("http://{at}{token}/")).unwrap();
    let pages: Vec<_> = seen["pages"].as_array().unwrap().iter().collect();
    let steps: Vec<_> = pages.iter().map(|page| page["step"].as_str().unwrap()).collect();
    assert_eq!(steps, ["list", "reload", "filter", "report", "reload report", "back", "compare"], "{seen}");
    assert!(pages.iter().all(|page| page["status"] == 200), "{seen}");
    assert_eq!(seen["console"], serde_json::json!([]), "{seen}");
    assert_eq!(seen["violations"], serde_json::json!([]), "{seen}");
    let urls = seen["requests"].as_array().unwrap();
    assert!(urls.iter().all(|url| url.as_str().unwrap().contains(&token)), "{seen}");
    let bare = Reader::browse(&format!("http://{at}/")).unwrap();
    assert_eq!(bare["pages"][0]["status"], 403, "{bare}");
}
