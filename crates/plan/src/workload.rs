//! Built-in workloads: transactions over a data set.

/// Which way a copy goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyDirection {
    /// Client memory to the target.
    ToServer,
    /// The target to client memory.
    FromServer,
}

/// One file of the data set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataFile {
    /// Name on the target.
    pub name: &'static str,
    /// Length in bytes.
    pub bytes: u64,
}

/// How much of its file a transaction moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// All of it: open, one operation per block, close.
    WholeFile,
    /// One block at a random place of a file that stays open: one operation.
    OneBlock,
}

/// One transaction on one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transaction {
    /// Index into [`Workload::files`].
    pub file: usize,
    /// Which way.
    pub direction: CopyDirection,
    /// How much.
    pub extent: Extent,
}

/// A mix of transactions, performed by each motor in an order of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workload {
    /// Name in plans.
    pub name: &'static str,
    /// The data set: read by all motors, written by each under names of its own.
    pub files: Vec<DataFile>,
    /// One round; each round has a new random order.
    pub transactions: Vec<Transaction>,
    /// Bytes per operation.
    pub block: u32,
}

/// Names of the built-in workloads with a line on each.
pub const WORKLOADS: [(&str, &str); 5] = [
    (
        "copy-all-bidirectional",
        "16 transactions: each of eight data types copied to and from the server (after Dynameasure, 1997; sizes per type are a reconstruction)",
    ),
    (
        "copy-all-to-server",
        "the eight copies to the server only, so that no client cache can help (after Dynameasure, 1997)",
    ),
    ("copy-all-from-server", "the eight copies from the server only"),
    (
        "single-read",
        "one read of a block at a random place of one file of all users: queueing without copies",
    ),
    ("single-write", "one write of a block at a random place of a file of the user's own"),
];

/// The eight data types and their share of the data set in thousandths. The published facts give the
/// types and the sum; this spread is ours: images and data large, text small, compressed about half.
const TYPES: [(&str, u64); 8] = [
    ("data-plain", 230),
    ("data-compressed", 110),
    ("image-plain", 250),
    ("image-compressed", 120),
    ("binary-plain", 140),
    ("binary-compressed", 70),
    ("text-plain", 50),
    ("text-compressed", 30),
];

impl Workload {
    /// The built-in workload of that name over a data set of `scale` bytes.
    pub fn built_in(name: &str, scale: u64, block: u32) -> Option<Self> {
        let (name, _) = WORKLOADS.into_iter().find(|(known, _)| *known == name)?;
        let single = |direction| {
            // Whole blocks only, so that every place is as likely as any other.
            let step = u64::from(block).max(1);
            let bytes = (scale / step).max(1) * step;
            let files = vec![DataFile { name: "blocks", bytes }];
            let transactions = vec![Transaction { file: 0, direction, extent: Extent::OneBlock }];
            Some(Self { name, files, transactions, block })
        };
        match name {
            "single-read" => return single(CopyDirection::FromServer),
            "single-write" => return single(CopyDirection::ToServer),
            _ => {}
        }
        let files: Vec<DataFile> = TYPES
            .into_iter()
            .map(|(name, share)| DataFile { name, bytes: (scale.saturating_mul(share) / 1000).max(1) })
            .collect();
        let directions: &[CopyDirection] = match name {
            "copy-all-to-server" => &[CopyDirection::ToServer],
            "copy-all-from-server" => &[CopyDirection::FromServer],
            _ => &[CopyDirection::ToServer, CopyDirection::FromServer],
        };
        let transactions = (0..files.len())
            .flat_map(|file| {
                directions.iter().map(move |&direction| Transaction {
                    file,
                    direction,
                    extent: Extent::WholeFile,
                })
            })
            .collect();
        Some(Self { name, files, transactions, block })
    }

    /// True when motors read the shared data set.
    pub fn reads(&self) -> bool {
        self.transactions.iter().any(|transaction| transaction.direction == CopyDirection::FromServer)
    }

    /// True when motors write copies of their own.
    pub fn writes(&self) -> bool {
        self.transactions.iter().any(|transaction| transaction.direction == CopyDirection::ToServer)
    }

    /// Bytes of the data set and of every motor's copies.
    pub fn bytes_on_target(&self, motors: u32) -> u64 {
        let set: u64 = self.files.iter().map(|file| file.bytes).sum();
        let copies = if self.writes() { u64::from(motors) } else { 0 };
        set.saturating_mul(copies + u64::from(self.reads()))
    }
}
