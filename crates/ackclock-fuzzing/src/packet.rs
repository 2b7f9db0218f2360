//! Any bytes as a packet, and as TCP options.

use ackclock_wire::{
    FastOpen, MAX_OPTIONS_LEN, Strictness, TcpView, Transport, emit_options, emit_tcp, parse_icmp_error,
    parse_ip, parse_ip_as, parse_options,
};

/// Parses `data` as a packet in every way; a valid TCP packet must be the same after it is written and parsed
/// again.
pub fn packet(data: &[u8]) {
    let _ = FastOpen::find_in_packet(data);
    for strict in [Strictness::FULL, Strictness::OFFLOAD, Strictness::CAPTURE] {
        let Ok(packet) = parse_ip_as(data, strict) else { continue };
        let _ = parse_icmp_error(&packet, strict);
        let Transport::Tcp(tcp) = packet.transport else { continue };
        let mut again = Vec::new();
        let (src, dst) = packet.endpoints();
        let whole = tcp.payload.len() == tcp.segment.len as usize;
        // Options with less padding than ours may no longer fit.
        if whole
            && tcp.segment.options.wire_len() as usize <= MAX_OPTIONS_LEN
            && emit_tcp(src, dst, &tcp.segment, tcp.payload, packet.ecn, &mut again).is_ok()
        {
            let Ok(read) = parse_ip(&again) else { panic!("the written packet does not parse: {again:?}") };
            let Transport::Tcp(read_tcp) = read.transport else { panic!("not TCP: {again:?}") };
            // What is left of options that were cut is written whole.
            let tcp = TcpView { options_cut: false, ..tcp };
            assert_eq!((read_tcp, read.ecn, read.endpoints()), (tcp, packet.ecn, (src, dst)));
        }
    }
}

/// Parses `data` as TCP options; valid ones must be the same after they are written and parsed again.
pub fn options(data: &[u8]) {
    if let Some(option) = FastOpen::find(data) {
        let mut out = Vec::new();
        assert!(option.append(&mut out), "it fits into an empty header");
        assert_eq!(FastOpen::find(&out), Some(option));
    }
    let Ok(options) = parse_options(data) else { return };
    let mut out = [0; MAX_OPTIONS_LEN];
    if let Ok(n) = emit_options(&options, &mut out) {
        assert_eq!(n as u32, options.wire_len());
        assert_eq!(parse_options(&out[..n]), Ok(options));
    }
}
