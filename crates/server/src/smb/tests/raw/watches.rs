//! Change notification and named streams.

use sharebench_smb::wire::change_notify::{Action, ChangeNotifyRequest, filter, put_changes};

use super::*;

fn watch(raw: &mut Raw, directory: FileId) {
    let names = filter::FILE_NAME | filter::DIR_NAME | filter::STREAM_NAME;
    let request =
        ChangeNotifyRequest { output_len: 1024, file: directory, filter: names, ..Default::default() };
    let message = raw.message(command::CHANGE_NOTIFY, 0, |body| request.encode(body));
    raw.send(&message);
}

fn open_root(raw: &mut Raw) -> FileId {
    let request =
        CreateRequest { access: READ, options: options::DIRECTORY_FILE, ..wanted("", disposition::OPEN) };
    raw.create(&request).unwrap().file
}

#[test]
fn changes_arrive_when_they_happen_and_wait_for_the_next_request() {
    on_both(|server, _| {
        let mut watcher = Raw::log_in(server.addr(), "share");
        let mut other = Raw::log_in(server.addr(), "share");
        let root = open_root(&mut watcher);
        watch(&mut watcher, root);
        assert_eq!(watcher.status(), NtStatus::PENDING);
        let file = other.open("one", disposition::CREATE).unwrap();
        let expected = |action, name| {
            let mut out = Vec::new();
            put_changes([(action, name)].into_iter(), &mut out);
            out
        };
        let reply = watcher.receive().unwrap();
        assert_eq!(InfoResponse::decode(&reply).unwrap(), expected(Action::Added, "one"));
        // Between two requests.
        assert_eq!(other.set(file, DISPOSITION, vec![1]), NtStatus::SUCCESS);
        assert_eq!(other.close(file), NtStatus::SUCCESS);
        watch(&mut watcher, root);
        let reply = watcher.receive().unwrap();
        assert_eq!(InfoResponse::decode(&reply).unwrap(), expected(Action::Removed, "one"));
        watch(&mut watcher, root);
        assert_eq!(watcher.status(), NtStatus::PENDING);
        // The reply to the request and that to the close, in any order.
        let mut ended = [watcher.close(root), watcher.status()];
        ended.sort_by_key(|status| status.0);
        assert_eq!(ended, [NtStatus::SUCCESS, NtStatus::NOTIFY_CLEANUP]);
    });
}

#[test]
fn streams_are_listed_and_go_with_their_file() {
    on_both(|server, volume| {
        let mut raw = Raw::log_in(server.addr(), "share");
        let stream = raw.open("file:Named", disposition::CREATE).unwrap();
        assert_eq!(raw.write(stream, 2, b"bytes"), NtStatus::SUCCESS);
        assert_eq!(raw.open("file:named:$DATA", disposition::CREATE), Err(NtStatus::OBJECT_NAME_COLLISION));
        let again = raw.open("FILE:named", disposition::OPEN).unwrap();
        assert_eq!(raw.read(again, 0, 100), Ok(b"\0\0bytes".to_vec()));
        let listed = raw.query(again, 1, 22, 1024).unwrap();
        let text = sharebench_smb::wire::from_utf16(&listed[40 + 24..40 + 24 + 24]);
        assert_eq!((listed[40 + 8], &*text), (7, ":Named:$DATA"));
        for file in [stream, again] {
            assert_eq!(raw.close(file), NtStatus::SUCCESS);
        }
        let file = raw.open("file::$DATA", disposition::OPEN).unwrap();
        assert_eq!(raw.set(file, DISPOSITION, vec![1]), NtStatus::SUCCESS);
        assert_eq!(raw.close(file), NtStatus::SUCCESS);
        assert_eq!(volume.list(ROOT, 0, 10).unwrap(), []);
        assert_eq!(raw.open("file:named", disposition::OPEN), Err(NtStatus::OBJECT_NAME_NOT_FOUND));
    });
}
