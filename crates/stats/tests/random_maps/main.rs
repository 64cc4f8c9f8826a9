//! Random maps with an oracle (docs/planted-truth.md, Random maps): how often a statement about a map is wrong, how often
//! its intervals hold, and how often a planted difference is found.
//!
//! Every commit measures 200 maps per row with fixed seeds. The long form measures 2,000 with new seeds, and writes its
//! table if told to:
//!
//! ```text
//! SHAREBENCH_LONG=1 SHAREBENCH_WRITE_DOCS=1 cargo test --release -p sharebench-stats --test random_maps -- --nocapture
//! ```

mod judge;
mod measured;
mod truth;

use measured::{Noise, Repetitions};
use sharebench_model::Random;
use sharebench_stats::{MapOptions, partition_map};
use truth::{Kind, Levels};

#[test]
fn sanity() {
    for repetitions in [
        Repetitions::Fixed(8),
        Repetitions::Fixed(10),
        Repetitions::Fixed(12),
        Repetitions::Fixed(30),
        Repetitions::WidthRule,
        Repetitions::Unequal,
    ] {
        let mut s = (0, 0, 0, 0, 0, 0, 0);
        let maps: u64 = std::env::var("MAPS").map_or(200, |x| x.parse().unwrap());
        let t = std::time::Instant::now();
        let mut spent = 0.0;
        for seed in 0..maps {
            let mut random = Random::new(seed, 49);
            let kind = Kind::ALL[(seed as usize) % 12];
            let mut truth = truth::draw(&mut random, kind, Levels::default());
            if seed % 3 == 0 {
                truth::remove_cells(&mut random, &mut truth);
            }
            let noise = Noise::draw(&mut random, repetitions);
            let map = noise.measure(&mut random, &mut truth);
            let t = std::time::Instant::now();
            let found = partition_map(
                &map,
                &MapOptions { tolerance: judge::TOLERANCE, level: 0.95, wider_level: 0.99, seed },
            )
            .unwrap();
            spent += t.elapsed().as_secs_f64();
            let j = judge::judge(&found, &truth);
            s.0 += j.sentences;
            s.1 += j.wrong_sentences;
            s.2 += u32::from(j.wrong_headline);
            s.3 += u32::from(j.all_hold);
            s.4 += u32::from(j.mean_holds);
            s.5 += u32::from(j.hidden);
            s.6 += u32::from(j.depends);
        }
        println!(
            "{repetitions:?} sentences {} wrong {} headlines {} all {} mean {} hidden {} depends {} of {maps}, {:.1}s {spent:.1}",
            s.0,
            s.1,
            s.2,
            s.3,
            s.4,
            s.5,
            s.6,
            t.elapsed().as_secs_f64()
        );
    }
}
