//! Options of other programs, and what they are here: users of fio, IOzone, elbencho, hyperfine and k6 type them from habit.

/// Options of other programs with one meaning, each with the programs that have it, such as `--bs fio`; and the option of
/// [`COMMANDS`] with this meaning, empty where there is none.
struct Foreign(&'static [&'static str], [&'static str; 3]);

const COMMANDS: [&str; 3] = ["sweep", "depth", "load"];

/// The options that users of these programs type most.
const FOREIGN: [Foreign; 18] = [
    Foreign(
        &["--bs fio", "--blocksize fio", "-b elbencho", "-r IOzone"],
        ["--record-sizes 64KiB", "--record-sizes 64KiB", "--block 64KiB"],
    ),
    Foreign(
        &["--size fio and elbencho", "-s IOzone and elbencho"],
        ["--file-sizes 1GiB", "--file-size 1GiB", "--scale 1GiB"],
    ),
    Foreign(&["--iodepth fio and elbencho"], ["--depths 32", "--depths 32", "--users 32"]),
    Foreign(
        &["--numjobs fio", "--threads elbencho", "-t IOzone and elbencho", "--vus k6", "-u k6"],
        ["--jobs 4", "", "--users 4"],
    ),
    Foreign(
        &["--runtime fio", "--timelimit elbencho", "--duration k6", "-d k6"],
        ["--time-budget 10m", "--time-budget 10m", "--measure 60s"],
    ),
    Foreign(&["--stages k6"], ["--jobs 1,2,4", "", "--users 5,10,20"]),
    Foreign(
        &["--iterations k6 and elbencho", "--runs hyperfine", "--loops fio"],
        ["--repetitions 10", "--repetitions 10", "--repetitions 10"],
    ),
    Foreign(
        &["--rw fio", "--readwrite fio", "-i IOzone"],
        ["--tests write,read,random-read", "--tests read,write", "--workload copy"],
    ),
    Foreign(&["--rwmixread fio", "--rwmixpct elbencho"], ["--tests random-mix --read-percent 70", "", ""]),
    Foreign(&["--direct fio and elbencho", "-I IOzone"], ["--cache unbuffered", "--cache unbuffered", ""]),
    Foreign(&["--fsync fio", "--end_fsync fio", "-e IOzone"], ["--include flush", "--include flush", ""]),
    Foreign(&["-c IOzone"], ["--include close", "--include close", ""]),
    Foreign(&["-a IOzone"], ["--auto", "", ""]),
    Foreign(&["--ramp_time fio", "--warmup hyperfine"], ["", "", "--warm-up 10s"]),
    Foreign(&["--thinktime fio"], ["", "", "--think 1s"]),
    Foreign(&["--nrfiles fio", "--files elbencho"], ["--tests metadata --entries 1000", "", ""]),
    Foreign(&["--name fio"], ["--title TEXT", "--title TEXT", "--title TEXT"]),
    Foreign(
        &["--output fio and hyperfine", "--export-markdown hyperfine"],
        ["--report nas.html", "--report nas.html", "--report nas.html"],
    ),
];

/// Options whose meaning the URL or the path of the target has.
const OF_TARGET: [&str; 5] =
    ["--ioengine fio", "--filename fio", "--directory fio", "-f IOzone", "-F IOzone"];

/// The programs that have the option, if it is this entry.
fn programs(entry: &'static str, argument: &str) -> Option<&'static str> {
    entry.strip_prefix(argument)?.strip_prefix(' ')
}

/// What an unknown argument means in another program, and what to write here; none for any other argument.
pub fn explained(argument: &str, command: &str) -> Option<(String, String)> {
    let problem = |programs: &str| format!("unexpected argument '{argument}': it is an option of {programs}");
    let index = COMMANDS.iter().position(|name| *name == command);
    if let (Some(_), Some(programs)) = (index, OF_TARGET.iter().find_map(|entry| programs(entry, argument))) {
        let hint = format!(
            "leave it out: the target has path and protocol: sharebench {command} /mnt/nas smb://alice@nas/share"
        );
        return Some((problem(programs), hint));
    }
    let (found, programs) = FOREIGN
        .iter()
        .find_map(|foreign| Some((foreign, foreign.0.iter().find_map(|entry| programs(entry, argument))?)))?;
    let here = found.1[index?];
    if !here.is_empty() {
        return Some((problem(programs), format!("here it is {here}")));
    }
    let elsewhere = COMMANDS.iter().zip(found.1).find(|(_, here)| !here.is_empty())?;
    Some((problem(programs), format!("here it is: sharebench {} TARGET {}", elsewhere.0, elsewhere.1)))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::Arguments;

    #[test]
    fn what_is_written_instead_is_accepted_and_the_foreign_option_is_not() {
        for foreign in FOREIGN {
            for (command, here) in COMMANDS.iter().zip(foreign.1) {
                let line = |options: &str| {
                    let line = format!("sharebench {command} /mnt/nas {options}");
                    Arguments::try_parse_from(line.split_whitespace()).is_ok()
                };
                assert!(line(here), "{command} {here}");
                for entry in foreign.0 {
                    let (name, _) = entry.split_once(' ').unwrap_or_default();
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
