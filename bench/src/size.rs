//! What the binary weighs, and how long it takes to say its name.

use std::process::Command;

use crate::measure::{header, run as measured};
use crate::{Options, Outcome};

pub(crate) fn run(options: &Options) -> Outcome<()> {
    print!("{}", header("size", options));
    let scratch = tempfile::tempdir()?;
    let stripped = scratch.path().join("flakewise");
    std::fs::copy(&options.flakewise, &stripped)?;
    let status = Command::new("strip").arg(&stripped).status()?;
    if !status.success() {
        return Err("`strip` failed".into());
    }
    let megabytes =
        |path: &std::path::Path| -> Outcome<f64> { Ok(std::fs::metadata(path)?.len() as f64 / 1e6) };
    println!("stripped           {:6.1} MB   (bound 100)", megabytes(&stripped)?);
    let programs: &[(&str, &[&str], &str)] = if options.short {
        &[("gzip", &["-1k"], "gz")]
    } else {
        &[("gzip", &["-9k"], "gz"), ("xz", &["-6k", "-T2"], "xz")]
    };
    for (program, arguments, extension) in programs {
        let status = Command::new(program).args(*arguments).arg(&stripped).status()?;
        if !status.success() {
            return Err(format!("`{program}` failed").into());
        }
        println!("{program:<18} {:6.1} MB   (bound 35)", megabytes(&stripped.with_extension(extension))?);
    }
    let mut walls = Vec::new();
    for _ in 0..20 {
        walls.push(measured(Command::new(&options.flakewise).arg("--version"))?.0.wall);
    }
    walls.sort();
    println!(
        "flakewise --version: least {:.1} ms, median {:.1} ms of 20   (bound 30)",
        walls[0].as_secs_f64() * 1e3,
        walls[10].as_secs_f64() * 1e3
    );
    Ok(())
}
