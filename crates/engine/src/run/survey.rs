//! An inventory of a share: sizes, types and depths of its files. Names are looked at, and never kept.

use std::collections::BTreeMap;
use std::time::Duration;

use sharebench_model::{MetaOp, MetaYield, OpError};
use sharebench_plan::{DataKind, DataType, Verify};
use sharebench_target::{DIRECTORY_PREFIX, SessionSpec, Target};

use crate::data::context::PassContext;
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

/// Files of one type of data: the number of files per size class. Sizes are rounded up to a power of two.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SurveyedType {
    /// Upper end of a size class in bytes -> files in it.
    pub sizes: BTreeMap<u64, u64>,
    /// Their bytes.
    pub bytes: u64,
}

/// The inventory of a share: numbers of files by type, size and depth. It contains no names, so that a user can pass
/// it on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Survey {
    /// By type of data.
    pub types: BTreeMap<DataType, SurveyedType>,
    /// Levels of directories above a file -> files there.
    pub depths: BTreeMap<u32, u64>,
    /// Directories, and entries of all of them.
    pub directories: (u64, u64),
    /// Empty files, which belong to no type.
    pub empty: u64,
    /// Names that could not be read, for example for lack of permission.
    pub refused: u64,
    /// True if the share has more files than the survey was allowed to read.
    pub cut: bool,
}

impl Survey {
    /// Files with content.
    pub fn files(&self) -> u64 {
        self.types.values().flat_map(|found| found.sizes.values()).sum()
    }

    fn add(&mut self, name: &str, size: u64, depth: u32) {
        *self.depths.entry(depth).or_default() += 1;
        if size == 0 {
            self.empty += 1;
            return;
        }
        let found = self.types.entry(type_of(name)).or_default();
        // Size classes keep the survey small, whatever the number of files.
        *found.sizes.entry(size.next_power_of_two().max(512)).or_default() += 1;
        found.bytes += size;
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

/// Surveys up to `most` files of a target. It changes nothing there.
pub fn survey(target: &dyn Target, most: u64, timeout: Duration) -> Result<Survey, StartError> {
    let clock = Clock::start();
    let stop = StopSignal::default();
    let found = clock.block_on(async {
        let deadline = Deadline::new(&clock, timeout);
        let mut context = PassContext::new(&clock, &stop, Verify::Off, deadline);
        let spec = SessionSpec { slots: 1, slot_bytes: 4096, connect_timeout: timeout, allow_split: false };
        let mut session = target.connect(&spec).await?;
        let mut survey = Survey::default();
        let mut open = vec![(String::new(), 0u32)];
        while let Some((path, depth)) = open.pop() {
            let listed = context.deadline.call(session.as_mut(), MetaOp::List { path: path.clone() }).await;
            let entries = match listed {
                Ok(MetaYield::Entries(entries)) => entries,
                Ok(_) => Vec::new(),
                // What the top refuses is no share to look at; below it some doors are locked.
                Err(error) if path.is_empty() => return Err(failed(target, error)),
                Err(_) => {
                    survey.refused += 1;
                    continue;
                }
            };
            survey.directories.0 += 1;
            for entry in entries.into_iter().filter(|entry| !entry.name.starts_with(DIRECTORY_PREFIX)) {
                survey.directories.1 += 1;
                let child =
                    if path.is_empty() { entry.name.clone() } else { format!("{path}/{}", entry.name) };
                if entry.directory {
                    open.push((child, depth + 1));
                    continue;
                }
                if survey.depths.values().sum::<u64>() >= most {
                    survey.cut = true;
                    open.clear();
                    break;
                }
                match context.deadline.call(session.as_mut(), MetaOp::Stat { path: child }).await {
                    Ok(MetaYield::Stat(stat)) => survey.add(&entry.name, stat.size, depth),
                    _ => survey.refused += 1,
                }
            }
        }
        session.close().await;
        Ok(survey)
    });
    found.unwrap_or_else(|error| Err(StartError::Runtime(error.to_string())))
}

fn failed(target: &dyn Target, error: OpError) -> StartError {
    StartError::Prepare { target: target.url(), directory: "the share".to_owned(), error }
}

#[cfg(test)]
mod tests {
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
}
