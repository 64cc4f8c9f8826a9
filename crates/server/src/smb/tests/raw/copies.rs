//! Control codes of files: `FSCTL_SRV_COPYCHUNK` (MS-SMB2 3.3.5.15.6), and compression, which there is none of.

use sharebench_smb::wire::copy_chunk::{
    COPY_CHUNK, COPY_CHUNK_WRITE, Chunk, CopyChunkResponse, REQUEST_RESUME_KEY, put_copy, resume_key,
};
use sharebench_smb::wire::ioctl::{IoctlRequest, output};

use super::*;

/// Bytes of the source.
const SIZE: u32 = 8192;

impl Raw {
    /// The status of a control code, and its output, which a failed copy may also have.
    fn control(&mut self, code: u32, file: FileId, input: Vec<u8>) -> (NtStatus, Vec<u8>) {
        let request = IoctlRequest { code, file, input, max_output: 64 };
        let (header, reply) = self.call(command::IOCTL, |body| request.encode(body));
        (NtStatus(header.status), output(&reply).map(<[u8]>::to_vec).unwrap_or_default())
    }
}

/// A target, its chunks as source, target and length, the status, and the body of the reply.
type Case<'a> = (FileId, &'a [[u32; 3]], NtStatus, CopyChunkResponse);

fn copied(chunks: u32, chunk_bytes: u32, total_bytes: u32) -> CopyChunkResponse {
    CopyChunkResponse { chunks, chunk_bytes, total_bytes }
}

#[test]
fn copies_within_a_file_and_failed_ones_say_what_they_have_copied() {
    on_memory_and_directory("copies", |server, _| {
        let mut raw = Raw::log_in(server.addr(), "share");
        let data: Vec<u8> = (0..SIZE).map(|at| (at % 251) as u8).collect();
        let source = raw.open("source", disposition::CREATE).unwrap();
        let other = raw.open("other", disposition::CREATE).unwrap();
        let stream = raw.open("source:stream", disposition::CREATE).unwrap();
        assert_eq!(raw.write(source, 0, &data), NtStatus::SUCCESS);
        let key = resume_key(&raw.control(REQUEST_RESUME_KEY, source, Vec::new()).1).unwrap();
        let cases: [Case<'_>; 11] = [
            (other, &[[0, 0, SIZE]], NtStatus::SUCCESS, copied(1, 0, SIZE)),
            (stream, &[[0, 0, 1024]], NtStatus::SUCCESS, copied(1, 0, 1024)),
            (source, &[[0, SIZE, 4096]], NtStatus::SUCCESS, copied(1, 0, 4096)),
            (source, &[[0, 0, 4096]], NtStatus::SUCCESS, copied(1, 0, 4096)),
            (source, &[[0, 100, 4096]], NtStatus::SUCCESS, copied(1, 0, 4096)),
            (source, &[[300, 100, 4096], [0, 5000, 10]], NtStatus::SUCCESS, copied(2, 0, 4106)),
            (other, &[[10, 0, 2 * SIZE]], NtStatus::INVALID_VIEW_SIZE, copied(0, 0, 0)),
            (other, &[[0, 0, 10], [2 * SIZE, 10, 1]], NtStatus::INVALID_VIEW_SIZE, copied(1, 0, 10)),
            (other, &[[0, 0, 0]], NtStatus::INVALID_PARAMETER, copied(256, 1 << 20, 16 << 20)),
            (other, &[[0, 0, (1 << 20) + 1]], NtStatus::INVALID_PARAMETER, copied(256, 1 << 20, 16 << 20)),
            (other, &[[0, 0, 1]; 257], NtStatus::INVALID_PARAMETER, copied(256, 1 << 20, 16 << 20)),
        ];
        let mut expected = data.clone();
        for (nth, (target, chunks, status, body)) in cases.into_iter().enumerate() {
            let chunk = |[source, target, len]: &[u32; 3]| Chunk {
                source: u64::from(*source),
                target: u64::from(*target),
                len: *len,
            };
            let chunks: Vec<Chunk> = chunks.iter().map(chunk).collect();
            let mut input = Vec::new();
            put_copy(&key, &chunks, &mut input);
            let (found, output) = raw.control(COPY_CHUNK, target, input);
            assert_eq!((found, CopyChunkResponse::decode(&output)), (status, Ok(body)), "case {nth}");
            if target == source {
                for chunk in chunks {
                    let target = chunk.target as usize;
                    let copied = chunk.source as usize..chunk.source as usize + chunk.len as usize;
                    expected.resize(expected.len().max(target + copied.len()), 0);
                    expected.copy_within(copied, target);
                }
                assert_eq!(raw.read(source, 0, 3 * SIZE), Ok(expected.clone()), "case {nth}");
            }
        }
        assert_eq!(raw.read(other, 0, 2 * SIZE).unwrap().len(), SIZE as usize);
        assert_eq!(raw.read(stream, 0, SIZE).unwrap(), data[..1024]);
        // A target that the client may not write has no body.
        let readable = CreateRequest { access: READ, ..wanted("other", disposition::OPEN) };
        let readable = raw.create(&readable).unwrap().file;
        let mut input = Vec::new();
        put_copy(&key, &[Chunk { source: 0, target: 0, len: 1 }], &mut input);
        assert_eq!(raw.control(COPY_CHUNK_WRITE, readable, input).0, NtStatus::ACCESS_DENIED);
    });
}

#[test]
fn a_file_can_only_be_set_not_to_be_compressed() {
    const SET_COMPRESSION: u32 = 0x0009_C040;
    on_both(|server, _| {
        let mut raw = Raw::log_in(server.addr(), "share");
        let file = raw.open("file", disposition::CREATE).unwrap();
        for (input, status) in [
            (&[0, 0][..], NtStatus::SUCCESS),
            (&[1, 0], NtStatus::NOT_SUPPORTED),
            (&[2, 0], NtStatus::NOT_SUPPORTED),
            (&[0], NtStatus::INVALID_PARAMETER),
        ] {
            assert_eq!(raw.control(SET_COMPRESSION, file, input.to_vec()).0, status, "{input:?}");
        }
    });
}
