//! The download demonstration on its own:
//! `cargo run --release -p ackclock-drive --example download [FOLDER FOR CAPTURES]`.

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    use ackclock_drive::{DemoOptions, download_demo};
    use ackclock_engine::Stack;
    use ackclock_policy::Registry;

    let stack = Stack::named(&Registry::builtin(), "cubic").expect("a preset of this name is built in");
    let mut options = DemoOptions::new(stack.config(), std::sync::Arc::new(move || stack.build()));
    options.captures = std::env::args_os().nth(1).map(Into::into);
    let report = download_demo(&options, &mut |p| {
        eprint!("\r{} of {} bytes after {:.1?}  ", p.received, p.of, p.elapsed);
        std::ops::ControlFlow::Continue(())
    });
    match report {
        Ok(report) => {
            println!("\n{report:#?}");
            std::process::ExitCode::SUCCESS
        }
        Err(e) => {
            eprintln!("\n{e}");
            std::process::ExitCode::FAILURE
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("{}", ackclock_drive::check().map_or_else(|e| e.to_string(), |_| String::new()));
}
