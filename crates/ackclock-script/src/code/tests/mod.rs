mod errors;
mod expressions;
mod hostile;
mod info;
mod statements;

use super::*;

fn names(name: &str) -> Option<Value> {
    Some(match name {
        "tcpi_snd_cwnd" => Value::Int(10),
        "tcpi_rtt" => Value::Int(14_000),
        "zero" => Value::Int(0),
        "half" => Value::Float(0.5),
        "word" => Value::from("cwnd"),
        "flag" => Value::Bool(true),
        _ => return constant(name),
    })
}

/// The lines that a block prints, or the sentence that says why it fails.
fn printed(text: &str) -> Result<Vec<String>, String> {
    let program = Program::parse(text).map_err(|e| e.to_string())?;
    program.run(&mut Scope::with_known(known_names()), &names).map_err(|e| e.to_string())
}

/// The sentence that says why a block is not understood or fails.
fn error(text: &str) -> String {
    match printed(text) {
        Ok(lines) => panic!("{text:?} prints {lines:?}"),
        Err(sentence) => sentence,
    }
}
