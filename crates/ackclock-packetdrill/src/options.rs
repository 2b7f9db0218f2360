//! Values of socket options in bytes.

use std::ffi::c_int;

use ackclock_script::OptionValue;

use crate::errors;

/// The bytes of the name of a congestion control (`TCP_CA_NAME_MAX`).
const NAME_LEN: usize = 16;

/// What an option is to be set to.
///
/// # Errors
///
/// Too few bytes.
pub(crate) fn read(level: c_int, name: c_int, bytes: &[u8]) -> Result<OptionValue, c_int> {
    let int = |at: usize| {
        let four = bytes.get(at..).and_then(|rest| rest.first_chunk()).ok_or(libc::EINVAL)?;
        Ok(i64::from(i32::from_ne_bytes(*four)))
    };
    match (level, name) {
        (libc::SOL_SOCKET, libc::SO_LINGER) => Ok(OptionValue::Linger(int(0)?, int(4)?)),
        (libc::IPPROTO_TCP, libc::TCP_CONGESTION) => {
            let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
            Ok(OptionValue::Text(String::from_utf8_lossy(&bytes[..end]).into_owned()))
        }
        // IP takes a single byte too.
        (libc::IPPROTO_IP, _) if (1..4).contains(&bytes.len()) => Ok(OptionValue::Int(bytes[0].into())),
        _ => int(0).map(OptionValue::Int),
    }
}

/// The bytes of an option.
pub(crate) fn write(name: c_int, value: &OptionValue) -> Vec<u8> {
    let int = |n: i64| (n as i32).to_ne_bytes();
    match value {
        OptionValue::Int(n) => int(*n).to_vec(),
        OptionValue::Linger(on, seconds) => [int(*on), int(*seconds)].concat(),
        // The error that is pending.
        OptionValue::Text(errno) if name == libc::SO_ERROR => errors::number(errno).to_ne_bytes().to_vec(),
        OptionValue::Text(text) => {
            let mut bytes = text.clone().into_bytes();
            bytes.resize(NAME_LEN, 0);
            bytes
        }
    }
}
