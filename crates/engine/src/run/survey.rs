//! An inventory of a share: sizes, types and depths of its files. Names are looked at, and never kept.

use std::collections::BTreeMap;
use std::time::Duration;

use sharebench_model::{Entry, ErrorClass, MetaOp, MetaYield, OpError, OpStep, Random};
use sharebench_plan::{DataKind, DataType, Verify};
use sharebench_target::{Session, SessionSpec, Target, is_working_directory};

use crate::data::context::PassContext;
use crate::data::listed_pages::{ListedPages, child_path};
use crate::run::first_connection::connect_first;
use crate::run::start_error::StartError;
use crate::time::clock::Clock;
use crate::time::deadline::Deadline;
use crate::time::stop::StopSignal;

/// Extensions of names whose type of data is known, and whether that data is compressed. Every other name counts as
/// plain data.
const EXTENSIONS: [(&str, DataKind, bool); 44] = [
    ("txt", DataKind::Text, false),
    ("log", DataKind::Text, false),
    ("csv", DataKind::Text, false),
    ("md", DataKind::Text, false),
    ("html", DataKind::Text, false),
    ("xml", DataKind::Text, false),
    ("json", DataKind::Text, false),
    ("c", DataKind::Text, false),
    ("h", DataKind::Text, false),
    ("rs", DataKind::Text, false),
    ("py", DataKind::Text, false),
    ("js", DataKind::Text, false),
    ("java", DataKind::Text, false),
    ("doc", DataKind::Text, false),
    ("docx", DataKind::Text, true),
    ("odt", DataKind::Text, true),
    ("pdf", DataKind::Text, true),
    ("pptx", DataKind::Text, true),
    ("xlsx", DataKind::Data, true),
    ("zip", DataKind::Data, true),
    ("gz", DataKind::Data, true),
    ("xz", DataKind::Data, true),
    ("zst", DataKind::Data, true),
    ("7z", DataKind::Data, true),
    ("rar", DataKind::Data, true),
    ("bmp", DataKind::Image, false),
    ("tif", DataKind::Image, false),
    ("tiff", DataKind::Image, false),
    ("psd", DataKind::Image, false),
    ("jpg", DataKind::Image, true),
    ("jpeg", DataKind::Image, true),
    ("png", DataKind::Image, true),
    ("gif", DataKind::Image, true),
    ("webp", DataKind::Image, true),
    ("mp3", DataKind::Image, true),
    ("mp4", DataKind::Image, true),
    ("mkv", DataKind::Image, true),
    ("mov", DataKind::Image, true),
    ("exe", DataKind::Binary, false),
    ("dll", DataKind::Binary, false),
    ("so", DataKind::Binary, false),
    ("o", DataKind::Binary, false),
    ("msi", DataKind::Binary, true),
    ("deb", DataKind::Binary, true),
];

/// Seed of the sample.
const SAMPLE_SEED: u64 = 1;
/// Refusals that are kept with their names.
const SHOWN_REFUSALS: usize = 5;
/// Larger sizes count as this one, so that sums and size classes stay within 64 bits.
const MAX_FILE_BYTES: u64 = 1 << 62;
/// Maximum bytes of the names of the directories that wait to be listed.
const MAX_PENDING_BYTES: usize = 16 << 20;

/// Files of one type of data: the number of files per size class. Sizes are rounded up to a power of two.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SurveyedType {
    /// Upper end of a size class in bytes -> files in it.
    pub sizes: BTreeMap<u64, u64>,
    /// Their bytes.
    pub bytes: u64,
}

/// A directory or file that could not be read, with the reason. It has a name, so it is for the terminal only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Its path on the target.
    pub path: String,
    /// The reason.
    pub error: OpError,
}

/// The inventory of a share: numbers of files by type, size and depth. It contains no names except those of the
/// refusals, so that a user can pass the others on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Survey {
    /// By type of data.
    pub types: BTreeMap<DataType, SurveyedType>,
    /// Levels of directories above a file -> files there.
    pub depths: BTreeMap<u32, u64>,
    /// Directories that were listed.
    pub directories: u64,
    /// Entries of all of them.
    pub entries: u64,
    /// Empty files, which belong to no type.
    pub empty: u64,
    /// Files that the share has.
    pub seen: u64,
    /// The share has more files than the survey may describe, so that it describes a random sample of them.
    pub is_sample: bool,
    /// Names that could not be read, for example for lack of permission.
    pub refused: u64,
    /// The first of them.
    pub refusals: Vec<Refusal>,
}

impl Survey {
    /// Files with content.
    pub fn files(&self) -> u64 {
        self.types.values().flat_map(|found| found.sizes.values()).sum()
    }

    /// Files that the survey describes.
    pub fn described(&self) -> u64 {
        self.files() + self.empty
    }

    fn add(&mut self, file: SampledFile) {
        *self.depths.entry(file.depth).or_default() += 1;
        if file.size == 0 {
            self.empty += 1;
            return;
        }
        let found = self.types.entry(file.data).or_default();
        // Size classes keep the survey small, whatever the number of files.
        *found.sizes.entry(file.size.next_power_of_two().max(512)).or_default() += 1;
        found.bytes = found.bytes.saturating_add(file.size);
    }

    fn refuse(&mut self, path: String, error: OpError) {
        self.refused += 1;
        if self.refusals.len() < SHOWN_REFUSALS {
            self.refusals.push(Refusal { path, error });
        }
    }
}

/// What a survey keeps of a file.
#[derive(Debug, Clone, Copy)]
struct SampledFile {
    size: u64,
    depth: u32,
    data: DataType,
}

/// A random sample of the files of a share, taken in one pass over a number of files that is known only at its end
/// (Vitter, "Random sampling with a reservoir", 1985, algorithm R). Every file is in the sample with the same probability. The
/// seed is fixed, so that the same share in the same order gives the same sample.
struct Sample {
    max: u64,
    seen: u64,
    random: Random,
    files: Vec<SampledFile>,
}

/// The place of a file in the sample.
struct Place(usize);

impl Sample {
    fn new(max: u64) -> Self {
        Self { max, seen: 0, random: Random::new(SAMPLE_SEED, 0), files: Vec::new() }
    }

    /// Counts the next file; returns its place if it belongs to the sample.
    fn choose(&mut self) -> Option<Place> {
        self.seen += 1;
        let len = self.files.len() as u64;
        if len < self.max {
            return Some(Place(self.files.len()));
        }
        let place = self.random.below(self.seen);
        (place < self.max).then_some(Place(place as usize))
    }

    fn put(&mut self, place: &Place, file: SampledFile) {
        match self.files.get_mut(place.0) {
            Some(sampled) => *sampled = file,
            None => self.files.push(file),
        }
    }
}

/// The directories of a walk that are known and not yet listed. The walk lists the deepest one first, so that only the
/// siblings of each level wait. Their names share one text for each level, because a share may have a million
/// directories.
#[derive(Default)]
struct PendingDirectories {
    levels: Vec<Level>,
    bytes: usize,
}

/// Directories with the same parent.
struct Level {
    parent: String,
    /// Each name ends with a NUL, which no name contains.
    names: String,
}

impl PendingDirectories {
    fn push(&mut self, parent: &str, names: String) -> Result<(), OpError> {
        if names.is_empty() {
            return Ok(());
        }
        self.bytes += names.len();
        if self.bytes > MAX_PENDING_BYTES {
            let mib = MAX_PENDING_BYTES >> 20;
            let detail =
                format!("the names of the directories that wait to be listed exceed {mib} MiB at '{parent}'");
            return Err(OpError::new(ErrorClass::Unsupported, OpStep::Path, detail));
        }
        self.levels.push(Level { parent: parent.to_owned(), names });
        Ok(())
    }

    /// The next directory, and the number of levels above it.
    fn pop(&mut self) -> Option<(Result<String, OpError>, u32)> {
        loop {
            let depth = self.levels.len() as u32;
            let level = self.levels.last_mut()?;
            let Some(names) = level.names.strip_suffix('\0') else {
                self.levels.pop();
                continue;
            };
            let start = names.rfind('\0').map_or(0, |end| end + 1);
            let path = child_path(&level.parent, &names[start..]);
            self.bytes -= level.names.len() - start;
            level.names.truncate(start);
            return Some((path, depth));
        }
    }
}

/// The type of data that the extension of a name stands for.
fn type_of(name: &str) -> DataType {
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension).to_ascii_lowercase();
    let known = EXTENSIONS.iter().find(|(known, ..)| *known == extension);
    known.map_or(DataType { kind: DataKind::Data, compressed: false }, |(_, kind, compressed)| DataType {
        kind: *kind,
        compressed: *compressed,
    })
}

/// Surveys a target, of which it describes up to `max_files` files. It changes nothing there. Its memory depends on
/// `max_files` and on the number of directories that wait to be listed, but not on the size of the share.
pub fn survey(target: &dyn Target, max_files: u64, timeout: Duration) -> Result<Survey, StartError> {
    let clock = Clock::start();
    let stop = StopSignal::default();
    let found = clock.block_on(async {
        let deadline = Deadline::new(&clock, timeout);
        let context = PassContext::new(&clock, &stop, Verify::Off, deadline);
        let spec = SessionSpec { slots: 1, slot_bytes: 4096, connect_timeout: timeout, allow_split: false };
        let session = connect_first(target, &spec).await?;
        let mut walk = Walk {
            session,
            context,
            pending: PendingDirectories::default(),
            sample: Sample::new(max_files),
            survey: Survey::default(),
        };
        walk.run().await.map_err(|error| failed(target, error))?;
        walk.session.close().await;
        let mut survey = walk.survey;
        survey.seen = walk.sample.seen;
        survey.is_sample = survey.seen > max_files;
        walk.sample.files.into_iter().for_each(|file| survey.add(file));
        Ok(survey)
    });
    found.unwrap_or_else(|error| Err(StartError::Runtime(error.to_string())))
}

/// A survey in progress.
struct Walk<'a> {
    session: Box<dyn Session>,
    context: PassContext<'a>,
    pending: PendingDirectories,
    sample: Sample,
    survey: Survey,
}

impl Walk<'_> {
    async fn run(&mut self) -> Result<(), OpError> {
        // Without its top directory there is no share to look at.
        self.list("", 0).await?;
        while let Some((path, depth)) = self.pending.pop() {
            let path = path?;
            match self.list(&path, depth).await {
                Ok(()) => {}
                // Each further directory would only wait for the same timeout, and the survey would look complete.
                Err(error) if error.class.ends_connection() => return Err(error),
                // Some directories are locked.
                Err(error) => self.survey.refuse(path, error),
            }
        }
        Ok(())
    }

    async fn list(&mut self, path: &str, depth: u32) -> Result<(), OpError> {
        let mut pages = ListedPages::of(path);
        let mut directories = String::new();
        while let Some(page) = pages.next(self.session.as_mut(), &mut self.context).await? {
            self.survey.refused += page.unnamed;
            self.survey.entries += page.unnamed;
            for entry in page.entries {
                if is_working_directory(&entry.name) {
                    continue;
                }
                self.survey.entries += 1;
                if entry.directory {
                    directories.push_str(&entry.name);
                    directories.push('\0');
                } else {
                    self.file(path, entry, depth).await?;
                }
            }
            if directories.len() > MAX_PENDING_BYTES {
                break;
            }
        }
        self.survey.directories += 1;
        self.pending.push(path, directories)
    }

    /// Adds a file to the sample, if it is chosen.
    async fn file(&mut self, parent: &str, entry: Entry, depth: u32) -> Result<(), OpError> {
        let Some(place) = self.sample.choose() else { return Ok(()) };
        // Not every listing has the sizes. Only files of the sample are worth a request.
        let size = if let Some(size) = entry.size {
            size
        } else {
            let path = child_path(parent, &entry.name)?;
            match self.stat(path.clone()).await {
                Ok(size) => size,
                Err(error) if error.class.ends_connection() => return Err(error),
                Err(error) => {
                    self.survey.refuse(path, error);
                    return Ok(());
                }
            }
        };
        let file = SampledFile { size: size.min(MAX_FILE_BYTES), depth, data: type_of(&entry.name) };
        self.sample.put(&place, file);
        Ok(())
    }

    async fn stat(&mut self, path: String) -> Result<u64, OpError> {
        match self.context.deadline.call(self.session.as_mut(), MetaOp::Stat { path }).await? {
            MetaYield::Stat(stat) => Ok(stat.size),
            _ => Err(OpError::new(ErrorClass::Protocol, OpStep::Reply, "no attributes in the reply")),
        }
    }
}

fn failed(target: &dyn Target, error: OpError) -> StartError {
    StartError::Survey { target: target.url(), error }
}

#[cfg(test)]
mod tests {
    use sharebench_model::OpenHow;
    use sharebench_target::MemoryTarget;

    use super::*;

    #[test]
    fn extensions_indicate_types_of_data() {
        for (name, wanted) in [
            ("a.txt", "text"),
            ("photo.JPG", "image-compressed"),
            ("setup.exe", "binary"),
            ("journal", "data"),
            ("b.tar.gz", "data-compressed"),
        ] {
            assert_eq!(type_of(name).name(), wanted, "{name}");
        }
    }

    #[test]
    fn a_sample_has_every_file_with_the_same_probability() {
        let mut counts = [0u32; 10];
        let mut sample = Sample::new(100);
        for number in 0..100_000u64 {
            if let Some(place) = sample.choose() {
                let data = type_of("a");
                sample.put(&place, SampledFile { size: number, depth: 0, data });
            }
        }
        assert_eq!((sample.seen, sample.files.len()), (100_000, 100));
        for file in &sample.files {
            counts[(file.size / 10_000) as usize] += 1;
        }
        assert!(counts.iter().all(|count| (2..=22).contains(count)), "{counts:?}");
    }

    #[test]
    fn pending_directories_return_the_deepest_first() {
        let mut pending = PendingDirectories::default();
        pending.push("", "a\0b\0".to_owned()).unwrap();
        assert_eq!(pending.pop().map(|(path, depth)| (path.unwrap(), depth)), Some(("b".to_owned(), 1)));
        pending.push("b", "c\0".to_owned()).unwrap();
        assert_eq!(pending.pop().map(|(path, depth)| (path.unwrap(), depth)), Some(("b/c".to_owned(), 2)));
        assert_eq!(pending.pop().map(|(path, depth)| (path.unwrap(), depth)), Some(("a".to_owned(), 1)));
        assert!(pending.pop().is_none() && pending.bytes == 0);
        assert!(pending.push("a", "x".repeat(MAX_PENDING_BYTES + 1)).is_err());
    }

    #[test]
    fn a_survey_of_a_large_directory_describes_a_sample_of_it() {
        let target = MemoryTarget::new();
        let clock = Clock::start();
        clock
            .block_on(async {
                let mut session = target.connect(&SessionSpec::default()).await.unwrap();
                session.call(MetaOp::MakeDir { path: "sub".into() }).await.result.unwrap();
                for index in 0..1000 {
                    let open = MetaOp::open(format!("sub/{index}.txt"), OpenHow::CreateNew);
                    let (file, _) = session.call(open).await.result.unwrap().into_opened().unwrap();
                    let size = if index == 0 { u64::MAX } else { index % 2 };
                    session.call(MetaOp::SetSize { file, size }).await.result.unwrap();
                }
            })
            .unwrap();
        let all = survey(&target, 1000, Duration::from_secs(60)).unwrap();
        assert_eq!((all.seen, all.described(), all.directories, all.entries), (1000, 1000, 2, 1001));
        assert_eq!((all.files(), all.empty), (501, 499));
        let part = survey(&target, 300, Duration::from_secs(60)).unwrap();
        assert_eq!((part.seen, part.described()), (1000, 300));
        assert!((100..200).contains(&part.empty), "{}", part.empty);
        assert_eq!(part, survey(&target, 300, Duration::from_secs(60)).unwrap());
    }
}
