//! The rows of the table: which maps, measured how, and which bars they have to hold.

use sharebench_model::Random;
use sharebench_stats::{MapOptions, PartitionedMap, partition_map};

use crate::random_maps::judge::{TOLERANCE, judge};
use crate::random_maps::measured::{Noise, Repetitions, Side};
use crate::random_maps::truth::{Kind, Levels, TrueGrid, draw, remove_cells};

/// What is planted in the maps of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Planted {
    /// Any kind of map, with any noise; every third one lacks cells.
    Any,
    /// The same, and a tenth of the repetitions is lost anywhere in a series.
    Lost,
    /// The same with outliers on one side only.
    OneSided,
    /// The same with disturbances that last: neighbouring repetitions correlate by 0.5.
    Serial,
    /// Equal systems.
    Nothing,
    /// A row or column of -10 % in a map of this ratio, noise of 3 %.
    Line(f64),
    /// A cell of 50 % in a map without other differences, at this noise.
    Cell(f64),
}

/// A row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    pub planted: Planted,
    pub repetitions: Repetitions,
}

/// What was counted over the maps of a row.
#[derive(Debug, Clone, Copy, Default)]
pub struct Count {
    pub maps: u32,
    pub sentences: u32,
    pub wrong_sentences: u32,
    pub wrong_headlines: u32,
    pub all_hold: u32,
    pub mean_holds: u32,
    pub claims: u32,
    pub significant: u32,
    pub found: u32,
    pub drifts: u32,
}

impl Row {
    /// Measures and judges one map.
    pub fn measure(&self, seed: u64, count: &mut Count) {
        let mut random = Random::new(seed, 49);
        let mut truth = self.truth(&mut random);
        let map = self.noise(&mut random).measure(&mut random, &mut truth);
        let options = MapOptions { tolerance: TOLERANCE, level: 0.95, wider_level: 0.99, seed };
        let Some(map) = partition_map(&map, &options) else { return };
        let judged = judge(&map, &truth);
        count.maps += 1;
        count.sentences += judged.sentences;
        count.wrong_sentences += judged.wrong_sentences;
        count.wrong_headlines += u32::from(judged.wrong_headline);
        count.all_hold += u32::from(judged.all_hold);
        count.mean_holds += u32::from(judged.mean_holds);
        count.claims += u32::from(judged.claims);
        count.significant += u32::from(judged.significant);
        count.found += u32::from(self.finds(&map, &truth));
        count.drifts += u32::from(map.drift.is_some());
    }

    fn truth(&self, random: &mut Random) -> Vec<TrueGrid> {
        let (kind, levels) = match self.planted {
            Planted::Nothing => (Kind::Flat, Levels { base: Some(0.0), effect: Some(0.0) }),
            Planted::Line(base) => {
                (Kind::Line, Levels { base: Some(base.ln_1p()), effect: Some(0.1f64.ln_1p()) })
            }
            Planted::Cell(_) => (Kind::Cell, Levels { base: Some(0.0), effect: Some(0.5f64.ln_1p()) }),
            _ => (Kind::ALL[random.below(Kind::ALL.len() as u64) as usize], Levels::default()),
        };
        let mut truth = draw(random, kind, levels);
        let any = !matches!(self.planted, Planted::Line(_) | Planted::Cell(_));
        if any && random.below(3) == 0 {
            remove_cells(random, &mut truth);
        }
        truth
    }

    fn noise(&self, random: &mut Random) -> Noise {
        let noise = Noise::draw(random, self.repetitions);
        match self.planted {
            Planted::Any | Planted::Nothing => noise,
            Planted::Lost => Noise { lost: 0.1, ..noise },
            Planted::OneSided => Noise { outliers: Some(Side::One), ..noise },
            Planted::Serial => Noise { serial: 0.5, shared: 0.03, by_test: false, ..noise },
            Planted::Line(_) => Noise { deviation: 0.03, shared: 0.01, different: false, ..noise },
            Planted::Cell(deviation) => Noise { deviation, different: false, ..noise },
        }
    }

    /// The headline names the planted line or cell.
    fn finds(&self, map: &PartitionedMap, truth: &[TrueGrid]) -> bool {
        let odd: Vec<(usize, usize)> = match self.planted {
            Planted::Line(_) => cells(truth, |value| value < -0.05),
            Planted::Cell(_) => cells(truth, |value| value.abs() > 0.2),
            _ => return false,
        };
        map.headline.parts.iter().map(|part| &map.parts[*part]).any(|part| {
            let here = part.cells.iter().filter(|cell| odd.contains(cell)).count();
            // At least half of the line, and nothing else.
            here == part.cells.len() && 2 * here >= odd.len()
        })
    }
}

fn cells(truth: &[TrueGrid], is_odd: fn(f64) -> bool) -> Vec<(usize, usize)> {
    let of_test = |(test, grid): (usize, &TrueGrid)| -> Vec<(usize, usize)> {
        let odd = grid.cells.iter().enumerate().filter(|(_, value)| value.is_some_and(is_odd));
        odd.map(|(cell, _)| (test, cell)).collect()
    };
    truth.iter().enumerate().flat_map(of_test).collect()
}

/// All rows, in the order of the table.
pub fn all() -> Vec<Row> {
    use Planted::{Any, Cell, Line, Lost, Nothing, OneSided, Serial};
    use Repetitions::{Fixed, Unequal, WidthRule};
    let rows = |planted: Planted, repetitions: &[Repetitions]| -> Vec<Row> {
        repetitions.iter().map(|repetitions| Row { planted, repetitions: *repetitions }).collect()
    };
    [
        rows(Any, &[Fixed(6), Fixed(8), Fixed(10), Fixed(12), Fixed(30), WidthRule, Unequal]),
        rows(Lost, &[Fixed(12), WidthRule]),
        rows(OneSided, &[Fixed(12), WidthRule]),
        rows(Serial, &[Fixed(12), Fixed(30), WidthRule]),
        rows(Nothing, &[Fixed(6), Fixed(8), Fixed(10), Fixed(12), Fixed(30), WidthRule, Unequal]),
        rows(Line(0.1), &[Fixed(12), Fixed(30), WidthRule]),
        rows(Line(0.04), &[Fixed(12)]),
        rows(Cell(0.03), &[Fixed(12), WidthRule]),
        rows(Cell(0.08), &[Fixed(12), WidthRule]),
    ]
    .concat()
}
