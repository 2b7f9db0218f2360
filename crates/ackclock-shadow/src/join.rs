//! Causes of retransmissions in an analysed capture, by the stacks that fit its senders.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use ackclock_capture::{Cause, Direction, KnownCause, KnownCauses, Report, View};
use ackclock_engine::Stack;

use crate::{Conversation, Explained, ShadowError, Why, explain};

/// Directions for which stacks are asked: those with the most retransmissions.
pub const MOST_ASKED: usize = 64;

/// What a stack says of one direction.
#[derive(Debug)]
pub struct ByStack {
    /// The number of the connection in the report.
    pub connection: usize,
    /// Its direction: 0 is the client's.
    pub side: usize,
    /// The stack that fits, or why none does.
    pub found: Result<Explained, ShadowError>,
    /// Retransmissions of data in the capture.
    pub retransmissions: usize,
    /// Those of them that the stack explains.
    pub explained: usize,
    /// The packets for which it names another cause than acks and silences suggest, with both.
    pub changed: Vec<(u64, Cause, Cause)>,
}

/// Asks `stacks` for the causes of the retransmissions in `report`, the analysis of the capture at `path`, of the
/// connections that `wanted` selects by number. A second analysis takes what they answer
/// ([`ackclock_capture::Options::causes`]): there, thresholds are left for what no stack explains.
///
/// # Errors
/// Those of the file.
pub fn ask(
    path: &Path,
    report: &Report,
    stacks: &[Stack],
    wanted: impl Fn(usize) -> bool,
) -> Result<(KnownCauses, Vec<ByStack>), ShadowError> {
    let mut asked: Vec<(usize, usize, &Direction)> = Vec::new();
    for (number, c) in report.connections.iter().enumerate().filter(|(number, _)| wanted(*number)) {
        asked.extend(c.directions.iter().enumerate().map(|(side, d)| (number, side, d)));
    }
    asked.retain(|(.., d)| d.view == View::Sender && of_data(d) > 0);
    asked.sort_by_key(|(number, side, d)| (std::cmp::Reverse(of_data(d)), *number, *side));
    asked.truncate(MOST_ASKED);
    let ends: Vec<(SocketAddr, SocketAddr)> = asked
        .iter()
        .map(|(number, side, _)| {
            let c = &report.connections[*number];
            if *side == 0 { (c.client, c.server) } else { (c.server, c.client) }
        })
        .collect();
    let mut causes = KnownCauses::new();
    let mut said = Vec::with_capacity(asked.len());
    for (conversation, (connection, side, d)) in Conversation::read_each(path, &ends)?.into_iter().zip(asked)
    {
        let rack = conversation.as_ref().is_ok_and(|c| c.opening.own.options.sack_permitted)
            && conversation.as_ref().is_ok_and(|c| c.opening.peer.options.sack_permitted);
        let found = conversation.and_then(|c| explain(&c, stacks));
        let mut by_stack = ByStack {
            connection,
            side,
            found,
            retransmissions: of_data(d),
            explained: 0,
            changed: Vec::new(),
        };
        if let Ok(explained) = &by_stack.found {
            let rows: BTreeMap<u64, Cause> = d.retransmissions.iter().map(|r| (r.frame, r.cause)).collect();
            for reason in &explained.reasons {
                let Some(rules) = rows.get(&reason.packet).copied().filter(|c| is_of_data(*c)) else {
                    continue;
                };
                let cause = reason.why.cause(rack);
                by_stack.explained += 1;
                if Why::of(rules) != Some(reason.why) {
                    by_stack.changed.push((reason.packet, rules, cause));
                }
                let evidence = format!("as {} sends, {}", explained.stack, reason.why.words());
                causes.insert(reason.packet, KnownCause { cause, evidence: Arc::from(evidence) });
            }
        }
        said.push(by_stack);
    }
    Ok((causes, said))
}

fn is_of_data(cause: Cause) -> bool {
    cause.counts() && cause != Cause::Syn
}

fn of_data(d: &Direction) -> usize {
    d.retransmissions.iter().filter(|r| is_of_data(r.cause)).count()
}
