//! What a survey finds: numbers of files by type, size and depth.

use std::collections::BTreeMap;

use sharebench_model::OpError;
use sharebench_plan::{DataKind, DataType};

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

/// Refusals that are kept with their names.
const SHOWN_REFUSALS: usize = 5;
/// Larger sizes count as this one, so that sums and size classes stay within 64 bits.
const MAX_FILE_BYTES: u64 = 1 << 62;

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
    /// The first of them, by path.
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

    pub(super) fn add(&mut self, file: SurveyedFile) {
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

    /// Counts a name that could not be read. The refusals with the first paths are kept, whatever the order in which the
    /// replies of several sessions arrive.
    pub(super) fn refuse(&mut self, path: String, error: OpError) {
        self.refused += 1;
        let index = self.refusals.partition_point(|refusal| refusal.path <= path);
        if index < SHOWN_REFUSALS {
            self.refusals.insert(index, Refusal { path, error });
            self.refusals.truncate(SHOWN_REFUSALS);
        }
    }
}

/// What a survey keeps of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SurveyedFile {
    pub size: u64,
    pub depth: u32,
    pub data: DataType,
}

impl SurveyedFile {
    pub fn new(name: &str, size: u64, depth: u32) -> Self {
        Self { size: size.min(MAX_FILE_BYTES), depth, data: type_of(name) }
    }
}

/// The type of data that the extension of a name stands for.
pub(super) fn type_of(name: &str) -> DataType {
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    let known = EXTENSIONS.iter().find(|(known, ..)| known.eq_ignore_ascii_case(extension));
    known.map_or(DataType { kind: DataKind::Data, compressed: false }, |(_, kind, compressed)| DataType {
        kind: *kind,
        compressed: *compressed,
    })
}

#[cfg(test)]
mod tests {
    use sharebench_model::{ErrorClass, OpStep};

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
    fn a_survey_keeps_the_refusals_with_the_first_paths() {
        let mut survey = Survey::default();
        for path in ["g", "b", "f", "a", "d", "c", "e"] {
            survey.refuse(path.to_owned(), OpError::new(ErrorClass::Refused, OpStep::Path, "closed"));
        }
        let paths: Vec<&str> = survey.refusals.iter().map(|refusal| refusal.path.as_str()).collect();
        assert_eq!((survey.refused, paths), (7, vec!["a", "b", "c", "d", "e"]));
    }
}
