// Long-lived SACK flows over a drop-tail dumbbell in ns-3, for `bench/run.py`.
//
//   ns3_dumbbell FLOWS RATE_BIT_PER_S SECONDS QUEUE_PACKETS WINDOW_BYTES MIN_RTT_MS MAX_RTT_MS
//
// Prints one line of JSON. The layout of the path is described in bench/README.md.

#include "ns3_path.h"

using namespace ns3;

int
main(int argc, char** argv)
{
    if (argc != 8)
    {
        std::fprintf(stderr, "seven arguments: flows, rate, seconds, queue, window, smallest and largest round-trip time\n");
        return 2;
    }
    const uint32_t flows = std::atoi(argv[1]);
    const uint32_t classes = std::min(flows, 20u);
    const Path path = Build(classes, argv);
    const uint16_t port = 5001;
    PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
    sink.Install(path.receivers).Start(Seconds(0));
    for (uint32_t i = 0; i < flows; ++i)
    {
        BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(path.targets[i % classes], port));
        source.SetAttribute("SendSize", UintegerValue(1000));
        // Starts are spread over the first second.
        source.Install(path.senders.Get(i % classes)).Start(Seconds(static_cast<double>(i) / flows));
    }
    RunAndPrint(std::atof(argv[3]), [] {});
}
