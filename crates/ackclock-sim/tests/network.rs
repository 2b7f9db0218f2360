//! Routing, and errors of networks.

use ackclock_sim::{LinkId, LinkSpec, NetworkBuilder, NodeId, SimError};
use ackclock_units::Duration;

fn wire() -> LinkSpec {
    LinkSpec::delay(Duration::from_millis(1))
}

#[test]
fn the_shortest_path_is_taken_and_among_equals_the_one_added_first() {
    let mut net = NetworkBuilder::new();
    let [a, b, c, d] = ["a", "b", "c", "d"].map(|n| net.node(n).unwrap());
    let ab = net.link("ab", a, b, wire()).unwrap();
    let bd = net.link("bd", b, d, wire()).unwrap();
    let ac = net.link("ac", a, c, wire()).unwrap();
    let cd = net.link("cd", c, d, wire()).unwrap();
    let (there, back) = net.duplex("ad", a, d, wire(), wire()).unwrap();
    let cb = net.link("cb", c, b, wire()).unwrap();
    let net = net.build();
    assert_eq!(net.path(a, d), Ok(vec![there]));
    assert_eq!(net.path(d, a), Ok(vec![back]));
    assert_eq!(net.path(d, b), Ok(vec![back, ab]));
    assert_eq!(net.path(a, a), Ok(vec![]));
    assert_eq!(net.path(a, b), Ok(vec![ab]));
    assert_eq!(net.path(c, d), Ok(vec![cd]));
    assert_eq!(net.path(c, b), Ok(vec![cb]));
    assert!(net.path(b, c).is_ok_and(|p| p == [bd, back, ac]));
    assert_eq!(net.link_name(back), Some("ad.back"));
    assert_eq!(net.node_name(c), Some("c"));
}

#[test]
fn equal_paths_follow_the_order_of_adding() {
    let build = |first: &str| {
        let mut net = NetworkBuilder::new();
        let nodes = ["a", "b", "c", "d"].map(|n| net.node(n).unwrap());
        let mut pairs = [("b", 0, 1), ("c", 0, 2)];
        if first == "c" {
            pairs.reverse();
        }
        for (name, from, to) in pairs {
            net.link(name, nodes[from], nodes[to], wire()).unwrap();
        }
        net.link("bd", nodes[1], nodes[3], wire()).unwrap();
        net.link("cd", nodes[2], nodes[3], wire()).unwrap();
        let net = net.build();
        let path = net.path(nodes[0], nodes[3]).unwrap();
        net.link_name(path[0]).unwrap().to_owned()
    };
    assert_eq!((build("b"), build("c")), ("b".to_owned(), "c".to_owned()));
}

#[test]
fn each_error_is_one_sentence() {
    let mut net = NetworkBuilder::new();
    let (a, b) = (net.node("a").unwrap(), net.node("b").unwrap());
    net.link("ab", a, b, wire()).unwrap();
    assert_eq!(net.node("a").unwrap_err().to_string(), "two nodes are named `a`; names must differ");
    assert_eq!(
        net.link("ab", b, a, wire()).unwrap_err().to_string(),
        "two links are named `ab`; names must differ"
    );
    assert_eq!(net.link("x", a, NodeId(9), wire()), Err(SimError::UnknownNode(9)));
    assert_eq!((net.find("a"), net.find("b")), (Some(a), Some(b)));
    let net = net.build();
    assert_eq!(net.path(b, a).unwrap_err().to_string(), "no path leads from `b` to `a`");
    assert_eq!(net.path(a, NodeId(7)), Err(SimError::UnknownNode(7)));
    assert_eq!(net.link_name(LinkId(3)), None);
}
