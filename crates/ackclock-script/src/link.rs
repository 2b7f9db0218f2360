//! What carries the packets of a script: the version of IP, and the size of packets.

use crate::ast::Script;

/// The version of IP of packets, and the family of sockets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum IpVersion {
    /// Sockets and packets of IPv4.
    #[default]
    V4,
    /// Sockets and packets of IPv6.
    V6,
    /// Sockets of IPv6 with addresses of IPv4 within those of IPv6, and packets of IPv4 (RFC 4291 §2.5.5.2).
    V4Mapped,
}

/// All of them, by the names that scripts have for them.
pub const IP_VERSIONS: &[(&str, IpVersion)] = &[
    ("ipv4", IpVersion::V4),
    ("ipv6", IpVersion::V6),
    ("ipv4-mapped-v6", IpVersion::V4Mapped),
    ("ipv4-mapped-ipv6", IpVersion::V4Mapped),
];

/// The link between the tested host and a script.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Link {
    /// What its packets and sockets are.
    pub ip: IpVersion,
    /// The largest packet, bytes.
    pub mtu: u16,
}

impl Default for Link {
    fn default() -> Self {
        Self { ip: IpVersion::V4, mtu: ETHERNET_MTU }
    }
}

/// The largest packet of Ethernet (RFC 894), bytes.
const ETHERNET_MTU: u16 = 1500;
/// The smallest largest packet of a link of IPv6 (RFC 8200 §5), bytes.
const LEAST_MTU_V6: u16 = 1280;
/// That of IPv4 (RFC 791 §3.2), bytes.
const LEAST_MTU_V4: u16 = 68;
/// Headers of IP and TCP without options (RFC 9293 §3.7.1), bytes.
const HEADERS_V4: u16 = 40;
const HEADERS_V6: u16 = 60;

impl Link {
    /// The link of a script: as its flags `--ip_version` and `--mtu` say, and where they are missing as
    /// given.
    ///
    /// # Errors
    ///
    /// Names the flag, what it says, and what it could say.
    pub fn of(script: &Script, ip: Option<IpVersion>, mtu: Option<u16>) -> Result<Self, String> {
        let mut link = Self { ip: ip.unwrap_or_default(), mtu: mtu.unwrap_or(ETHERNET_MTU) };
        for flag in &script.flags {
            let value = flag.value.as_deref().unwrap_or_default();
            match flag.name.as_str() {
                "ip_version" => {
                    let known = IP_VERSIONS.iter().find(|(name, _)| *name == value);
                    link.ip = known.map(|(_, ip)| *ip).ok_or_else(|| {
                        format!(
                            "line {}: `{value}` is no version of IP; expected one of {}",
                            flag.line,
                            names()
                        )
                    })?;
                }
                "mtu" => {
                    let wrong = || format!("line {}: `{value}` is no MTU up to 65535", flag.line);
                    link.mtu = value.parse().map_err(|_| wrong())?;
                }
                _ => {}
            }
        }
        let least = if link.is_v6() { LEAST_MTU_V6 } else { LEAST_MTU_V4 };
        if link.mtu < least {
            return Err(format!("an MTU of {} bytes is too small; the least is {least}", link.mtu));
        }
        Ok(link)
    }

    /// True where packets are of IPv6.
    pub fn is_v6(self) -> bool {
        self.ip == IpVersion::V6
    }

    /// The largest segment that fits into a packet (RFC 9293 §3.7.1, RFC 6691 §2), bytes.
    pub fn mss(self) -> u32 {
        let headers = if self.is_v6() { HEADERS_V6 } else { HEADERS_V4 };
        u32::from(self.mtu.saturating_sub(headers))
    }

    /// The largest segment to a peer that announces none (RFC 9293 §3.7.1), bytes.
    pub fn default_mss(self) -> u32 {
        if self.is_v6() { 1220 } else { 536 }
    }
}

fn names() -> String {
    IP_VERSIONS.iter().take(3).map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parse;

    fn link(flags: &str, ip: Option<IpVersion>) -> Result<Link, String> {
        Link::of(&parse("t", &format!("{flags}\n0 %{{ print(1) }}%\n"), &[]).unwrap(), ip, None)
    }

    #[test]
    fn flags_of_the_script_come_before_those_of_the_command() {
        assert_eq!(link("", None).unwrap().mss(), 1460);
        assert_eq!(link("", Some(IpVersion::V6)).unwrap().mss(), 1440);
        assert_eq!(link("--ip_version=ipv6\n--mtu=1520", Some(IpVersion::V4)).unwrap().mss(), 1460);
        assert_eq!(link("--ip_version=ipv4-mapped-ipv6", None).unwrap().ip, IpVersion::V4Mapped);
        assert_eq!(
            link("--ip_version=ipv5", None).unwrap_err(),
            "line 1: `ipv5` is no version of IP; expected one of ipv4, ipv6, ipv4-mapped-v6"
        );
        assert_eq!(link("--mtu=66000", None).unwrap_err(), "line 1: `66000` is no MTU up to 65535");
        assert_eq!(
            link("--ip_version=ipv6\n--mtu=1000", None).unwrap_err(),
            "an MTU of 1000 bytes is too small; the least is 1280"
        );
    }
}
