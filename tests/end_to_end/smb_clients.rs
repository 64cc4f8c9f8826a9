//! SMB clients of other projects against the embedded server.

use sharebench_tests::{Need, Served, Sharebench, Smbd, needs, python};

#[test]
fn clients_written_in_python_read_what_they_wrote() {
    needs!([Need::PythonModule("impacket"), Need::PythonModule("smb"), Need::PythonModule("smbclient")]);
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/smb_clients.py");
    let port = served.smb_port.to_string();
    let place = [script, "127.0.0.1", &port, "share", Served::USER, Smbd::PASSWORD];
    let output = python().args(place).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
}
