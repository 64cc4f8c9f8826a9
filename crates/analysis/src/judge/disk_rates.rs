//! Reads that no disk of the time delivers (docs/measure/measurement-rules.md R11).

use sharebench_model::units::{counted, show_rate};

use crate::align::Aligned;
use crate::estimate::Estimated;
use crate::judge::tables::{Table, tables};
use crate::types::span::position_words;
use crate::types::{RateUnit, Sentence, Tone};

/// Upper bounds of what one disk reads from its surface, bytes per second, up to a year. Drives that were the fastest when
/// they appeared: ST15150 (1994, 9 MB/s), Cheetah 4LP (1996, 15), Cheetah X15 (2000, 48), Cheetah 15K.3 (2002, 86), Cheetah
/// 15K.5 (2006, 135). No bound holds after 2008, when flash replaced them.
const FASTEST: [(u64, f64); 6] =
    [(1989, 4e6), (1993, 10e6), (1997, 20e6), (2000, 60e6), (2004, 100e6), (2008, 160e6)];
const FIRST_YEAR: u64 = 1980;
/// Facts that state when a table was measured.
const FACTS: [&str; 2] = ["year", "date"];

/// Reads above what one disk of the year delivers. The year is a fact of the system, or the first word of the title.
pub(super) fn sentences(aligned: &Aligned<'_>, estimated: &Estimated) -> Vec<Sentence> {
    tables(aligned, estimated).iter().filter_map(|table| sentence(aligned, estimated, table)).collect()
}

fn sentence(aligned: &Aligned<'_>, estimated: &Estimated, table: &Table<'_>) -> Option<Sentence> {
    let section = &estimated.sections[table.section];
    let reads = section.title.contains("read");
    let system = &aligned.systems[table.system];
    let title = &aligned.runs[system.run].header.title;
    let stated = FACTS.iter().find_map(|fact| system.facts.get(*fact)).unwrap_or(title);
    let year = year_of(stated).filter(|_| reads && section.unit == RateUnit::BytesPerSecond)?;
    let (_, fastest) = FASTEST.into_iter().find(|(last, _)| year <= *last)?;
    let clock = &aligned.clocks[system.run];
    let rates = (0..section.rows.len()).filter_map(|row| Some((row, table.rate(row)?)));
    let above: Vec<(usize, f64)> =
        rates.filter(|(row, rate)| clock.lowest_rate(*rate, table.measured_ns(*row)) > fastest).collect();
    let (row, rate) = above.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let at = section.axes.iter().zip(&section.rows[*row].position);
    let place: Vec<String> = at
        .filter(|(_, value)| value.is_some())
        .map(|(axis, value)| position_words(axis, value.as_ref()))
        .collect();
    let text = format!(
        "{}: {} has {} above what a disk of {year} delivers (at most {}), the fastest {} at {}: a cache or several disks \
         served them, or their unit is wrong.",
        section.title,
        system.name,
        counted(above.len(), "cell"),
        show_rate(fastest),
        show_rate(*rate),
        place.join(", "),
    );
    Some(Sentence::new(Tone::Note, text).about(table.section))
}

/// The year that a date or a title begins with: `1993`, `1993: bnetx`, `1993-05-01`.
fn year_of(text: &str) -> Option<u64> {
    let digits: String = text.trim().chars().take_while(char::is_ascii_digit).collect();
    let year = digits.parse().ok().filter(|_| digits.len() == 4)?;
    (FIRST_YEAR..=FASTEST[FASTEST.len() - 1].0).contains(&year).then_some(year)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn year_is_the_first_word_and_not_the_name_of_a_product() {
        assert_eq!(["1993", "1993: bnetx", "1997-05-01"].map(year_of), [Some(1993), Some(1993), Some(1997)]);
        assert_eq!(["Windows 2000", "4096", "20031", "2019", ""].map(year_of), [None; 5]);
    }
}
