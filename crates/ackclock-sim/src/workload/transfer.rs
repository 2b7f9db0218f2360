//! The applications of a transfer: a request, and a response of a size of its own.

use ackclock_policy::{Application, Chosen, Registry, Value, introduce};
use ackclock_units::Bytes;

/// Who closes a connection first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Closes {
    /// The server, after its last byte.
    Server,
    /// The client, which knows how much comes, when it has read it.
    Client,
}

/// Builds both applications of each transfer.
#[derive(Clone)]
pub struct TransferApps {
    client: Chosen<dyn Application>,
    server: Chosen<dyn Application>,
    closes: Closes,
}

impl TransferApps {
    /// Transfers with a request of this size.
    pub fn new(request: Bytes, closes: Closes) -> Self {
        let registry = Registry::builtin();
        let mut client = registry.choose::<dyn Application>("request").expect("request is built in");
        let request = Value::Bytes(request);
        client.set_value("request", request).expect("the same range as the workload's");
        let name = if closes == Closes::Client { "serve" } else { "respond" };
        let mut server = registry.choose::<dyn Application>(name).expect("both servers are built in");
        if closes == Closes::Server {
            server.set_value("request", request).expect("the same range as the workload's");
        }
        Self { client, server, closes }
    }

    /// Client and server of a transfer of this size.
    pub(crate) fn build(&mut self, size: Bytes) -> (Box<dyn Application>, Box<dyn Application>) {
        let (size, app, key) = match self.closes {
            Closes::Server => (Value::Bytes(size), &mut self.server, "size"),
            Closes::Client => (Value::Bytes(size), &mut self.client, "response"),
        };
        // Cannot fail: a distribution beyond the declared range is refused when the scenario is read.
        let _ = app.set_value(key, size);
        let (client, mut server) = (self.client.build(), self.server.build());
        if self.closes == Closes::Client {
            introduce(&*client, &mut *server);
        }
        (client, server)
    }
}
