//! Copies of file data.

/// Bytes that are moved at once: a few instructions of the widest registers that every processor of the target has.
const BLOCK: usize = 128;
/// Below it, the call of the C library costs less than what it loses.
const LEAST: usize = 1024;

/// Copies `from` to the front of `to`, as far as both reach, and returns the number of bytes.
///
/// `memcpy` of musl moves words with one string instruction. Where source and destination differ in their position within a
/// word, as they do after the headers of replies, the processor needs a fifth longer for that (docs/adr/0077). Blocks that
/// the compiler moves by itself do not have this weakness; it must not see that they are neighbours, because it would call
/// `memcpy` for all of them.
#[inline]
pub(super) fn copy(from: &[u8], to: &mut [u8]) -> usize {
    let count = from.len().min(to.len());
    let from = &from[..count];
    let to = &mut to[..count];
    if cfg!(not(target_env = "musl")) || count < LEAST {
        to.copy_from_slice(from);
        return count;
    }
    let (source, source_rest) = from.as_chunks::<BLOCK>();
    let (blocks, rest) = to.as_chunks_mut::<BLOCK>();
    for (to, from) in blocks.iter_mut().zip(source) {
        *to = *from;
        std::hint::black_box(&mut *to);
    }
    rest.copy_from_slice(source_rest);
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_and_position_is_copied() {
        let from: Vec<u8> = (0..4200u32).map(|at| (at % 251) as u8).collect();
        for (start, len) in [(0, 4200), (1, 1023), (4, 1024), (5, 1025), (7, 3000), (9, 128), (0, 0)] {
            let mut to = vec![0; len + 3];
            assert_eq!(copy(&from[start..start + len], &mut to[3..]), len);
            assert_eq!(&to[3..], &from[start..start + len]);
            assert_eq!(to[..3], [0; 3]);
        }
    }
}
