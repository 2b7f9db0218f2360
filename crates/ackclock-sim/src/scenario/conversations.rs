//! A scenario's flows with an application at each end, for real-time runs instead of the simulator.

use std::sync::Arc;

use ackclock_policy::Application;
use ackclock_units::{Instant, Rng};

use super::build;
use super::error::{Result, ScenarioError};
use super::resolved::{Job, Resolved};
use super::workload::{Body, WorkloadPlan};
use crate::flow::{Access, FlowSeeds, StackFactory, application_stream};

/// One connection with an application at each end.
#[derive(Debug)]
pub struct Conversation {
    /// When the client opens the connection.
    pub start: Instant,
    /// The workload that it belongs to.
    pub group: Arc<str>,
    /// Delays between its ends and their nodes.
    pub access: Access,
    /// The client's application and its random stream.
    pub client: (Box<dyn Application>, Rng),
    /// The server's application and its random stream.
    pub server: (Box<dyn Application>, Rng),
    /// The client's stack and the server's, for runs in which the engine is both.
    pub stacks: [Arc<dyn StackFactory>; 2],
}

impl Resolved {
    /// The flows of one job in the order of their starts, the same as in the simulator. Their applications
    /// draw from the same random streams as there.
    ///
    /// # Errors
    /// When a workload is of kind `web` or sends datagrams, or the path has more than one link each way.
    pub fn conversations(&self, job: Job) -> Result<Vec<Conversation>> {
        if let Some(other) = self.workloads.iter().find(|w| !matches!(w.body, Body::Flows { .. })) {
            let message = format!(
                "`workload.kind` is `{}`; only an application such as `telnet` or `bulk` is supported here",
                other.kind
            );
            return Err(ScenarioError::new(message));
        }
        let waits =
            |w: &&WorkloadPlan| matches!(&w.body, Body::Flows { app, .. } if app.build().waits_for_others());
        if let Some(w) = self.workloads.iter().find(waits) {
            let message = format!(
                "workload `{}` has flows that wait for each other, which only the simulator supports",
                w.name
            );
            return Err(ScenarioError::new(message));
        }
        if self.path.edges.len() != 1 {
            return Err(ScenarioError::new(format!(
                "`path` has {} links; only one link and its way back are supported here",
                self.path.edges.len()
            )));
        }
        let mut sources = build::sources(self, job, &build::network(self, true)?)?;
        // Unused: starts, nodes and round-trip times have streams of their own.
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
