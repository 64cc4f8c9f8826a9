//! `sharebench doctor`: what this machine can measure, and known answers that prove it.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use sharebench_doctor::{
    Conditions, EXPERIMENTS, Experiment, Proof, Protocol, Verdict, examine, prove, to_json,
};

use crate::commands::doctor_text::{findings_text, proofs_text, verdict_text};
use crate::exit;
use crate::flags::output::QuietFlags;
use crate::output::{line, print_out, style};

pub const DOCTOR_HELP: &str = "Examples:
  sharebench doctor                       # some seconds
  sharebench doctor --prove --quick       # some minutes
  sharebench doctor --prove --only K1,K18 --format json";

#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Also run the known answers: experiments on embedded servers of known speed (about 15 minutes).
    #[arg(long)]
    pub prove: bool,
    /// Run only these experiments, such as K1,K18.
    #[arg(long, value_delimiter = ',', requires = "prove", value_name = "K..", value_parser = experiment)]
    pub only: Vec<&'static Experiment>,
    /// Protocol between the engine and the embedded servers.
    #[arg(long, value_enum, default_value_t, requires = "prove", value_name = "PROTOCOL")]
    pub protocol: ProofProtocol,
    /// Run each experiment with half the time and half the repetitions.
    #[arg(long, requires = "prove")]
    pub quick: bool,
    /// Let K20 set the wall clock of this machine back by one hour for one second (needs root).
    #[arg(long, requires = "prove")]
    pub step_clock: bool,
    /// Output format.
    #[arg(long, value_enum, default_value_t = DoctorFormat::Text)]
    pub format: DoctorFormat,
    #[command(flatten)]
    pub quiet: QuietFlags,
}

/// Protocols of the known answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum ProofProtocol {
    /// NFS 3.
    #[default]
    Nfs,
    /// SMB 3.1.1.
    Smb,
}

/// Formats of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DoctorFormat {
    /// Text for the terminal.
    Text,
    /// Findings and proofs in a versioned schema.
    Json,
}

fn experiment(id: &str) -> Result<&'static Experiment, String> {
    EXPERIMENTS.iter().find(|experiment| experiment.id.eq_ignore_ascii_case(id)).ok_or_else(|| {
        let known: Vec<&str> = EXPERIMENTS.iter().map(|experiment| experiment.id).collect();
        format!("expected {}", known.join(", "))
    })
}

/// Examines the machine, and runs the known answers with --prove.
pub fn run(args: &DoctorArgs) -> ExitCode {
    let text = args.format == DoctorFormat::Text;
    let examination = examine();
    if text {
        show(&findings_text(&examination, style()));
    }
    let mut proofs = Vec::new();
    if args.prove {
        if text {
            let over = if args.protocol == ProofProtocol::Smb { " OVER SMB" } else { "" };
            show(&format!("\nKNOWN ANSWERS{over}\n"));
        }
        let protocol = match args.protocol {
            ProofProtocol::Nfs => Protocol::Nfs,
            ProofProtocol::Smb => Protocol::Smb,
        };
        let conditions = Conditions { protocol, quick: args.quick, step_clock: args.step_clock };
        for experiment in EXPERIMENTS {
            if !args.only.is_empty() && !args.only.iter().any(|wanted| wanted.id == experiment.id) {
                continue;
            }
            if !args.quiet.quiet {
                let Experiment { id, title, duration, .. } = experiment;
                line(format_args!("{id} {title}: about {duration:.0?} per attempt, at most 3 attempts"));
            }
            let proof = prove(experiment, conditions);
            if text {
                show(&proofs_text(std::slice::from_ref(&proof), style()));
            }
            proofs.push(proof);
        }
    }
    if text {
        show(&verdict_text(&examination, &proofs, style()));
    } else {
        show(&format!("{}\n", to_json(&examination, &proofs)));
    }
    ExitCode::from(code(&proofs))
}

/// Prints text. A reader that is gone does not end the examination.
fn show(text: &str) {
    let _ = print_out(text);
}

/// Only a proof can fail; findings do not change the exit code.
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
