// Path and timing of both ns-3 programs. The layout is described in bench/README.md.

#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>
#include <vector>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"

inline double
CpuSeconds()
{
    timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

inline long
MemoryKb(const std::string& key)
{
    std::ifstream status("/proc/self/status");
    std::string word;
    long kb = 0;
    while (status >> word)
    {
        if (word == key)
        {
            status >> kb;
        }
    }
    return kb;
}

// Packets that left the bottleneck's queue, and those that it dropped.
inline uint64_t g_packets = 0;
inline uint64_t g_drops = 0;

inline void
Left(ns3::Ptr<const ns3::Packet>)
{
    ++g_packets;
}

inline void
Dropped(ns3::Ptr<const ns3::Packet>)
{
    ++g_drops;
}

struct Path
{
    ns3::NodeContainer routers;
    ns3::NodeContainer senders;
    ns3::NodeContainer receivers;
    std::vector<ns3::Ipv4Address> targets;
};

// Builds the dumbbell; `argv` as documented in the programs, from the second argument on.
inline Path
Build(uint32_t classes, char** argv)
{
    using namespace ns3;
    const double rate = std::atof(argv[2]);
    const std::string queue = std::string(argv[4]) + "p";
    const uint32_t window = std::atoi(argv[5]);
    const double minRtt = std::atof(argv[6]);
    const double maxRtt = std::atof(argv[7]);

    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::TcpNewReno"));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1000));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(window));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(window));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
    Config::SetDefault("ns3::TcpSocketBase::MaxSegLifetime", DoubleValue(0.5));

    Path path;
    path.routers.Create(2);
    path.senders.Create(classes);
    path.receivers.Create(classes);
    InternetStackHelper stack;
    stack.Install(path.routers);
    stack.Install(path.senders);
    stack.Install(path.receivers);
    // Without flow control there is no queue discipline above the device either, and its own queue is the drop-tail queue.
    PointToPointHelper bottleneck;
    bottleneck.DisableFlowControl();
    bottleneck.SetDeviceAttribute("DataRate", DataRateValue(DataRate(static_cast<uint64_t>(rate))));
    bottleneck.SetChannelAttribute("Delay", TimeValue(MilliSeconds(1)));
    PointToPointHelper access;
    access.DisableFlowControl();
    access.SetDeviceAttribute("DataRate", DataRateValue(DataRate(static_cast<uint64_t>(10 * rate))));
    access.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("10000000p"));

    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    auto connect = [&addresses](PointToPointHelper& link, Ptr<Node> a, Ptr<Node> b) {
        NetDeviceContainer devices = link.Install(a, b);
        Ipv4InterfaceContainer interfaces = addresses.Assign(devices);
        addresses.NewNetwork();
        return std::make_pair(devices, interfaces);
    };
    bottleneck.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue(queue));
    auto middle = connect(bottleneck, path.routers.Get(0), path.routers.Get(1));
    auto device = DynamicCast<PointToPointNetDevice>(middle.first.Get(0));
    device->GetQueue()->TraceConnectWithoutContext("Drop", MakeCallback(&Dropped));
    device->TraceConnectWithoutContext("PhyTxEnd", MakeCallback(&Left));
    for (uint32_t c = 0; c < classes; ++c)
    {
        const double rtt = classes == 1 ? (minRtt + maxRtt) / 2 : minRtt + (maxRtt - minRtt) * c / (classes - 1);
        access.SetChannelAttribute("Delay", TimeValue(Seconds(0)));
        connect(access, path.senders.Get(c), path.routers.Get(0));
        access.SetChannelAttribute("Delay", TimeValue(MicroSeconds(static_cast<uint64_t>(1000 * (rtt / 2 - 1)))));
        path.targets.push_back(connect(access, path.routers.Get(1), path.receivers.Get(c)).second.GetAddress(1));
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    return path;
}

// Runs to the end, prints the line and exits without tearing down the simulation, which may take longer than
// the run.
template <typename More>
[[noreturn]] inline void
RunAndPrint(double seconds, More more)
{
    const long before = MemoryKb("VmRSS:");
    const double begin = CpuSeconds();
    ns3::Simulator::Stop(ns3::Seconds(seconds));
    ns3::Simulator::Run();
    const double cpu = CpuSeconds() - begin;
    std::printf("{");
    more();
    std::printf("\"packets\": %lu, \"drops\": %lu, \"cpu_s\": %.6f, \"setup_s\": %.6f, \"peak_kb\": %ld, \"before_kb\": %ld}\n",
                g_packets,
                g_drops,
                cpu,
                begin,
                MemoryKb("VmHWM:"),
                before);
    std::fflush(stdout);
    std::_Exit(0);
}
