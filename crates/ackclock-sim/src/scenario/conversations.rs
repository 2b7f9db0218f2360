//! The flows with an application at each end that a scenario asks for, for a world that is not the simulator.

use std::sync::Arc;

use ackclock_policy::Application;
use ackclock_units::{Instant, Rng};

use super::build;
use super::error::{Result, ScenarioError};
use super::resolved::{Job, Resolved};
use super::workload::Body;
use crate::flow::{Access, FlowSeeds, StackFactory, application_stream};

/// One connection with an application at each end.
#[derive(Debug)]
pub struct Conversation {
    /// When the client opens it.
    pub start: Instant,
    /// The workload that it belongs to.
    pub group: Arc<str>,
    /// Delays between its ends and their nodes.
    pub access: Access,
    /// The client's application, and the stream of random numbers that it draws from.
    pub client: (Box<dyn Application>, Rng),
    /// The server's.
    pub server: (Box<dyn Application>, Rng),
    /// The client's stack and the server's, for a world in which they are the engine's.
    pub stacks: [Arc<dyn StackFactory>; 2],
}

impl Resolved {
    /// The flows of one job, in the order of their starts: those of the simulator, with the same streams of
    /// random numbers. What an application draws is the same in both worlds.
    ///
    /// # Errors
    /// When a workload is of kind `web` or sends datagrams, or the path has more than one link each way.
    pub fn conversations(&self, job: Job) -> Result<Vec<Conversation>> {
        if let Some(other) = self.workloads.iter().find(|w| !matches!(w.body, Body::Flows { .. })) {
            let message = format!(
                "`workload.kind` is `{}`; an application, such as `telnet` and `sink`, would do here",
                other.kind
            );
            return Err(ScenarioError::new(message));
        }
        if self.path.edges.len() != 1 {
            return Err(ScenarioError::new(format!(
                "`path` has {} links; one and its way back would do here",
                self.path.edges.len()
            )));
        }
        let mut sources = build::sources(self, job, &build::network(self, true)?)?;
        // Starts, nodes and round-trip times have streams of their own; this one is not drawn from.
        let (mut rng, mut seeds) = (Rng::stream(job.seed, "conversations", 0), FlowSeeds::new(job.seed));
        let mut conversations = Vec::new();
        for source in &mut sources.flows {
            while let Some(flow) = source.next(Instant::ZERO, &mut rng) {
                let seed = seeds.next(&flow.group);
                conversations.push(Conversation {
                    start: flow.start,
                    group: flow.group,
                    access: flow.access,
                    client: (flow.client_app, application_stream(seed, 0)),
                    server: (flow.server_app, application_stream(seed, 1)),
                    stacks: [flow.client_stack, flow.server_stack],
                });
            }
        }
        conversations.sort_by_key(|c| c.start);
        Ok(conversations)
    }
}
