//! Sections before anything is computed: their positions, axes and titles.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use sharebench_model::{Coordinates, MetadataGroup, MetadataTest, StepResult, Test, Value, axis};

use crate::types::{Options, RateUnit, View};

/// A section before anything is computed.
pub(crate) struct Layout {
    pub title: String,
    pub view: View,
    pub unit: RateUnit,
    pub axes: Vec<String>,
    pub positions: Vec<Coordinates>,
}

impl Layout {
    pub(crate) fn position(&self, coordinates: &Coordinates) -> Vec<Option<Value>> {
        self.axes.iter().map(|axis| coordinates.get(axis).cloned()).collect()
    }
}

/// Positions, without one axis, at which that axis takes several values.
fn varying_along(all: &HashSet<&Coordinates>, axis: &str) -> HashSet<Coordinates> {
    let mut first: HashMap<Coordinates, &Value> = HashMap::new();
    let mut varying = HashSet::new();
    for coordinates in all {
        let Some(value) = coordinates.get(axis) else { continue };
        let others = coordinates.without(&[axis]);
        match first.get(&others) {
            None => drop(first.insert(others, value)),
            Some(first) if *first != value => drop(varying.insert(others)),
            Some(_) => {}
        }
    }
    varying
}

/// Groups every position of every run into sections: sweeps, loads, depth studies, each in the usual order of tests.
pub(crate) fn layouts<'a>(steps: impl Iterator<Item = &'a StepResult>, options: &Options) -> Vec<Layout> {
    let steps: Vec<&StepResult> = steps.collect();
    let all: HashSet<&Coordinates> = steps.iter().map(|step| &step.coordinates).collect();
    let users = varying_along(&all, axis::USERS);
    let jobs = varying_along(&all, axis::JOBS);
    let depths = varying_along(&all, axis::QUEUE_DEPTH);
    drop(all);
    let view_of = |coordinates: &Coordinates| {
        let varies = |varying: &HashSet<Coordinates>, axis: &str| {
            !varying.is_empty()
                && coordinates.get(axis).is_some()
                && varying.contains(&coordinates.without(&[axis]))
        };
        // A table of users without sizes is a load, and may have a single step.
        let is_of_users = coordinates.get(axis::USERS).is_some()
            && [axis::FILE_SIZE, axis::RECORD_SIZE].iter().all(|axis| coordinates.get(axis).is_none());
        if coordinates.get(axis::WORKLOAD).is_some()
            || is_of_users
            || varies(&users, axis::USERS)
            || varies(&jobs, axis::JOBS)
        {
            View::Load
        } else if varies(&depths, axis::QUEUE_DEPTH) {
            View::Depth
        } else {
            View::Sweep
        }
    };
    let mut keys: Vec<(View, Coordinates)> = Vec::new();
    let mut indices: BTreeMap<(View, Coordinates), usize> = BTreeMap::new();
    let mut sections: Vec<Layout> = Vec::new();
    let mut known: HashMap<&Coordinates, usize> = HashMap::new();
    for step in steps {
        // Targets and repetitions share their positions.
        let index = *known.entry(&step.coordinates).or_insert_with(|| {
            let view = view_of(&step.coordinates);
            let axes = axes_of(view, &step.coordinates, options);
            let key = (view, step.coordinates.without(&axes));
            let index = *indices.entry(key.clone()).or_insert_with(|| {
                keys.push(key);
                let title = String::new();
                let positions = Vec::new();
                sections.push(Layout { title, view, unit: RateUnit::OperationsPerSecond, axes, positions });
                sections.len() - 1
            });
            sections[index].positions.push(step.coordinates.clone());
            index
        });
        if step.is_rated_in_bytes() {
            sections[index].unit = RateUnit::BytesPerSecond;
        }
    }
    for section in &mut sections {
        section
            .positions
            .sort_by_cached_key(|c| section.axes.iter().map(|a| c.get(a).cloned()).collect::<Vec<_>>());
    }
    name(&mut sections, &keys);
    // Cells run in random order; readers know the tests in IOzone's. What is not among them keeps its place.
    sections.sort_by_key(|section| (section.view, rank(section)));
    sections
}

/// True for the tests of copies, clones and holes, which a server makes by itself.
pub(crate) fn is_server_side(coordinates: &Coordinates) -> bool {
    let test = MetadataTest::from_coordinates(coordinates);
    test.is_some_and(|test| test.group() == MetadataGroup::ServerSide)
}

/// Position of a section's test in the order in which users know them.
fn rank(section: &Layout) -> usize {
    let mut usual = Test::ALL.map(Test::name).into_iter().chain(MetadataTest::ALL.map(MetadataTest::name));
    let test = section.positions.first().and_then(|position| position.text(axis::TEST));
    usual.position(|usual| Some(usual) == test).unwrap_or(usize::MAX)
}

/// The only axis of the group of a metadata test.
fn only_axis(coordinates: &Coordinates) -> Option<&'static str> {
    MetadataTest::from_coordinates(coordinates)?.group().only_axis()
}

fn axes_of(view: View, coordinates: &Coordinates, options: &Options) -> Vec<String> {
    let axes = match view {
        View::Sweep | View::Depth if options.axes.len() == 2 => return options.axes.clone(),
        View::Sweep if let Some(axis) = only_axis(coordinates) => vec![axis],
        View::Sweep if coordinates.get(axis::ENTRIES).is_some() => vec![axis::ENTRIES],
        View::Sweep => vec![axis::FILE_SIZE, axis::RECORD_SIZE],
        // An open load rises by its rate; its users are connections, not users.
        View::Load if coordinates.get(axis::RATE).is_some() => vec![axis::RATE],
        View::Load if coordinates.get(axis::JOBS).is_some() => vec![axis::JOBS],
        View::Load => vec![axis::USERS],
        View::Depth => vec![axis::RECORD_SIZE, axis::QUEUE_DEPTH],
    };
    axes.into_iter().map(str::to_owned).collect()
}

/// Titles: the test or workload, and every other coordinate that distinguishes two sections.
fn name(sections: &mut [Layout], keys: &[(View, Coordinates)]) {
    let axes: BTreeSet<&str> = keys.iter().flat_map(|(_, key)| key.iter()).map(|(axis, _)| axis).collect();
    let varies = |axis: &&str| keys.windows(2).any(|two| two[0].1.get(axis) != two[1].1.get(axis));
    let varying: BTreeSet<&str> = axes.into_iter().filter(varies).collect();
    for (section, (_, key)) in sections.iter_mut().zip(keys) {
        let mut words: Vec<String> =
            [axis::TEST, axis::WORKLOAD].iter().filter_map(|a| key.get(a)).map(ToString::to_string).collect();
        for (axis, value) in key.iter().filter(|(axis, _)| ![axis::TEST, axis::WORKLOAD].contains(axis)) {
            if varying.contains(axis) {
                words.push(format!("{} {value}", axis.replace('_', " ")));
            }
        }
        section.title = if words.is_empty() { "all steps".to_owned() } else { words.join(", ") };
    }
}
