//! `retake completions` and `retake man`: made from the command line's own definition.

use crate::Ending;
use crate::status::{Context, Result, Status};
use clap::CommandFactory;
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct CompletionsArgs {
    /// For which shell
    shell: clap_complete::Shell,
}

#[derive(clap::Args)]
pub struct ManArgs {
    /// Write one page for each command into this directory, instead of the main page to standard output
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

pub fn completions(args: CompletionsArgs) -> Result<Ending> {
    clap_complete::generate(args.shell, &mut crate::Cli::command(), "retake", &mut std::io::stdout());
    Ok(Ending::Status(Status::Fine))
}

pub fn man(args: ManArgs) -> Result<Ending> {
    let command = crate::Cli::command();
    match args.dir {
        Some(dir) => {
            let words = || format!("cannot write into {}", dir.display());
            std::fs::create_dir_all(&dir).because(words)?;
            clap_mangen::generate_to(command, &dir).because(words)?;
        }
        None => clap_mangen::Man::new(command).render(&mut std::io::stdout()).because(|| "cannot print".into())?,
    }
    Ok(Ending::Status(Status::Fine))
}
