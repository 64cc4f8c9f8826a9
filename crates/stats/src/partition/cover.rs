//! Parts by covering: the heaviest rectangle of which every cell excludes the opposite direction, then the next one
//! among the cells that are left.

use super::FEWEST_ALONE;
use super::family::Family;
use super::map::{Direction, Evidence, Map, Part};
use super::series::PreparedMap;
use crate::{Estimate, Interval, Rectangle};

/// Parts by covering; cells that remain are parts of their own.
const MAX_PARTS: usize = 6;

/// Fewest cells that show a direction if none of them has enough repetitions to be named alone: outliers of as few
/// repetitions agree in two or three of many cells, and hardly ever in four neighbours.
const FEWEST_TOGETHER: usize = 4;

/// A part as a list of rectangles with the same place in different tests.
struct Draft {
    axes: usize,
    place: Rectangle,
    direction: Direction,
    evidence: Evidence,
    rectangles: Vec<usize>,
    /// Positions among the prepared cells.
    cells: Vec<usize>,
}

/// What may become a part: a rectangle, or the same one in several tests.
struct Candidate {
    /// `|mean| sqrt(cells)`
    weight: f64,
    rectangles: Vec<usize>,
    direction: Direction,
}

struct Cover<'a> {
    map: &'a Map,
    prepared: &'a PreparedMap,
    family: &'a Family,
    tolerance: f64,
    covered: Vec<bool>,
    drafts: Vec<Draft>,
}

/// The parts of a map, heaviest first.
pub(super) fn parts(map: &Map, prepared: &PreparedMap, family: &Family, tolerance: f64) -> Vec<Part> {
    let covered = vec![false; prepared.cells.len()];
    let mut cover = Cover { map, prepared, family, tolerance, covered, drafts: Vec::new() };
    let candidates = cover.candidates();
    cover.rectangles(&candidates);
    cover.single_cells();
    for direction in [Direction::Faster, Direction::Slower] {
        if !cover.drafts.iter().any(|draft| draft.direction == direction) {
            cover.average(&candidates, direction);
        }
    }
    let mut parts: Vec<Part> = cover.drafts.iter().map(|draft| cover.part(draft)).collect();
    parts.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    parts
}

impl Direction {
    /// How far the interval lies beyond zero in this direction; negative if it does not exclude the opposite one.
    pub(super) fn excess(self, interval: Interval) -> f64 {
        match self {
            Self::Faster => interval.low,
            Self::Slower => -interval.high,
        }
    }

    pub(super) fn opposite(self) -> Self {
        match self {
            Self::Faster => Self::Slower,
            Self::Slower => Self::Faster,
        }
    }
}

impl Cover<'_> {
    /// Rectangles whose mean lies beyond the tolerance, heaviest first.
    fn candidates(&self) -> Vec<Candidate> {
        let mut found = Vec::new();
        for (rectangle, mean) in self.family.means.iter().enumerate().filter(|(_, mean)| mean.cells > 0.0) {
            let direction = if mean.mean > 0.0 { Direction::Faster } else { Direction::Slower };
            if direction.excess(self.family.interval(rectangle)) > self.tolerance {
                let weight = mean.mean.abs() * mean.cells.sqrt();
                found.push(Candidate { weight, rectangles: vec![rectangle], direction });
                found.extend(self.of_some_tests(rectangle, direction).filter(|some| some.weight > weight));
            }
        }
        found.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        found
    }

    /// The same rectangle only in those tests that differ there by themselves: tests without a difference must not be
    /// named with the others because these weigh more together than alone.
    fn of_some_tests(
        &self,
        rectangle: usize,
        direction: Direction,
    ) -> impl Iterator<Item = Candidate> + use<> {
        let differing = self.family.in_each_test(rectangle).into_iter().filter(|rectangle| {
            self.family.means[*rectangle].cells > 0.0
                && direction.excess(self.family.interval(*rectangle)) > self.tolerance
        });
        let rectangles: Vec<usize> = differing.collect();
        let cells: f64 = rectangles.iter().map(|rectangle| self.family.means[*rectangle].cells).sum();
        let sum: f64 = rectangles
            .iter()
            .map(|rectangle| self.family.means[*rectangle].cells * self.family.means[*rectangle].mean)
            .sum();
        let weight = sum.abs() / cells.sqrt();
        (rectangles.len() > 1).then_some(Candidate { weight, rectangles, direction }).into_iter()
    }

    /// Positions of the cells of a rectangle among the prepared ones.
    fn cells(&self, rectangle: usize) -> impl Iterator<Item = usize> {
        let (sheet, place) = self.family.place(rectangle);
        sheet.tests.iter().flat_map(move |test| {
            (place.rows.0..place.rows.1).flat_map(move |row| {
                (place.columns.0..place.columns.1)
                    .filter_map(move |column| self.prepared.at[*test][row * sheet.columns + column])
            })
        })
    }

    fn cell_interval(&self, position: usize) -> Interval {
        self.family.interval(self.family.cells[position])
    }

    /// A part needs a cell that shows the direction and has enough repetitions to be named alone, or several with fewer.
    fn has_witnesses(&self, rectangles: &[usize], direction: Direction) -> bool {
        let mut few = 0;
        for position in rectangles.iter().flat_map(|rectangle| self.cells(*rectangle)) {
            let cell = &self.prepared.cells[position];
            let value = Interval { low: cell.value, high: cell.value };
            if direction.excess(value) > self.tolerance {
                few += 1;
                if cell.n() >= FEWEST_ALONE || few == FEWEST_TOGETHER {
                    return true;
                }
            }
        }
        false
    }

    fn rectangles(&mut self, candidates: &[Candidate]) {
        for Candidate { rectangles, direction, .. } in candidates {
            let direction = *direction;
            let evident = |position: usize| {
                !self.covered[position] && direction.excess(self.cell_interval(position)) >= -self.tolerance
            };
            let has_space = self.drafts.len() < MAX_PARTS
                || self.twin(rectangles[0], direction, Evidence::EachCell).is_some();
            if has_space
                && rectangles.iter().flat_map(|rectangle| self.cells(*rectangle)).all(evident)
                && self.has_witnesses(rectangles, direction)
            {
                for rectangle in rectangles {
                    self.add(*rectangle, direction, Evidence::EachCell);
                }
            }
        }
    }

    fn single_cells(&mut self) {
        for position in 0..self.prepared.cells.len() {
            if self.covered[position] || self.prepared.cells[position].n() < FEWEST_ALONE {
                continue;
            }
            let interval = self.cell_interval(position);
            for direction in [Direction::Faster, Direction::Slower] {
                if direction.excess(interval) > self.tolerance {
                    self.add(self.family.cells[position], direction, Evidence::EachCell);
                }
            }
        }
    }

    /// The heaviest rectangle with this direction on average, without covered cells and without cells that are known to
    /// have the opposite one.
    fn average(&mut self, candidates: &[Candidate], direction: Direction) {
        let open = |position: usize| {
            !self.covered[position]
                && direction.opposite().excess(self.cell_interval(position)) <= self.tolerance
        };
        let found = candidates.iter().find(|candidate| {
            candidate.direction == direction
                && self.has_witnesses(&candidate.rectangles, direction)
                && candidate.rectangles.iter().flat_map(|rectangle| self.cells(*rectangle)).all(open)
        });
        for rectangle in found.into_iter().flat_map(|candidate| &candidate.rectangles) {
            self.add(*rectangle, direction, Evidence::OnAverage);
        }
    }

    /// The draft that the same rectangle of another test belongs to.
    fn twin(&self, rectangle: usize, direction: Direction, evidence: Evidence) -> Option<usize> {
        let (sheet, place) = self.family.place(rectangle);
        let axes = self.map.tests[sheet.tests[0]].axes;
        self.drafts.iter().position(|draft| {
            (draft.axes, draft.place, draft.direction, draft.evidence) == (axes, place, direction, evidence)
        })
    }

    fn add(&mut self, rectangle: usize, direction: Direction, evidence: Evidence) {
        let cells: Vec<usize> = self.cells(rectangle).collect();
        for position in &cells {
            self.covered[*position] = true;
        }
        if let Some(twin) = self.twin(rectangle, direction, evidence) {
            self.drafts[twin].rectangles.push(rectangle);
            self.drafts[twin].cells.extend(cells);
            return;
        }
        let (sheet, place) = self.family.place(rectangle);
        let axes = self.map.tests[sheet.tests[0]].axes;
        self.drafts.push(Draft { axes, place, direction, evidence, rectangles: vec![rectangle], cells });
    }

    fn part(&self, draft: &Draft) -> Part {
        let size = draft.cells.len() as f64;
        // The bounds of all rectangles hold at once, so their mean bounds the mean.
        let average = |of: &dyn Fn(usize) -> f64| {
            draft.rectangles.iter().map(|r| self.family.means[*r].cells * of(*r)).sum::<f64>() / size
        };
        let value = average(&|r| self.family.means[r].mean);
        let interval = Interval {
            low: average(&|r| self.family.interval(r).low),
            high: average(&|r| self.family.interval(r).high),
        };
        let of_cells = draft.cells.iter().map(|position| self.cell_interval(*position));
        let range = match draft.evidence {
            Evidence::OnAverage => interval,
            Evidence::EachCell => of_cells
                .reduce(|a, b| Interval { low: a.low.min(b.low), high: a.high.max(b.high) })
                .unwrap_or(interval),
        };
        let mut cells: Vec<(usize, usize)> = draft
            .cells
            .iter()
            .map(|position| (self.prepared.cells[*position].test, self.prepared.cells[*position].index))
            .collect();
        cells.sort_unstable();
        let mut tests: Vec<usize> = cells.iter().map(|(test, _)| *test).collect();
        tests.dedup();
        Part {
            tests,
            place: draft.place,
            cells,
            direction: draft.direction,
            evidence: draft.evidence,
            mean: Estimate { value, interval: Some(interval), n: self.repetitions(draft) },
            range,
            weight: value.abs() * size.sqrt(),
        }
    }

    /// Different repetitions of the cells of a part.
    fn repetitions(&self, draft: &Draft) -> usize {
        let mut has = vec![false; self.prepared.repetitions];
        for position in &draft.cells {
            for (repetition, _) in &self.prepared.cells[*position].deviations {
                has[*repetition] = true;
            }
        }
        has.iter().filter(|has| **has).count()
    }
}
