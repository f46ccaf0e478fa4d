//! Where a door listens.

use std::fmt;
use std::io;
use std::net::{Ipv6Addr, ToSocketAddrs};
use std::vec;

use super::define::Bounds;
use super::value::{Input, Kind, Mismatch, Value};

/// A host, by name or number, and a port. It is resolved when the door opens, not when it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    host: String,
    port: u16,
}

impl Address {
    /// A port on this machine only.
    pub fn loopback(port: u16) -> Address {
        Address { host: "127.0.0.1".to_owned(), port }
    }

    /// The host: a name, an IPv4 address, or an IPv6 address without its brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port; 0 means any that is free.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Reads `host:port` or `[v6]:port`.
    pub fn parse(text: &str) -> Option<Address> {
        let (host, port) = text.rsplit_once(':')?;
        // `parse` alone would also take "+80".
        let port = port.bytes().all(|byte| byte.is_ascii_digit()).then(|| port.parse().ok())??;
        let host = match host.strip_prefix('[') {
            Some(rest) => rest.strip_suffix(']').filter(|v6| v6.parse::<Ipv6Addr>().is_ok())?,
            None => Some(host).filter(|name| is_name(name))?,
        };
        Some(Address { host: host.to_owned(), port })
    }
}

/// Letters, digits, dots and hyphens: a DNS name or an IPv4 address.
fn is_name(host: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    !host.is_empty() && host.bytes().all(allowed)
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Address { host, port } = self;
        if host.contains(':') { write!(f, "[{host}]:{port}") } else { write!(f, "{host}:{port}") }
    }
}

impl ToSocketAddrs for Address {
    type Iter = vec::IntoIter<std::net::SocketAddr>;

    fn to_socket_addrs(&self) -> io::Result<Self::Iter> {
        (self.host.as_str(), self.port).to_socket_addrs()
    }
}

impl Value for Address {
    fn kind(_: Bounds) -> Kind {
        Kind::Address
    }

    fn read(input: Input<'_>, _: Bounds) -> Result<Self, Mismatch> {
        Address::parse(input.text()?).ok_or(Mismatch)
    }

    fn to_toml(&self) -> Option<toml::Value> {
        Some(self.to_string().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_host_and_port() {
        let cases = [
            ("127.0.0.1:8080", true),
            ("localhost:0", true),
            ("[::1]:6380", true),
            ("0.0.0.0:65535", true),
            ("localhost", false),
            ("8080", false),
            (":8080", false),
            ("::1:6380", false),
            ("[localhost]:1", false),
            ("127.0.0.1:65536", false),
            ("127.0.0.1:+80", false),
            ("127.0.0.1:", false),
            ("http://127.0.0.1:80", false),
            ("", false),
        ];
        for (text, valid) in cases {
            let address = Address::parse(text);
            assert_eq!(address.is_some(), valid, "{text}");
            if let Some(address) = address {
                assert_eq!(address.to_string(), text);
            }
        }
    }
}
