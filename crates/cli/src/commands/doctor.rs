//! `sharebench doctor`: what this machine can measure, and proof of it.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use sharebench_doctor::{
    Conditions, EXPERIMENTS, Experiment, Proof, Verdict, examine, findings_text, proofs_text, prove, to_json,
};

use crate::exit;
use crate::flags::GlobalFlags;

#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Also measure embedded servers whose truth is known, and compare (about a quarter of an hour).
    #[arg(long)]
    pub prove: bool,
    /// Only these experiments, such as K1,K18.
    #[arg(long, value_delimiter = ',', requires = "prove", value_name = "K..", value_parser = experiment)]
    pub only: Vec<&'static Experiment>,
    /// Half the time and half the repetitions.
    #[arg(long, requires = "prove")]
    pub quick: bool,
    /// Let K20 set this machine's wall clock back by an hour for one second (needs root).
    #[arg(long, requires = "prove")]
    pub step_clock: bool,
    /// How.
    #[arg(long, value_enum, default_value_t = DoctorFormat::Text)]
    pub format: DoctorFormat,
}

/// Forms of the doctor's report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DoctorFormat {
    /// For the terminal.
    Text,
    /// Findings and proofs in a versioned schema.
    Json,
}

fn experiment(id: &str) -> Result<&'static Experiment, String> {
    EXPERIMENTS.iter().find(|experiment| experiment.id.eq_ignore_ascii_case(id)).ok_or_else(|| {
        let known: Vec<&str> = EXPERIMENTS.iter().map(|experiment| experiment.id).collect();
        format!("known are {}", known.join(", "))
    })
}

/// Examines, and proves if asked to.
pub fn run(args: &DoctorArgs, flags: &GlobalFlags) -> ExitCode {
    let text = args.format == DoctorFormat::Text;
    let findings = examine();
    if text {
        print!("{}", findings_text(&findings));
    }
    let mut proofs = Vec::new();
    if args.prove {
        if text {
            println!();
        }
        let conditions = Conditions { quick: args.quick, step_clock: args.step_clock };
        for experiment in EXPERIMENTS {
            if !args.only.is_empty() && !args.only.iter().any(|wanted| wanted.id == experiment.id) {
                continue;
            }
            if !flags.quiet {
                let Experiment { id, title, duration, .. } = experiment;
                eprintln!("{id} {title}: about {duration:.0?} per attempt, at most 3");
            }
            let proof = prove(experiment, conditions);
            if text {
                print!("{}", proofs_text(std::slice::from_ref(&proof)));
            }
            proofs.push(proof);
        }
    }
    if !text {
        println!("{}", to_json(&findings, &proofs));
    }
    ExitCode::from(code(&proofs))
}

/// Findings are for reading; only a proof can fail.
fn code(proofs: &[Proof]) -> u8 {
    let any = |verdict| proofs.iter().any(|proof| proof.verdict == verdict);
    if any(Verdict::Fail) {
        exit::DISPROVED
    } else if any(Verdict::TooNoisy) || any(Verdict::NotRun) {
        exit::UNPROVED
    } else {
        0
    }
}
