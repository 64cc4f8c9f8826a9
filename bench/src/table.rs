//! The performance table: interleaved measurements, medians, ratios and bars.

use crate::Failure;
use crate::sample::Sample;

/// What a ratio of ours to an opponent's must be.
#[derive(Debug, Clone, Copy)]
pub enum Bar {
    /// For operations per second.
    AtLeast(f64),
    /// For CPU time.
    AtMost(f64),
}

/// How one contender is measured once.
pub type Run<'a> = Box<dyn Fn() -> Result<Sample, Failure> + 'a>;

/// An opponent of a row.
pub struct Opponent<'a> {
    /// Its name with the interface that is called.
    pub name: &'a str,
    /// Our operations per second in its.
    pub rate: Option<Bar>,
    /// Our CPU time per operation in its.
    pub cpu: Option<Bar>,
    /// Measures it once.
    pub run: Run<'a>,
}

/// Prints rows and remembers how the bars were met.
#[derive(Debug)]
pub struct Table {
    rounds: usize,
    /// What is added to the name of a missed bar: under which conditions it was measured.
    conditions: &'static str,
    met: u32,
    missed: Vec<String>,
}

impl Table {
    /// A table whose every figure is the median of `rounds` measurements.
    pub fn new(rounds: usize) -> Self {
        Self { rounds, conditions: "", met: 0, missed: Vec::new() }
    }

    /// How many measurements a median is made of.
    pub fn rounds(&self) -> usize {
        self.rounds
    }

    /// Names the conditions of all that follows.
    pub fn under(&mut self, conditions: &'static str) {
        self.conditions = conditions;
        println!("\n## {conditions}");
    }

    /// Opens a table of contests.
    pub fn head(title: &str) {
        println!("\n### {title}\n");
        println!(
            "| {:<31} | {:<25} | {:>8} | {:>8} | {:<17} | {:<12} | {:>8} | {:>8} | {:<17} | {:<12} |",
            "us",
            "against",
            "our op/s",
            "its op/s",
            "ratio (range)",
            "bar",
            "our us",
            "its us",
            "CPU ratio (range)",
            "bar"
        );
        println!("|---|---|---:|---:|---|---|---:|---:|---|---|");
    }

    /// Measures us and every opponent in turn, `rounds` times, and prints one row per opponent. A ratio is
    /// the median of the rounds' ratios, so that a slow minute of the machine hits both sides.
    pub fn contest(&mut self, name: &str, us: &Run<'_>, opponents: &[Opponent<'_>]) -> Result<(), Failure> {
        let mut ours = Vec::new();
        let mut theirs = vec![Vec::new(); opponents.len()];
        for _ in 0..self.rounds {
            ours.push(us()?);
            for (opponent, samples) in opponents.iter().zip(&mut theirs) {
                samples.push((opponent.run)().map_err(|error| format!("{}: {error}", opponent.name))?);
            }
        }
        for (opponent, samples) in opponents.iter().zip(&theirs) {
            let of = |samples: &[Sample], figure: fn(&Sample) -> f64| {
                Spread::new(samples.iter().map(figure).collect()).median
            };
            let ratio = |figure: fn(&Sample) -> f64| {
                Spread::new(ours.iter().zip(samples).map(|(a, b)| figure(a) / figure(b)).collect())
            };
            let rate = ratio(Sample::rate);
            let cpu = ratio(Sample::cpu_us);
            let row = format!("{name} vs {}", opponent.name);
            println!(
                "| {name:<31} | {:<25} | {:>8} | {:>8} | {:<17} | {:<12} | {:>8} | {:>8} | {:<17} | {:<12} |",
                opponent.name,
                figure(of(&ours, Sample::rate)),
                figure(of(samples, Sample::rate)),
                rate.shown(),
                self.verdict(&format!("{row}: op/s"), rate.median, opponent.rate),
                figure(of(&ours, Sample::cpu_us)),
                figure(of(samples, Sample::cpu_us)),
                cpu.shown(),
                self.verdict(&format!("{row}: CPU"), cpu.median, opponent.cpu),
            );
        }
        Ok(())
    }

    /// Judges one figure; the words of its cell.
    pub fn verdict(&mut self, what: &str, figure: f64, bar: Option<Bar>) -> String {
        let (met, words) = match bar {
            None => return String::new(),
            Some(Bar::AtLeast(bar)) => (figure >= bar, format!(">= {bar}")),
            Some(Bar::AtMost(bar)) => (figure <= bar, format!("<= {bar}")),
        };
        if met {
            self.met += 1;
            format!("{words} pass")
        } else {
            self.missed.push(format!("{}: {what} {figure:.3} is not {words}", self.conditions));
            format!("{words} MISS")
        }
    }

    /// Prints how many bars were met, and which were not.
    pub fn close(&self) {
        println!("\nBars: {} met, {} missed.", self.met, self.missed.len());
        for missed in &self.missed {
            println!("- missed: {missed}");
        }
    }
}

/// A figure's median and range over the rounds.
#[derive(Debug, Clone, Copy)]
pub struct Spread {
    /// The middle one.
    pub median: f64,
    least: f64,
    most: f64,
}

impl Spread {
    /// Of the figures of all rounds; an even number of them has its upper middle as median.
    pub fn new(mut figures: Vec<f64>) -> Self {
        figures.sort_by(f64::total_cmp);
        let at = |index: usize| figures.get(index).copied().unwrap_or(f64::NAN);
        Self { median: at(figures.len() / 2), least: at(0), most: at(figures.len().saturating_sub(1)) }
    }

    /// `median (least-most)`.
    pub fn shown(&self) -> String {
        let places = if self.median < 10.0 { 2 } else { 1 };
        format!("{:.places$} ({:.places$}-{:.places$})", self.median, self.least, self.most)
    }
}

/// Three digits at least, and no more decimals than they need.
fn figure(number: f64) -> String {
    let places = if number < 10.0 { 2 } else { usize::from(number < 100.0) };
    format!("{number:.places$}")
}
