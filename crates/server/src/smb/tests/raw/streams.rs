//! Names of streams as Windows sends them.

use super::*;

#[test]
fn the_name_of_a_stream_may_have_control_characters() {
    on_both(|server, volume| {
        let mut raw = Raw::log_in(server.addr(), "share");
        let name = "file:\u{5}SummaryInformation:$DATA";
        assert_eq!(raw.open(name, disposition::OPEN), Err(NtStatus::OBJECT_NAME_NOT_FOUND));
        let stream = raw.open(name, disposition::CREATE).unwrap();
        assert_eq!(raw.write(stream, 0, b"title"), NtStatus::SUCCESS);
        assert_eq!(raw.close(stream), NtStatus::SUCCESS);
        let again = raw.open(name, disposition::OPEN).unwrap();
        assert_eq!(raw.read(again, 0, 100).unwrap(), b"title");
        let file = volume.lookup(ROOT, "file").unwrap();
        let streams = volume.streams(file.node).unwrap();
        assert_eq!(
            streams.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(),
            ["\u{5}SummaryInformation"]
        );
        for name in ["file:a\0b", "\u{5}file"] {
            assert_eq!(raw.open(name, disposition::OPEN_IF), Err(NtStatus::OBJECT_NAME_INVALID), "{name:?}");
        }
    });
}
