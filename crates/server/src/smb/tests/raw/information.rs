//! Information about files, and what clients set of it.

use super::*;

#[test]
fn every_class_of_information_has_its_length() {
    on_both(|server, volume| {
        volume.create(ROOT, "name", 0o640).unwrap();
        let mut raw = Raw::log_in(server.addr(), "share");
        let file = raw.open("name", disposition::OPEN).unwrap();
        let lengths = [
            (1, 4, 40),
            (1, 5, 24),
            (1, 6, 8),
            (1, 7, 4),
            (1, 8, 4),
            (1, 9, 14),
            (1, 14, 8),
            (1, 16, 4),
            (1, 17, 4),
            (1, 18, 110),
            (1, 22, 38),
            (1, 28, 16),
            (1, 34, 56),
            (1, 35, 8),
            (1, 59, 24),
            (2, 1, 28),
            (2, 3, 24),
            (2, 4, 8),
            (2, 5, 20),
            (2, 7, 32),
            (2, 8, 64),
            (2, 11, 28),
            (3, 0, 128),
        ];
        for (info_type, class, len) in lengths {
            assert_eq!(
                raw.query(file, info_type, class, 65536).map(|bytes| bytes.len()),
                Ok(len),
                "{info_type} {class}"
            );
            let short = raw.query(file, info_type, class, 3).unwrap_err();
            let expected =
                if info_type == 3 { NtStatus::BUFFER_TOO_SMALL } else { NtStatus::INFO_LENGTH_MISMATCH };
            assert_eq!(short, expected, "{info_type} {class}");
        }
        assert_eq!(raw.query(file, 1, 99, 100), Err(NtStatus::INVALID_INFO_CLASS));
        assert_eq!(
            raw.query(file, 1, 48, 100),
            Err(NtStatus::NOT_SUPPORTED),
            "the dialect is older than 3.1.1"
        );
    });
}

#[test]
fn the_read_only_attribute_sizes_and_times_are_stored() {
    on_both(|server, volume| {
        let mut raw = Raw::log_in(server.addr(), "share");
        let file = raw.open("file", disposition::CREATE).unwrap();
        let mut basic = vec![0; 40];
        let ticks = 126_256_131_060_000_000_u64;
        basic[16..24].copy_from_slice(&ticks.to_le_bytes());
        basic[32] = 0x1 | 0x2;
        assert_eq!(raw.set(file, 4, basic.clone()), NtStatus::SUCCESS);
        let found = raw.query(file, 1, 4, 40).unwrap();
        assert_eq!((&found[16..24], found[32] & 1), (&ticks.to_le_bytes()[..], 1));
        assert_eq!(raw.open("file", disposition::OPEN), Err(NtStatus::ACCESS_DENIED));
        assert_eq!(raw.set(file, DISPOSITION, vec![1]), NtStatus::CANNOT_DELETE);
        basic[32] = 0x80;
        assert_eq!(raw.set(file, 4, basic), NtStatus::SUCCESS);
        assert_eq!(raw.set(file, 20, (1u64 << 40).to_le_bytes().to_vec()), NtStatus::SUCCESS);
        assert_eq!(volume.lookup(ROOT, "file").unwrap().size, 1 << 40);
        assert_eq!(raw.set(file, 19, 7u64.to_le_bytes().to_vec()), NtStatus::SUCCESS);
        assert_eq!(volume.lookup(ROOT, "file").unwrap().size, 7);
    });
}
