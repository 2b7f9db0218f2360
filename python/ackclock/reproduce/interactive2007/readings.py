"""Where the paper of Mondal and Kuzmanovic on TCP-friendliness leaves open what matters: the readings, and which one holds here."""

READINGS = [
    (
        "I-A1, I-U1",
        "The response time is that from sending a packet to its ack. A cumulative ack comes for a packet that arrived behind a lost one only once "
        "that is repaired; the packet's own, a duplicate or a selective one, comes at once. The equations know of no packet that waits for another.",
        "The packet's own ack, with which simulations agree with the equations up to a loss of 3.5 %, as the paper has it; to the cumulative ack "
        "they do up to 2 % (I-F5b). Chosen after both had been seen. What applications record runs to the cumulative ack.",
    ),
    (
        "I-A3, I-X7",
        "Marks in a bulk flow come from the same exponential process as telnet's packets: by the clock, then. But a mark that is made while the flow "
        "waits for its timer falls on the first packet that is sent afterwards, which is lost more dearly than others; the equations count packets.",
        "Every packet of the flow, with which the gain is that of the model; with marks by the clock it is below 1 from a loss of 3.5 % on (I-F5b). "
        "Chosen after both had been seen.",
    ),
    (
        "I-F5b",
        "The round-trip time is constant while a backlogged flow fills the path.",
        "The receiver of that flow offers 14 packets, what the path holds without a queue; chosen after a first run with a larger window.",
    ),
    (
        "I-F8",
        "The loss against which latency is drawn: that of the link, of a flow without a strategy, or of the flows that are measured.",
        "That of the measured flows' data packets, copies included, as I-U2 bins it. It matters with drop-tail, where packets that leave together "
        "are lost together: two copies lose more than one packet does.",
    ),
    (
        "I-X1",
        "The loss of an interactive packet is always a timeout, where the gap between packets exceeds a third of the RTO. With exponential intervals "
        "of 1 s some gaps do not.",
        "Equal intervals in the check, telnet's beside them: there 8 % of the losses are found by duplicate acks.",
    ),
]
