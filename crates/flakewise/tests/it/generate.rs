//! Completions and man pages.

use std::process::Command;

use crate::context;

#[test]
fn completions_name_the_commands_in_every_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = context().run(["completions", shell]);
        assert_eq!(output.code, Some(0), "{}", output.stderr);
        for word in ["quarantine", "verify-base"] {
            assert!(output.stdout.contains(word), "{shell} has no {word}");
        }
    }
}

#[test]
fn bash_completes_a_command() {
    let context = context();
    let script = context.run(["completions", "bash"]).stdout;
    context.write("completions.bash", &script);
    let complete = "source completions.bash; COMP_WORDS=(flakewise quaran); COMP_CWORD=1; \
        _flakewise flakewise quaran flakewise; echo \"${COMPREPLY[@]}\"";
    let output = Command::new("bash").args(["-c", complete]).current_dir(context.path()).output();
    let output = output.expect("bash runs");
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "quarantine");
}

#[test]
fn there_is_a_man_page_for_every_command() {
    let context = context();
    let output = context.run(["man", "pages/man1"]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    for name in ["flakewise", "flakewise-run", "flakewise-quarantine-add"] {
        let page = std::fs::read_to_string(context.path().join(format!("pages/man1/{name}.1")));
        let page = page.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(page.contains(".TH ") && page.contains(".SH SYNOPSIS"), "{name}");
    }
    assert!(!context.path().join("pages/man1/flakewise-debug.1").exists());
}
