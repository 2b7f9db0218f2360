//! The body of the fuzz target, so that ordinary tests can run it as well.

use super::{Program, Scope, TcpInfo, constant, known_names};

/// Runs `bytes` as a block, twice with the same variables. Nothing may come of it but lines and errors.
pub fn fuzz_code(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let program = match Program::parse(&text) {
        Ok(program) => program,
        Err(error) => {
            assert!(error.line <= 1 + text.matches('\n').count(), "{error} in {text:?}");
            return;
        }
    };
    let info = TcpInfo { snd_cwnd: 10, snd_mss: 1000, ..TcpInfo::default() };
    let names = |name: &str| info.get(name).or_else(|| constant(name));
    let mut scope = Scope::with_known(known_names());
    for _ in 0..2 {
        if let Err(failure) = program.run(&mut scope, &names) {
            let sentence = failure.to_string();
            assert!(sentence.len() < 1 << 16, "an error of {} bytes", sentence.len());
        }
    }
}
