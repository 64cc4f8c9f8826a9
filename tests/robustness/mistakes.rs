//! Sixty mistakes as users make them: each message says what is wrong, why, and what to do next, in few lines.
//!
//!     INSTA_UPDATE=always cargo test -p sharebench-tests --test end_to_end sixty_mistakes

use std::fs;

use sharebench_tests::program::{PATIENCE, free_port};
use sharebench_tests::{Ended, Sharebench, expect_listed};

use crate::plans::left_in;

/// Most characters and lines of a message.
const MAX_CHARACTERS: usize = 300;
const MAX_LINES: usize = 4;

/// Words that come before a command, a valid value or a list of names.
const NEXT_STEPS: [&str; 17] = [
    "hint: ",
    "such as ",
    "did you mean ",
    "groups are ",
    "known are ",
    " knows ",
    " use ",
    " write ",
    " set ",
    " give ",
    " name a ",
    " make ",
    " run ",
    "..",
    "commands that ",
    "`sharebench ",
    " is written ",
];

/// Command lines, with HOST for an address where no server listens.
const MISTAKES: [&str; 60] = [
    // Options of fio, IOzone, k6 and elbencho.
    "sweep ./here --runtime=60",
    "sweep ./here --bs 4k",
    "sweep ./here --iodepth 32",
    "sweep ./here --numjobs=4",
    "sweep ./here --size 1G",
    "sweep ./here --ioengine=libaio",
    "sweep ./here --direct=1",
    "sweep ./here --rw randread",
    "sweep ./here -r 64k",
    "sweep ./here -s 1g",
    "sweep ./here -i 0",
    "sweep ./here -t 4",
    "depth ./here --bs 4k",
    "load ./here --vus 10",
    "load ./here --duration 30s",
    "load ./here --threads 4",
    // Commands and arguments.
    "swep ./here",
    "smb://nas/share",
    "sweep",
    "show 1 2",
    "export 1",
    "sweep ./here --report x.pdf",
    "report 1 -o x.docx",
    "sweep ./here --json --quiet",
    "sweep ./here --repetition 6",
    // Values.
    "sweep ./here --repetitions ten",
    "load ./here --users ten",
    "load ./here --users 0",
    "serve ./here --nfs 24101",
    "sweep ./here --file-sizes huge",
    "sweep ./here --file-sizes 20TiB",
    "sweep ./here --file-sizes 16TiB --record-sizes 1MiB --jobs 64",
    "sweep ./here --file-sizes 4KiB --record-sizes 64KiB",
    "sweep ./here --precision 2",
    "sweep ./here --time-budget 10",
    "load ./here --think 100000000s",
    "sweep ./here --tests raed",
    "load ./here --preset offfice",
    "load ./here --preset nonsense",
    "load ./here --workload no-such",
    "sweep ./here --cache direct",
    "depth ./here --sync always",
    // Targets.
    "sweep gopher://host/x",
    "sweep smb:/nas/share",
    "sweep smb://nas",
    "sweep alice@nas:/export",
    "sweep C:\\data",
    "sweep smb://lab:hunter2@nas/share",
    "sweep smb://lab@nas/share?dialekt=3",
    "sweep ./nowhere",
    "sweep nas",
    "sweep nfs4://HOST/export",
    "sweep smb://lab@HOST/share",
    "sweep @nas",
    "sweep ./here here/../here",
    // Files.
    "gate ./here",
    "run no-such-plan.toml",
    "run misplaced.toml",
    "show 12345 --db none.db",
    "import fio.txt",
];

/// The message of a command: its last one, without the lines of the plan before it.
fn message(ended: &Ended, replaced: &[(&str, &str)]) -> String {
    let lines: Vec<&str> = ended.stderr.lines().collect();
    let is_first = |line: &&str| line.starts_with("sharebench: ") || line.starts_with("error: ");
    let start = lines.iter().rposition(is_first).unwrap_or_else(|| panic!("no message: {}", ended.text()));
    let message = lines[start..].join("\n");
    let message = replaced.iter().fold(message, |message, (from, to)| message.replace(from, to));
    // The space on this machine.
    match message
        .split_once("but only ")
        .and_then(|(start, rest)| Some((start, rest.split_once(" are free")?.1)))
    {
        Some((start, rest)) => format!("{start}but only SIZE are free{rest}"),
        None => message,
    }
}

#[test]
fn sixty_mistakes_say_what_is_wrong_why_and_what_to_do_next() {
    let sharebench = Sharebench::new().unwrap();
    let here = sharebench.home().join("here");
    fs::create_dir(&here).unwrap();
    sharebench.write("fio.txt", "a: (g=0): rw=read, bs=(R) 4096B-4096B\nfio-3.33\n").unwrap();
    sharebench.write("misplaced.toml", "[[target]]\nurl = './here'\n[sweep]\nrepetitions = 3\n").unwrap();
    let closed = format!("127.0.0.1:{}", free_port().unwrap());
    let home = sharebench.home().display().to_string();
    let mut all: Vec<String> = Vec::new();
    let mut wrong = Vec::new();
    for line in MISTAKES {
        let typed = line.replace("HOST", &closed);
        let ended = sharebench.run(&typed.split(' ').collect::<Vec<_>>()).unwrap();
        let shown = message(&ended, &[(&closed, "HOST"), (&home, "HOME")]);
        let has_step = NEXT_STEPS.iter().any(|words| shown.contains(words));
        let characters = shown.chars().count();
        let lines = shown.lines().count();
        if !matches!(ended.code, Some(2 | 3)) || !has_step || characters > MAX_CHARACTERS || lines > MAX_LINES
        {
            wrong.push(format!("{line}: {:?}, {characters} characters, {lines} lines: {shown}", ended.code));
        }
        assert!(!ended.text().contains("hunter2"), "{}", ended.text());
        expect_listed(&ended.stderr);
        assert_eq!(left_in(&here), Vec::<String>::new(), "{line}");
        all.push(format!("$ sharebench {line}\n{shown}\n\n"));
    }
    insta::with_settings!({ snapshot_path => "snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("mistakes", all.concat());
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_share_without_a_user_that_must_sign_and_a_wrong_share_are_explained() {
    let sharebench = Sharebench::new().unwrap();
    let address = format!("127.0.0.1:{}", free_port().unwrap());
    let serve = ["serve", "--memory", "16MiB", "--smb", &address];
    let mut server = sharebench.start(&serve, "serve.log").unwrap();
    server.wait_for_port(address.rsplit(':').next().unwrap().parse().unwrap(), PATIENCE).unwrap();
    for (url, words) in [
        (format!("smb://{address}/share?sign=required"), "the URL names no user"),
        (format!("smb://bob@{address}/share?sign=required"), "the server admits bob as a guest only"),
        (format!("smb://{address}/shares"), "the server has the shares share"),
    ] {
        let ended = sharebench.run(&["sweep", &url]).unwrap();
        let shown = message(&ended, &[]);
        assert!(ended.code == Some(3) && shown.contains(words), "{}", ended.text());
        assert!(shown.chars().count() <= MAX_CHARACTERS + url.len(), "{shown}");
        expect_listed(&ended.stderr);
    }
}

#[test]
fn named_targets_are_measured_with_their_password_and_mistakes_in_the_file_are_placed() {
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    let folder = sharebench.home().join("config/sharebench");
    fs::create_dir_all(&folder).unwrap();
    let write = |text: &str| fs::write(folder.join("targets.toml"), text).unwrap();
    let config = sharebench.home().join("config").display().to_string();
    let run = |line: &[&str]| {
        // A wrong password in the environment does not count.
        let env = [("XDG_CONFIG_HOME", config.as_str()), ("SHAREBENCH_PASSWORD", "hunter2")];
        sharebench.run_with(line, &env).unwrap()
    };
    fs::write(folder.join("lab.password"), format!("{}\n", sharebench_tests::Smbd::PASSWORD)).unwrap();
    let url = served.smb_url("");
    write(&format!(
        "[nas]\nurl = '{url}'\npassword_file = 'lab.password'\n[nfs]\nurl = '{}'\n",
        served.nfs_url("")
    ));
    let small =
        ["--file-sizes", "64KiB", "--record-sizes", "4KiB", "--tests", "write,read", "--repetitions", "1"];
    let _ = run(&[&["sweep", "@nas", "old=@nfs"], &small[..]].concat()).expect_success();
    let exported = run(&["export", "last", "--format", "json"]).expect_success().stdout;
    for (words, is_stored) in
        [("\"nas\"", true), ("\"old\"", true), (url.as_str(), true), ("lab.password", false), ("@nas", false)]
    {
        // The command is stored as it was typed.
        let exported = exported.replace("@nas old=@nfs", "");
        assert_eq!(exported.contains(words), is_stored, "{words}: {exported}");
    }
    sharebench.write("plan.toml", "[[target]]\nurl = '@nas'\n[sweep]\nfile_sizes = ['64KiB']\n").unwrap();
    let probed = run(&["probe", "@nas"]).expect_success();
    assert!(probed.stdout.contains("usable: yes"), "{}", probed.text());
    let surveyed = run(&["learn", "@nas", "-o", "-"]);
    assert!(surveyed.text().contains("no file has content"), "{}", surveyed.text());
    assert_eq!(run(&["completions", "--targets"]).expect_success().stdout, "@nas\n@nfs\n");
    for (line, words) in [
        (
            &["sweep", "@nass"][..],
            ["targets.toml: '@nass' is not in it", "did you mean '@nas'? It names @nas, @nfs"],
        ),
        (&["clean", "@x"], ["targets.toml: '@x' is not in it", "It names @nas, @nfs"]),
    ] {
        let ended = run(line);
        assert!(
            ended.code == Some(2) && words.iter().all(|words| ended.stderr.contains(words)),
            "{}",
            ended.text()
        );
        expect_listed(&ended.stderr);
    }
    write("[nas]\nurl = 'nfs://h/x'\npasword_file = 'x'\n");
    let ended = run(&["sweep", "@nas"]);
    assert!(ended.stderr.contains("line 3: nas.pasword_file: unknown field"), "{}", ended.text());
    expect_listed(&ended.stderr);
}
