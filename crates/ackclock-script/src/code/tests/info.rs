use super::*;

#[test]
fn fields_are_known_by_linuxs_names() {
    let info = TcpInfo { snd_cwnd: 10, pacing_rate: u64::MAX, snd_wscale: 7, ..TcpInfo::default() };
    assert_eq!(info.get("tcpi_snd_cwnd"), Some(Value::Int(10)));
    assert_eq!(info.get("tcpi_pacing_rate"), Some(Value::Int(u64::MAX.into())));
    assert_eq!(info.get("tcpi_snd_wscale"), Some(Value::Int(7)));
    assert_eq!(info.get("snd_cwnd"), None);
    assert_eq!(info.get("tcpi_cwnd"), None);
    assert!(TcpInfo::NAMES.iter().all(|name| info.get(name).is_some()));
    assert_eq!((TcpInfo::NAMES[0], TcpInfo::NAMES.len()), ("tcpi_state", 68));
}

#[test]
fn constants_have_linuxs_numbers() {
    for (name, number) in
        [("TCP_ESTABLISHED", 1), ("TCP_CLOSING", 11), ("TCP_CA_Loss", 4), ("TCPI_OPT_SYN_DATA", 32)]
    {
        assert_eq!(constant(name), Some(Value::Int(number)));
    }
    assert_eq!(constant("TCP_CA_LOSS"), None);
    assert_eq!(known_names().count(), TcpInfo::NAMES.len() + CONSTANTS.len());
}

#[test]
fn bytes_are_those_of_linuxs_structure() {
    let info = TcpInfo {
        state: 1,
        snd_wscale: 7,
        rcv_wscale: 8,
        delivery_rate_app_limited: 1,
        fastopen_client_fail: 2,
        snd_cwnd: 10,
        pacing_rate: u64::MAX,
        total_rto: 3,
        received_ce_bytes: 9,
        ..TcpInfo::default()
    };
    let bytes = info.to_bytes();
    assert_eq!(bytes.len(), 280);
    assert_eq!((bytes[0], bytes[6], bytes[7]), (1, 0x87, 0b101));
    assert_eq!(bytes[80..84], 10_u32.to_ne_bytes());
    assert_eq!(bytes[104..112], u64::MAX.to_ne_bytes());
    assert_eq!(bytes[240..242], 3_u16.to_ne_bytes());
    assert_eq!(bytes[272..276], 9_u32.to_ne_bytes());
}
