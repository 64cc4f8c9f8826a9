//! Data sets: files by count and size, in directories by fan-out and depth, shared or each user's own.

use std::fmt::{self, Write};
use std::ops::Range;
use std::str::FromStr;

use sharebench_model::Random;
use sharebench_model::units::ByteSize;

use super::{DataType, Sizes};
use crate::values::Scale;

/// Stream of the seed that decides sizes of files.
const SIZE_STREAM: u64 = 0xF11E;

/// Whose files they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Owner {
    /// One set for all users, who only read it; what they write are copies of their own.
    #[default]
    Shared,
    /// Each user has a set of their own.
    User,
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Shared => "shared",
            Self::User => "user",
        })
    }
}

impl FromStr for Owner {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "shared" => Ok(Self::Shared),
            "user" => Ok(Self::User),
            _ => Err(format!("'{text}' is no owner; known are shared and user")),
        }
    }
}

/// Files of one kind, as typed; what is missing has its default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileClass {
    /// What transactions call them, and the name on the target.
    pub name: Option<String>,
    /// How many; 1 unless given.
    pub count: Option<u32>,
    /// How large each is; sizes are drawn once for all users.
    pub size: Option<Sizes>,
    /// What they hold; compressed data unless given.
    pub data: Option<DataType>,
    /// Whose they are; shared unless given.
    pub owner: Option<Owner>,
    /// Directories in each directory; 10 unless given.
    pub fan_out: Option<u32>,
    /// Levels of directories above the files; 0 unless given.
    pub depth: Option<u32>,
}

/// One file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataFile {
    /// Path below the set's directory.
    pub path: String,
    /// Length in bytes.
    pub bytes: u64,
    /// What it holds.
    pub data: DataType,
    /// Whose it is.
    pub owner: Owner,
}

/// The files of a workload.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DataSet {
    /// All files, those of one class next to each other.
    pub files: Vec<DataFile>,
    /// Name and files of each class.
    pub classes: Vec<(String, Range<usize>)>,
}

impl DataSet {
    /// How many files [`Self::lay_out`] would lay out.
    pub(crate) fn number_of_files(classes: &[FileClass], scale: Option<Scale>) -> u64 {
        classes.iter().map(|class| u64::from(class.scaled(scale).0)).sum()
    }

    /// Lays out names and sizes. A scale in bytes multiplies all sizes so that they sum up to about that; a share changes the
    /// number of files of each kind, and the size of a kind of which less than one file would be left.
    pub(crate) fn lay_out(classes: &[FileClass], scale: Option<Scale>, seed: u64) -> Self {
        let mut set = Self::default();
        for (number, class) in classes.iter().enumerate() {
            let mut random = Random::new(seed, SIZE_STREAM + number as u64);
            let from = set.files.len();
            let name = class.name.clone().unwrap_or_default();
            let (count, smaller) = class.scaled(scale);
            let class = &FileClass { count: Some(count), ..class.clone() };
            let sizes = class.size.as_ref().map(|size| size.draw_all(count, &mut random)).unwrap_or_default();
            for index in 0..count {
                let bytes = sizes.get(index as usize).copied().unwrap_or(0);
                let bytes = if bytes > 0 { (bytes as f64 * smaller).round().max(1.0) as u64 } else { 0 };
                let path = class.path(index);
                let data = class.data.unwrap_or_default();
                set.files.push(DataFile { path, bytes, data, owner: class.owner.unwrap_or_default() });
            }
            set.classes.push((name, from..set.files.len()));
        }
        let all: u128 = set.files.iter().map(|file| u128::from(file.bytes)).sum();
        if let Some(Scale::Bytes(ByteSize(scale))) = scale
            && all > 0
        {
            for file in set.files.iter_mut().filter(|file| file.bytes > 0) {
                let bytes = u128::from(file.bytes) * u128::from(scale) / all;
                file.bytes = u64::try_from(bytes).unwrap_or(u64::MAX).max(1);
            }
        }
        set
    }

    /// The class of a file.
    pub fn class_of(&self, file: usize) -> Option<usize> {
        self.classes.iter().position(|(_, files)| files.contains(&file))
    }

    /// Directories of the files that satisfy `wanted`, parents first.
    pub fn directories(&self, wanted: impl Fn(usize) -> bool) -> Vec<String> {
        let mut found = std::collections::BTreeSet::new();
        for (_, file) in self.files.iter().enumerate().filter(|(index, _)| wanted(*index)) {
            let ends = file.path.match_indices('/').map(|(at, _)| file.path[..at].to_owned());
            found.extend(ends);
        }
        found.into_iter().collect()
    }
}

impl FileClass {
    /// The number of files at this scale, and the factor of their sizes.
    fn scaled(&self, scale: Option<Scale>) -> (u32, f64) {
        let count = self.count.unwrap_or(1);
        let Some(Scale::Share(share)) = scale else { return (count, 1.0) };
        let left = f64::from(count) * share as f64 / 1e6;
        if count == 1 || left < 1.0 { (1, left) } else { (left.round() as u32, 1.0) }
    }

    /// `name`, or `name/d3/d1/f31`.
    fn path(&self, index: u32) -> String {
        let name = self.name.as_deref().unwrap_or_default();
        if self.count.unwrap_or(1) == 1 && self.depth.unwrap_or(0) == 0 {
            return name.to_owned();
        }
        let fan_out = self.fan_out.unwrap_or(10).max(1);
        let mut rest = index;
        let mut path = name.to_owned();
        for _ in 0..self.depth.unwrap_or(0) {
            // Writing to a String cannot fail.
            let _ = write!(path, "/d{}", rest % fan_out);
            rest /= fan_out;
        }
        format!("{path}/f{index}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(text: &str, count: u32, depth: u32) -> FileClass {
        let size = Some(text.parse().unwrap());
        let name = Some("a".to_owned());
        let count = Some(count);
        FileClass { name, count, size, depth: Some(depth), fan_out: Some(3), ..FileClass::default() }
    }

    #[test]
    fn files_stand_in_directories_by_fan_out_and_depth() {
        let set = DataSet::lay_out(&[class("1KiB", 12, 2)], None, 1);
        assert_eq!(set.files[0].path, "a/d0/d0/f0");
        assert_eq!(set.files[11].path, "a/d2/d0/f11");
        let directories = set.directories(|_| true);
        assert_eq!(directories.len(), 1 + 3 + 9);
        assert!(directories.windows(2).all(|pair| pair[0] < pair[1]) && directories[0] == "a");
        assert_eq!(DataSet::lay_out(&[class("1KiB", 1, 0)], None, 1).files[0].path, "a");
    }

    #[test]
    fn a_share_changes_the_number_of_files_and_the_size_of_a_single_one() {
        let classes =
            [class("16KiB", 1200, 1), class("100MB", 1, 0), class("4KiB", 12, 0), class("0", 500, 0)];
        let laid_out = |scale: &str| {
            let set = DataSet::lay_out(&classes, Some(scale.parse().unwrap()), 1);
            let of = |(_, files): &(String, Range<usize>)| (files.len(), set.files[files.start].bytes);
            set.classes.iter().map(of).collect::<Vec<_>>()
        };
        assert_eq!(laid_out("1%"), [(12, 16_384), (1, 1_000_000), (1, 492), (5, 0)]);
        assert_eq!(laid_out("200%"), [(2400, 16_384), (1, 200_000_000), (24, 4096), (1000, 0)]);
        assert_eq!(laid_out("100%"), [(1200, 16_384), (1, 100_000_000), (12, 4096), (500, 0)]);
        // Bytes keep the number of files, and leave empty files empty.
        assert_eq!(laid_out("1MB").iter().map(|(count, _)| *count).collect::<Vec<_>>(), [1200, 1, 12, 500]);
        assert_eq!(laid_out("1MB")[3], (500, 0));
    }

    #[test]
    fn a_scale_is_shared_out_as_the_sizes_are() {
        let set = DataSet::lay_out(
            &[class("230KB", 1, 0), class("770KB", 1, 0)],
            Some(ByteSize(5_600_000).into()),
            1,
        );
        assert_eq!(set.files.iter().map(|file| file.bytes).collect::<Vec<_>>(), [1_288_000, 4_312_000]);
        let drawn =
            |seed| DataSet::lay_out(&[class("1KiB..1MiB", 50, 1)], Some(ByteSize(1 << 20).into()), seed);
        assert_eq!(drawn(7), drawn(7));
        assert_ne!(drawn(7), drawn(8));
        let sum: u64 = drawn(7).files.iter().map(|file| file.bytes).sum();
        assert!(((1 << 20) - 50..=(1 << 20) + 50).contains(&sum), "{sum}");
    }
}
