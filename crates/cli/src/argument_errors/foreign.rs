//! Options of other programs, and what they are here: users of fio, IOzone, elbencho, hyperfine and k6 type them from habit.

/// An option of other programs.
struct Foreign {
    /// Its names.
    names: &'static [&'static str],
    /// The programs that have it.
    programs: &'static str,
    /// The option of `sweep`, `depth` and `load` with this meaning; empty where there is none.
    here: [&'static str; 3],
}

/// The commands of [`Foreign::here`].
const COMMANDS: [&str; 3] = ["sweep", "depth", "load"];

const fn foreign(names: &'static [&'static str], programs: &'static str, here: [&'static str; 3]) -> Foreign {
    Foreign { names, programs, here }
}

/// The options that users of these programs type most.
const FOREIGN: [Foreign; 20] = [
    foreign(
        &["--bs", "--blocksize", "-b"],
        "fio and elbencho",
        ["--record-sizes 64KiB", "--record-sizes 64KiB", "--block 64KiB"],
    ),
    foreign(&["-r"], "IOzone", ["--record-sizes 64KiB", "--record-sizes 64KiB", "--block 64KiB"]),
    foreign(
        &["--size", "-s"],
        "fio, IOzone and elbencho",
        ["--file-sizes 1GiB", "--file-size 1GiB", "--scale 1GiB"],
    ),
    foreign(&["--iodepth"], "fio and elbencho", ["--depths 32", "--depths 32", "--users 32"]),
    foreign(&["--numjobs", "--threads", "-t"], "fio, IOzone and elbencho", ["--jobs 4", "", "--users 4"]),
    foreign(
        &["--runtime", "--timelimit", "--duration", "-d"],
        "fio, elbencho and k6",
        ["--time-budget 10m", "--time-budget 10m", "--measure 60s"],
    ),
    foreign(&["--vus", "-u"], "k6", ["--jobs 4", "", "--users 4"]),
    foreign(&["--stages"], "k6", ["--jobs 1,2,4", "", "--users 5,10,20"]),
    foreign(
        &["--iterations", "-n", "--runs", "--loops"],
        "k6, hyperfine and fio",
        ["--repetitions 10", "--repetitions 10", "--repetitions 10"],
    ),
    foreign(
        &["--rw", "--readwrite", "-i"],
        "fio and IOzone",
        ["--tests write,read,random-read", "--tests read,write", "--workload copy"],
    ),
    foreign(
        &["--rwmixread", "--rwmixpct"],
        "fio and elbencho",
        ["--tests random-mix --read-percent 70", "", ""],
    ),
    foreign(
        &["--direct", "-I"],
        "fio, IOzone and elbencho",
        ["--cache unbuffered", "--cache unbuffered", ""],
    ),
    foreign(&["--fsync", "--end_fsync", "-e"], "fio and IOzone", ["--include flush", "--include flush", ""]),
    foreign(&["-c"], "IOzone", ["--include close", "--include close", ""]),
    foreign(&["-a"], "IOzone", ["--auto", "", ""]),
    foreign(&["--ramp_time", "--warmup"], "fio and hyperfine", ["", "", "--warm-up 10s"]),
    foreign(&["--thinktime"], "fio", ["", "", "--think 1s"]),
    foreign(&["--nrfiles", "--files"], "fio and elbencho", ["--tests metadata --entries 1000", "", ""]),
    foreign(&["--name"], "fio", ["--title TEXT", "--title TEXT", "--title TEXT"]),
    foreign(
        &["--output", "-o", "--export-markdown"],
        "fio and hyperfine",
        ["--report nas.html", "--report nas.html", "--report nas.html"],
    ),
];

/// Options whose meaning the URL or the path of the target has.
const OF_TARGET: [&str; 5] = ["--ioengine", "--filename", "--directory", "-f", "-F"];

/// What an unknown argument means in another program, and what to write here; none for any other argument.
pub fn explained(argument: &str, command: &str) -> Option<(String, String)> {
    let problem = |programs: &str| format!("unexpected argument '{argument}': it is an option of {programs}");
    let index = COMMANDS.iter().position(|name| *name == command);
    if index.is_some() && OF_TARGET.contains(&argument) {
        let hint = format!(
            "leave it out: the target has path and protocol: sharebench {command} /mnt/nas smb://alice@nas/share"
        );
        return Some((problem("fio and IOzone"), hint));
    }
    let found = FOREIGN.iter().find(|foreign| foreign.names.contains(&argument))?;
    let here = found.here[index?];
    if !here.is_empty() {
        return Some((problem(found.programs), format!("here it is {here}")));
    }
    let elsewhere = COMMANDS.iter().zip(found.here).find(|(_, here)| !here.is_empty())?;
    Some((problem(found.programs), format!("here it is: sharebench {} TARGET {}", elsewhere.0, elsewhere.1)))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::Arguments;

    #[test]
    fn what_is_written_instead_is_accepted_and_the_foreign_option_is_not() {
        for foreign in FOREIGN {
            for (command, here) in COMMANDS.iter().zip(foreign.here) {
                let line = |options: &str| {
                    let line = format!("sharebench {command} /mnt/nas {options}");
                    Arguments::try_parse_from(line.split_whitespace()).is_ok()
                };
                assert!(line(here), "{command} {here}");
                for name in foreign.names {
                    assert!(!line(&format!("{name} 1")), "{command} {name}");
                    assert!(explained(name, command).is_some(), "{command} {name}");
                }
            }
        }
    }

    #[test]
    fn an_option_without_counterpart_names_the_command_that_has_one() {
        let (problem, hint) = explained("--thinktime", "sweep").unwrap_or_default();
        assert_eq!(problem, "unexpected argument '--thinktime': it is an option of fio");
        assert_eq!(hint, "here it is: sharebench load TARGET --think 1s");
        assert!(explained("--ioengine", "sweep").unwrap_or_default().1.contains("/mnt/nas"));
        assert_eq!(explained("--bs", "probe"), None);
        assert_eq!(explained("--nonsense", "sweep"), None);
    }
}
