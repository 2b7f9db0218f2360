//! What a script says, as it was written: nothing is looked up or checked against the world yet.

use ackclock_units::Duration;

/// A script.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Script {
    /// Its flags, such as `--tolerance_usecs=10000`, in order.
    pub flags: Vec<Flag>,
    /// Shell commands before the first event.
    pub setup: Vec<Shell>,
    /// What happens, in order.
    pub events: Vec<Event>,
    /// Shell commands after the last event.
    pub cleanup: Vec<Shell>,
}

/// A flag at the beginning of a script.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Flag {
    /// Where it stands.
    pub line: u32,
    /// Its name without dashes.
    pub name: String,
    /// What stands behind `=`.
    pub value: Option<String>,
}

/// A shell command in backquotes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shell {
    /// Where it begins.
    pub line: u32,
    /// What stands between the backquotes.
    pub text: String,
}

/// One event.
#[derive(Clone, PartialEq, Debug)]
pub struct Event {
    /// The line on which it begins.
    pub line: u32,
    /// When it happens, or is expected.
    pub when: When,
    /// What happens, or is expected.
    pub action: Action,
    /// Its text without the time, on one line: what reports show.
    pub text: String,
}

/// When something happens. Relative times count from the event before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum When {
    /// `1.5`: so long after the beginning of the script.
    At(Duration),
    /// `+1.5`: so long after the event before.
    After(Duration),
    /// `1.5~2`: between the two.
    Within(Duration, Duration),
    /// `+1.5~+2`: between the two after the event before.
    AfterWithin(Duration, Duration),
    /// `*`: whenever; for expected packets.
    Any,
}

/// What an event is.
#[derive(Clone, PartialEq, Debug)]
pub enum Action {
    /// `<`: a packet that arrives.
    Inject(Packet),
    /// `>`: a packet that is expected to leave.
    Expect(Packet),
    /// A system call.
    Call(Call),
    /// A shell command.
    Shell(Shell),
    /// `%{ }%`: assertions.
    Code(Code),
}

/// A block of assertions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Code {
    /// The line on which its text begins.
    pub line: u32,
    /// What stands between `%{` and `}%`.
    pub text: String,
}

/// A packet.
#[derive(Clone, PartialEq, Debug)]
pub struct Packet {
    /// What is said of its IP header.
    pub ip: IpInfo,
    /// Source and destination port, where they are given.
    pub ports: Option<(u16, u16)>,
    /// What it carries.
    pub body: Body,
}

impl Packet {
    /// True for a segment that may have any sequence number.
    pub fn leaves_number_open(&self) -> bool {
        matches!(&self.body, Body::Tcp(tcp) if tcp.any_seq)
    }
}

/// What is said of an IP header.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct IpInfo {
    /// The ECN field, or the whole byte.
    pub tos: Option<Tos>,
    /// The flow label of IPv6 (RFC 8200 §3).
    pub flow_label: Option<u32>,
    /// Hops that are left.
    pub ttl: Option<u8>,
}

/// The second byte of an IP header, or its ECN field (RFC 3168 §5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tos {
    /// `noecn`: not ECN-capable.
    NotEct,
    /// `ect0`.
    Ect0,
    /// `ect1`.
    Ect1,
    /// `ect01`: either of the two, for expected packets.
    Ect,
    /// `ce`: congestion experienced.
    Ce,
    /// `tos 0x..`: the whole byte.
    Byte(u8),
}

/// What a packet carries.
#[derive(Clone, PartialEq, Debug)]
pub enum Body {
    /// A TCP segment.
    Tcp(Tcp),
    /// An ICMP error.
    Icmp(Icmp),
}

/// A TCP segment. Sequence numbers count from the first SYN of each side.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tcp {
    /// Flags, by their letters.
    pub flags: TcpFlags,
    /// Sequence number.
    pub seq: u32,
    /// Any sequence number, where a segment is expected: `...(0)`. [`Tcp::seq`] is 0 then.
    pub any_seq: bool,
    /// Payload, bytes.
    pub len: u32,
    /// Acknowledgment number.
    pub ack: Option<u32>,
    /// Window field; any where it is not given.
    pub window: Option<u16>,
    /// Urgent pointer.
    pub urgent: Option<u16>,
    /// Options.
    pub options: TcpOptions,
}

/// Flags of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TcpFlags {
    /// The bits of the header (RFC 9293 §3.1), without those that `ace` gives.
    pub bits: u16,
    /// The counter that AE, CWR and ECE make together (RFC 9768 §3.2), where it is given as a number.
    pub ace: Option<u8>,
}

/// Options of a segment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TcpOptions {
    /// `<...>`: any.
    Any,
    /// These, in this order.
    List(Vec<TcpOption>),
}

/// An option of a segment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TcpOption {
    /// Padding.
    Nop,
    /// End of options.
    Eol,
    /// Maximum segment size, bytes.
    Mss(u16),
    /// Window scale, shift.
    WindowScale(u8),
    /// SACK permitted.
    SackPermitted,
    /// SACK blocks, each from and to.
    Sack(Vec<(u32, u32)>),
    /// Timestamps.
    Timestamps {
        /// The sender's clock, ticks.
        val: u32,
        /// The echo, ticks.
        ecr: u32,
    },
    /// A Fast Open cookie, or a request for one (RFC 7413 §4.1.1).
    FastOpen(Vec<u8>),
    /// The same with the experimental option kind.
    FastOpenExperimental(Vec<u8>),
    /// A signature (RFC 2385), bytes.
    Md5(Vec<u8>),
    /// Accurate ECN: counters by their names, in order (RFC 9768 §3.2.3).
    AccEcn(Vec<(AccEcnField, u32)>),
}

/// A counter of the accurate ECN option.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccEcnField {
    /// `e0b`: bytes marked ECT(0).
    Ect0,
    /// `ceb`: bytes marked CE.
    Ce,
    /// `e1b`: bytes marked ECT(1).
    Ect1,
}

/// An ICMP message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Icmp {
    /// Its type by name.
    pub kind: String,
    /// Its code by name.
    pub code: Option<String>,
    /// The packet size that it reports, bytes.
    pub mtu: Option<u32>,
    /// Sequence number and payload of the segment that it quotes.
    pub quoted: Option<(u32, u32)>,
}

/// A system call.
#[derive(Clone, PartialEq, Debug)]
pub struct Call {
    /// When it returns: `...` and a time. Where this is absent, it returns at once.
    pub until: Option<When>,
    /// Its name.
    pub name: String,
    /// Its arguments.
    pub arguments: Vec<Expr>,
    /// What it returns.
    pub result: Expr,
    /// The error that it returns.
    pub errno: Option<String>,
    /// A note in parentheses.
    pub note: Option<String>,
}

/// An argument or a result.
#[derive(Clone, PartialEq, Debug)]
pub enum Expr {
    /// `...`: any, or not needed.
    Any,
    /// A number.
    Int(i64),
    /// A word, such as a constant.
    Word(String),
    /// A string; the flag is true where `...` follows.
    Text(Vec<u8>, bool),
    /// `a | b`: bits of both.
    Or(Vec<Expr>),
    /// `[a, b]`: an array, or a value that is passed by address.
    Array(Vec<Expr>),
    /// `{a=1, b=2}` or `{1, 2}`: a structure with the names of its fields, where they have some.
    Struct(Vec<(Option<String>, Expr)>),
    /// `f(a)`, such as `htons(80)`.
    Function(String, Vec<Expr>),
}
