//! Parts of a measure that most steps lack.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A type whose default value is available as a reference.
pub trait Absent: Default + PartialEq + 'static {
    /// The default value.
    fn absent() -> &'static Self;
}

/// Implements [`Absent`] for types with a default value.
macro_rules! absent {
    ($($type:ty),*) => {$(
        impl $crate::sparse::Absent for $type {
            fn absent() -> &'static Self {
                static ABSENT: std::sync::LazyLock<$type> = std::sync::LazyLock::new(Default::default);
                &ABSENT
            }
        }
    )*};
}
pub(crate) use absent;

/// A part of a measure that most steps lack, or that many steps have in common.
///
/// It takes one word where it has its default value, and copies share their content until one of them is changed: a run
/// may have 100,000 steps, of which none has a load or probes of a cache. It is used as if it were the part itself.
pub struct Sparse<T>(Option<Arc<T>>);

impl<T> Default for Sparse<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> Clone for Sparse<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: Absent> From<T> for Sparse<T> {
    fn from(part: T) -> Self {
        Self((part != *T::absent()).then(|| Arc::new(part)))
    }
}

impl<T: Absent> Deref for Sparse<T> {
    type Target = T;

    fn deref(&self) -> &T {
        match &self.0 {
            Some(part) => part,
            None => T::absent(),
        }
    }
}

impl<T: Absent + Clone> DerefMut for Sparse<T> {
    fn deref_mut(&mut self) -> &mut T {
        Arc::make_mut(self.0.get_or_insert_default())
    }
}

impl<T: Absent> PartialEq for Sparse<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Absent + Eq> Eq for Sparse<T> {}

impl<T: Absent + fmt::Debug> fmt::Debug for Sparse<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: Absent + Serialize> Serialize for Sparse<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

impl<'de, T: Absent + Deserialize<'de>> Deserialize<'de> for Sparse<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Self::from)
    }
}

/// What a step or a cell has or lacks.
impl<T: Copy + PartialEq + 'static> Absent for Option<T> {
    fn absent() -> &'static Self {
        &None
    }
}

absent!(Vec<String>);

impl<T> FromIterator<T> for Sparse<Vec<T>>
where
    Vec<T>: Absent,
{
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Vec::from_iter(items).into()
    }
}

impl<'a, K, V> IntoIterator for &'a Sparse<BTreeMap<K, V>>
where
    BTreeMap<K, V>: Absent,
{
    type Item = (&'a K, &'a V);
    type IntoIter = std::collections::btree_map::Iter<'a, K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, T> IntoIterator for &'a Sparse<Vec<T>>
where
    Vec<T>: Absent,
{
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LoadDetail, ServerEvidence};

    #[test]
    fn a_part_takes_one_word_and_is_shared_until_it_is_changed() {
        assert_eq!(size_of::<Sparse<LoadDetail>>(), size_of::<usize>());
        let mut part = Sparse::from(ServerEvidence::default());
        assert!(part.0.is_none() && part.is_empty());
        part.cold_passes = 3;
        let mut copy = part.clone();
        let both = part.0.as_ref().zip(copy.0.as_ref());
        assert!(both.is_some_and(|(part, copy)| Arc::ptr_eq(part, copy)));
        copy.cold_passes = 0;
        assert_eq!((part.cold_passes, copy), (3, Sparse::default()));
    }
}
