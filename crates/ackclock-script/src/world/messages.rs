//! What `recvmsg` received beside what is expected.

use ackclock_units::{Duration, Instant};

use super::calls::int;
use super::seconds;
use crate::ast::{self, Expr};
use crate::host::{Control, ControlData, ErrorReport, Message};

type Fields = [(Option<String>, Expr)];

/// Compares the flags and the control messages of a message with those that the script writes.
pub(super) fn compare(expected: &ast::Call, got: &Message, tolerance: Duration) -> Result<(), String> {
    let Some(Expr::Struct(fields)) = expected.arguments.get(1) else { return Ok(()) };
    if let Some(wanted) = field(fields, "msg_flags").filter(|e| !matches!(e, Expr::Any)) {
        let wanted = int(wanted)?;
        if wanted != got.flags {
            return Err(format!("the flags of the message are {:#x} instead of {wanted:#x}", got.flags));
        }
    }
    let Some(Expr::Array(wanted)) = field(fields, "msg_control") else { return Ok(()) };
    if wanted.len() != got.control.len() {
        return Err(format!("there are {} control messages instead of {}", got.control.len(), wanted.len()));
    }
    wanted.iter().zip(&got.control).try_for_each(|(wanted, met)| control(wanted, met, tolerance))
}

fn control(wanted: &Expr, met: &Control, tolerance: Duration) -> Result<(), String> {
    let Expr::Struct(fields) = wanted else {
        return Err("a control message is {cmsg_level=.., cmsg_type=.., cmsg_data=..}".to_owned());
    };
    number("level", field(fields, "cmsg_level"), met.level)?;
    number("type", field(fields, "cmsg_type"), met.kind)?;
    let Some(data) = field(fields, "cmsg_data") else { return Ok(()) };
    match (met.data, data) {
        (_, Expr::Any) => Ok(()),
        (ControlData::Time(at), Expr::Struct(fields)) => time(fields, at, tolerance),
        (ControlData::Error(report), Expr::Struct(fields)) => error(fields, &report),
        (ControlData::Int(n), data) => number("number", Some(data), n),
        _ => Err("the control message has other data".to_owned()),
    }
}

fn time(fields: &Fields, at: Instant, tolerance: Duration) -> Result<(), String> {
    let part = |name| field(fields, name).map_or(Ok(0), int).map(|n| u64::try_from(n).unwrap_or(0));
    let wanted = Duration::from_secs(part("scm_sec")?) + Duration::from_nanos(part("scm_nsec")?);
    let wanted = Instant::ZERO + wanted;
    if at + tolerance >= wanted && wanted + tolerance >= at {
        return Ok(());
    }
    Err(format!("the timestamp is {} instead of {} (within {tolerance})", seconds(at), seconds(wanted)))
}

fn error(fields: &Fields, met: &ErrorReport) -> Result<(), String> {
    let pairs = [
        ("ee_errno", met.errno),
        ("ee_origin", met.origin),
        ("ee_type", met.kind),
        ("ee_code", met.code),
        ("ee_info", met.info),
        ("ee_data", met.data),
    ];
    pairs.into_iter().try_for_each(|(name, met)| number(name, field(fields, name), met))
}

fn number(what: &str, wanted: Option<&Expr>, met: i64) -> Result<(), String> {
    let Some(wanted) = wanted.filter(|e| !matches!(e, Expr::Any)) else { return Ok(()) };
    match int(wanted)? {
        wanted if wanted == met => Ok(()),
        wanted => Err(format!("{what} {met} instead of {wanted} in a control message")),
    }
}

fn field<'a>(fields: &'a Fields, wanted: &str) -> Option<&'a Expr> {
    fields.iter().find(|(name, _)| name.as_deref() == Some(wanted)).map(|(_, value)| value)
}
