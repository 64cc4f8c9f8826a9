//! The performance table: interleaved measurements, medians, ratios and bars.

use crate::Failure;
use crate::sample::Sample;

/// Required ratio of sharebench to an opponent.
#[derive(Debug, Clone, Copy)]
pub enum Bar {
    /// For operations per second.
    AtLeast(f64),
    /// For CPU time.
    AtMost(f64),
}

/// One measurement of a contender.
pub type Run<'a> = Box<dyn Fn() -> Result<Sample, Failure> + 'a>;

/// An opponent of a row.
pub struct Opponent<'a> {
    /// Its name with the interface.
    pub name: &'a str,
    /// Required ratio of operations per second.
    pub rate: Option<Bar>,
    /// Required ratio of CPU time per operation.
    pub cpu: Option<Bar>,
    /// Measures it once.
    pub run: Run<'a>,
}

/// Prints rows and counts the bars that were met.
#[derive(Debug)]
pub struct Table {
    rounds: usize,
    /// The conditions of the measurement, which complete the name of a missed bar.
    conditions: &'static str,
    met: u32,
    missed: Vec<String>,
}

impl Table {
    /// Creates a table of medians of `rounds` measurements.
    pub fn new(rounds: usize) -> Self {
        Self { rounds, conditions: "", met: 0, missed: Vec::new() }
    }

    /// Returns the number of measurements per median.
    pub fn rounds(&self) -> usize {
        self.rounds
    }

    /// Sets the conditions of the following rows.
    pub fn under(&mut self, conditions: &'static str) {
        self.conditions = conditions;
        println!("\n## {conditions}");
    }

    /// Prints the header of a table of contests.
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

    /// Measures sharebench and the opponents alternately, `rounds` times, and prints one row per opponent. A ratio is the
    /// median of the ratios of the rounds, so that both sides share the conditions of the machine.
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

    /// Judges one figure and returns the text of its cell.
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

    /// Prints the number of met bars, and the names of the missed ones.
    pub fn close(&self) {
        println!("\nBars: {} met, {} missed.", self.met, self.missed.len());
        for missed in &self.missed {
            println!("- missed: {missed}");
        }
    }
}

/// Median and range of a figure over the rounds.
#[derive(Debug, Clone, Copy)]
pub struct Spread {
    /// The median.
    pub median: f64,
    least: f64,
    most: f64,
}

impl Spread {
    /// Computes median and range; the median of an even number is the upper of the two middle values.
    pub fn new(mut figures: Vec<f64>) -> Self {
        figures.sort_by(f64::total_cmp);
        let at = |index: usize| figures.get(index).copied().unwrap_or(f64::NAN);
        Self { median: at(figures.len() / 2), least: at(0), most: at(figures.len().saturating_sub(1)) }
    }

    /// Formats `median (min-max)`.
    pub fn shown(&self) -> String {
        let places = if self.median < 10.0 { 2 } else { 1 };
        format!("{:.places$} ({:.places$}-{:.places$})", self.median, self.least, self.most)
    }
}

/// Formats a number with at least three digits and no more decimals than needed.
fn figure(number: f64) -> String {
    let places = if number < 10.0 { 2 } else { usize::from(number < 100.0) };
    format!("{number:.places$}")
}
