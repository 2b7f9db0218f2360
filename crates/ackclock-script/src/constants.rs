//! The words of the system's headers that scripts use, with Linux's numbers (`include/uapi/linux`,
//! `include/uapi/asm-generic`).

/// The number that a word stands for.
pub fn constant(word: &str) -> Option<i64> {
    TABLE.iter().find(|(name, _)| *name == word).map(|(_, value)| *value)
}

macro_rules! table {
    ($($name:ident = $value:expr,)*) => {
        $(#[allow(dead_code, reason = "scripts use it by name")] pub(crate) const $name: i64 = $value;)*
        const TABLE: &[(&str, i64)] = &[$((stringify!($name), $value),)*];
    };
}

table! {
    AF_UNSPEC = 0,
    AF_INET = 2,
    AF_INET6 = 10,
    SOCK_STREAM = 1,
    SOCK_DGRAM = 2,
    SOCK_NONBLOCK = 0o4000,
    SOCK_CLOEXEC = 0o2_000_000,
    IPPROTO_IP = 0,
    IPPROTO_TCP = 6,
    IPPROTO_UDP = 17,
    IPPROTO_IPV6 = 41,
    SOL_SOCKET = 1,
    SOL_IP = 0,
    SOL_TCP = 6,
    SOL_IPV6 = 41,
    SO_REUSEADDR = 2,
    SO_ERROR = 4,
    SO_SNDBUF = 7,
    SO_RCVBUF = 8,
    SO_KEEPALIVE = 9,
    SO_OOBINLINE = 10,
    SO_PRIORITY = 12,
    SO_LINGER = 13,
    SO_RCVLOWAT = 18,
    SO_SNDLOWAT = 19,
    SO_RCVTIMEO = 20,
    SO_SNDTIMEO = 21,
    SO_SNDBUFFORCE = 32,
    SO_RCVBUFFORCE = 33,
    SO_MARK = 36,
    SO_TIMESTAMPING = 37,
    SCM_TIMESTAMPING = 37,
    SO_ZEROCOPY = 60,
    SO_EE_ORIGIN_TIMESTAMPING = 4,
    SO_EE_ORIGIN_ZEROCOPY = 5,
    SO_EE_CODE_ZEROCOPY_COPIED = 1,
    SCM_TSTAMP_SND = 0,
    SCM_TSTAMP_SCHED = 1,
    SCM_TSTAMP_ACK = 2,
    SOF_TIMESTAMPING_TX_HARDWARE = 0x1,
    SOF_TIMESTAMPING_TX_SOFTWARE = 0x2,
    SOF_TIMESTAMPING_RX_HARDWARE = 0x4,
    SOF_TIMESTAMPING_RX_SOFTWARE = 0x8,
    SOF_TIMESTAMPING_SOFTWARE = 0x10,
    SOF_TIMESTAMPING_OPT_ID = 0x80,
    SOF_TIMESTAMPING_TX_SCHED = 0x100,
    SOF_TIMESTAMPING_TX_ACK = 0x200,
    SOF_TIMESTAMPING_OPT_CMSG = 0x400,
    SOF_TIMESTAMPING_OPT_TSONLY = 0x800,
    ENOMSG = 42,
    IP_TOS = 1,
    IP_TTL = 2,
    IP_MTU_DISCOVER = 10,
    IP_RECVERR = 11,
    IP_MTU = 14,
    IP_FREEBIND = 15,
    IP_PMTUDISC_DONT = 0,
    IP_PMTUDISC_WANT = 1,
    IP_PMTUDISC_DO = 2,
    IP_PMTUDISC_PROBE = 3,
    IPV6_UNICAST_HOPS = 16,
    IPV6_RECVERR = 25,
    IPV6_V6ONLY = 26,
    IPV6_TCLASS = 67,
    TCP_NODELAY = 1,
    TCP_MAXSEG = 2,
    TCP_CORK = 3,
    TCP_KEEPIDLE = 4,
    TCP_KEEPINTVL = 5,
    TCP_KEEPCNT = 6,
    TCP_SYNCNT = 7,
    TCP_LINGER2 = 8,
    TCP_DEFER_ACCEPT = 9,
    TCP_WINDOW_CLAMP = 10,
    TCP_INFO = 11,
    TCP_QUICKACK = 12,
    TCP_CONGESTION = 13,
    TCP_THIN_LINEAR_TIMEOUTS = 16,
    TCP_USER_TIMEOUT = 18,
    TCP_FASTOPEN = 23,
    TCP_NOTSENT_LOWAT = 25,
    TCP_SAVE_SYN = 27,
    TCP_FASTOPEN_CONNECT = 30,
    TCP_FASTOPEN_NO_COOKIE = 34,
    TCP_INQ = 36,
    TCP_CM_INQ = 36,
    MSG_OOB = 0x01,
    MSG_PEEK = 0x02,
    MSG_TRUNC = 0x20,
    MSG_DONTWAIT = 0x40,
    MSG_EOR = 0x80,
    MSG_WAITALL = 0x100,
    MSG_NOSIGNAL = 0x4000,
    MSG_MORE = 0x8000,
    MSG_ERRQUEUE = 0x2000,
    MSG_ZEROCOPY = 0x4_000_000,
    MSG_FASTOPEN = 0x20_000_000,
    SHUT_RD = 0,
    SHUT_WR = 1,
    SHUT_RDWR = 2,
    F_GETFL = 3,
    F_SETFL = 4,
    O_RDONLY = 0,
    O_WRONLY = 1,
    O_RDWR = 2,
    O_NONBLOCK = 0o4000,
    POLLIN = 0x01,
    POLLPRI = 0x02,
    POLLOUT = 0x04,
    POLLERR = 0x08,
    POLLHUP = 0x10,
    POLLRDHUP = 0x2000,
    EPOLL_CTL_ADD = 1,
    EPOLL_CTL_DEL = 2,
    EPOLL_CTL_MOD = 3,
    EPOLLIN = 0x01,
    EPOLLPRI = 0x02,
    EPOLLOUT = 0x04,
    EPOLLERR = 0x08,
    EPOLLHUP = 0x10,
    EPOLLRDHUP = 0x2000,
    EPOLLEXCLUSIVE = 1 << 28,
    EPOLLWAKEUP = 1 << 29,
    EPOLLONESHOT = 1 << 30,
    EPOLLET = 1 << 31,
    SPLICE_F_MOVE = 0x01,
    SPLICE_F_NONBLOCK = 0x02,
    SPLICE_F_MORE = 0x04,
    SIOCATMARK = 0x8905,
    FIONREAD = 0x541b,
    SIOCINQ = 0x541b,
    SIOCOUTQ = 0x5411,
    SIOCOUTQNSD = 0x894b,
}

/// An error that a system call returns, by its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Errno(pub &'static str);

macro_rules! errors {
    ($($name:ident)*) => {
        impl Errno {
            $(#[allow(missing_docs, reason = "the names of errno(3)")] pub const $name: Self = Self(stringify!($name));)*
        }
    };
}

errors! {
    EBADF EAGAIN EINVAL ENOTCONN EISCONN EPIPE ECONNRESET ECONNREFUSED ECONNABORTED ETIMEDOUT EHOSTUNREACH
    ENETUNREACH EINPROGRESS EALREADY EADDRINUSE EOPNOTSUPP ENOPROTOOPT EMSGSIZE EDESTADDRREQ ENOTSOCK
    EMFILE EPROTO EFAULT EACCES EEXIST ENOENT EBUSY
}
