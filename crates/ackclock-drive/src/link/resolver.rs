//! The name servers that the command uses.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// The port of name servers.
const PORT: u16 = 53;

/// What the machine's `/etc/resolv.conf` becomes behind the link.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Resolver {
    /// The machine's first name server, to which port 53 of the gateway leads.
    pub(super) server: Option<SocketAddr>,
    /// The file that the command finds; `None` where the machine's own serves.
    pub(super) text: Option<Vec<u8>>,
}

impl Resolver {
    /// For the machine's file. Servers at loopback addresses, and those of IPv6, are reached through the gateway.
    pub(super) fn new(file: &str, gateway: Ipv4Addr) -> Self {
        let named = |line: &str| -> Option<String> {
            let (key, value) = line.trim().split_once(char::is_whitespace)?;
            (key == "nameserver").then(|| value.split_whitespace().next().unwrap_or_default().to_owned())
        };
        // An address of IPv6 may end with the name of a device.
        let address = |name: &str| name.split('%').next().and_then(|ip| ip.parse::<IpAddr>().ok());
        let servers: Vec<IpAddr> = file.lines().filter_map(named).filter_map(|name| address(&name)).collect();
        let reachable = |ip: &IpAddr| ip.is_ipv4() && !ip.is_loopback() && !ip.is_unspecified();
        let server = servers.first().map(|ip| SocketAddr::new(*ip, PORT));
        if servers.iter().all(reachable) {
            return Self { server, text: None };
        }
        let mut text = format!("# The name server of the machine, behind the link.\nnameserver {gateway}\n");
        for line in
            file.lines().filter(|line| named(line).is_none() && !line.trim_start().starts_with(['#', ';']))
        {
            text.push_str(line);
            text.push('\n');
        }
        Self { server, text: Some(text.into_bytes()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GATEWAY: Ipv4Addr = Ipv4Addr::new(100, 64, 0, 2);

    #[test]
    fn servers_that_can_be_reached_stay() {
        let found =
            Resolver::new("search example.org\nnameserver 192.0.2.1\nnameserver 192.0.2.2\n", GATEWAY);
        assert_eq!(found, Resolver { server: Some("192.0.2.1:53".parse().unwrap()), text: None });
        assert_eq!(Resolver::new("", GATEWAY), Resolver { server: None, text: None });
    }

    #[test]
    fn servers_of_the_machine_itself_are_reached_by_the_gateway() {
        let found =
            Resolver::new("# by a program\nnameserver 127.0.0.53\noptions edns0\nsearch .\n", GATEWAY);
        assert_eq!(found.server, Some("127.0.0.53:53".parse().unwrap()));
        let text = String::from_utf8(found.text.unwrap()).unwrap();
        assert!(text.contains("\nnameserver 100.64.0.2\noptions edns0\nsearch .\n"), "{text}");
        let six = Resolver::new("nameserver fe80::1%eth0\nnameserver 192.0.2.1\n", GATEWAY);
        assert_eq!(six.server, Some("[fe80::1]:53".parse().unwrap()));
        assert!(six.text.is_some());
    }
}
