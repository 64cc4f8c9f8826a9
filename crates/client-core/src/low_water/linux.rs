//! The low-water mark of Linux (`SO_RCVLOWAT`).

use std::sync::OnceLock;

use tokio::net::TcpStream;

use crate::socket_option;

/// First version that enlarges the receive buffer for a mark, and that reports data when a mark moves below what is there
/// (`tcp_set_rcvlowat`). With an older one a reader could wait for ever.
const SINCE: (u32, u32) = (4, 18);

/// Moves the mark to a number of bytes; false if the kernel does not support that.
pub(super) fn set(stream: &TcpStream, bytes: usize) -> bool {
    static SUPPORTED: OnceLock<bool> = OnceLock::new();
    let release = || std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    if !SUPPORTED.get_or_init(|| version(&release()) >= Some(SINCE)) {
        return false;
    }
    libc::c_int::try_from(bytes).is_ok_and(|mark| socket_option::set(stream, libc::SO_RCVLOWAT, mark))
}

/// The first two numbers of a release such as `6.1.0-18-amd64`.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map_while(|word| word.parse().ok());
    Some((numbers.next()?, numbers.next()?))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    use super::{SINCE, version};
    use crate::low_water::LowWater;

    #[test]
    fn kernels_are_compared_by_their_version() {
        assert_eq!(version("6.1.0-18-amd64\n"), Some((6, 1)));
        assert!(version("4.17.19") < Some(SINCE) && version("4.18.0-477.el8.x86_64") >= Some(SINCE));
        assert!(version("10.0-rc1") >= Some(SINCE));
        assert_eq!((version(""), version("5"), version("linux-6.1")), (None, None, None));
    }

    /// The mark is above what arrives first, below it when the end arrives, and never keeps a small message back.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn large_and_small_messages_arrive_completely_in_turns() {
        const LARGE: usize = 1 << 20;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (mut server, _) = listener.accept().await.unwrap();
        let sent: Vec<u8> = (0..LARGE).map(|n| (n % 251) as u8).collect();
        let expected = sent.clone();
        let answers = tokio::spawn(async move {
            let mut request = [0];
            while server.read_exact(&mut request).await.is_ok() {
                let len = if request[0] == 0 { 1 } else { LARGE };
                // In pieces, so that the reader is between them.
                for piece in sent[..len].chunks(100_000) {
                    server.write_all(piece).await.unwrap();
                    tokio::task::yield_now().await;
                }
            }
        });
        let mut mark = LowWater::default();
        let mut received = vec![0; LARGE];
        for large in [1u8, 0, 1, 1, 0, 0, 1] {
            client.write_all(&[large]).await.unwrap();
            let len = if large == 0 { 1 } else { LARGE };
            let mut filled = 0;
            while filled < len {
                mark.expect(&client, if large == 0 { 0 } else { len - filled });
                let read = client.read(&mut received[filled..len]);
                filled += tokio::time::timeout(Duration::from_secs(60), read).await.unwrap().unwrap();
            }
            assert_eq!(received[..len], expected[..len]);
        }
        // The mark is what is certain to arrive without its end, and one byte for anything else.
        for (bytes, expected) in
            [(LARGE, LARGE - (128 << 10)), ((256 << 10) - 1, 1), (256 << 10, 128 << 10), (0, 1)]
        {
            mark.expect(&client, bytes);
            assert_eq!(mark.mark, expected);
        }
        drop(client);
        answers.await.unwrap();
    }
}
