// Short flows with a heavy tail over a congested drop-tail dumbbell in ns-3, for `bench/run.py`.
//
//   ns3_web ARRIVALS_FILE RATE_BIT_PER_S SECONDS QUEUE_PACKETS WINDOW_BYTES MIN_RTT_MS MAX_RTT_MS
//
// Each line of the arrivals file: seconds, bytes, number of the round-trip time's class (0-19). Each connection opens with a full handshake, sends
// its bytes and closes. Prints one line of JSON. The layout of the path is described in bench/README.md.

#include "ns3_path.h"

using namespace ns3;

namespace
{

constexpr uint32_t kClasses = 20;
constexpr uint16_t kPort = 5001;

// Bytes left to send on a connection.
struct Flow
{
    uint32_t left;
};

uint64_t g_started = 0;
uint64_t g_finished = 0;

void
Fill(Flow* flow, Ptr<Socket> socket, uint32_t)
{
    while (flow->left > 0)
    {
        const uint32_t room = std::min(flow->left, socket->GetTxAvailable());
        if (room == 0)
        {
            return;
        }
        const int taken = socket->Send(Create<Packet>(room));
        if (taken <= 0)
        {
            return;
        }
        flow->left -= taken;
    }
    socket->SetSendCallback(MakeNullCallback<void, Ptr<Socket>, uint32_t>());
    socket->Close();
}

void
Connected(Flow* flow, Ptr<Socket> socket)
{
    Fill(flow, socket, 0);
}

void
Ended(Flow* flow, Ptr<Socket>)
{
    delete flow;
    ++g_finished;
}

void
Read(Ptr<Socket> socket)
{
    while (Ptr<Packet> packet = socket->Recv())
    {
        if (packet->GetSize() == 0)
        {
            break;
        }
    }
}

void
PeerClosed(Ptr<Socket> socket)
{
    socket->Close();
}

void
Accepted(Ptr<Socket> socket, const Address&)
{
    socket->SetRecvCallback(MakeCallback(&Read));
    socket->SetCloseCallbacks(MakeCallback(&PeerClosed), MakeCallback(&PeerClosed));
}

void
Begin(const Path* path, uint32_t bytes, uint32_t c)
{
    ++g_started;
    auto flow = new Flow{bytes};
    Ptr<Socket> socket = Socket::CreateSocket(path->senders.Get(c), TcpSocketFactory::GetTypeId());
    socket->Bind();
    socket->SetConnectCallback(MakeBoundCallback(&Connected, flow), MakeBoundCallback(&Ended, flow));
    socket->SetSendCallback(MakeBoundCallback(&Fill, flow));
    socket->SetCloseCallbacks(MakeBoundCallback(&Ended, flow), MakeBoundCallback(&Ended, flow));
    socket->Connect(InetSocketAddress(path->targets[c], kPort));
}

// Reads one arrival ahead, as a workload generator would.
void
Next(const Path* path, std::ifstream* arrivals, uint32_t bytes, uint32_t c)
{
    if (bytes > 0)
    {
        Begin(path, bytes, c);
    }
    double at;
    uint32_t size;
    uint32_t rttClass;
    if (*arrivals >> at >> size >> rttClass)
    {
        Simulator::Schedule(Seconds(at) - Simulator::Now(), &Next, path, arrivals, size, rttClass);
    }
}

} // namespace

int
main(int argc, char** argv)
{
    if (argc != 8)
    {
        std::fprintf(stderr, "seven arguments: arrivals, rate, seconds, queue, window, smallest and largest round-trip time\n");
        return 2;
    }
    const Path path = Build(kClasses, argv);
    for (uint32_t c = 0; c < kClasses; ++c)
    {
        Ptr<Socket> listener = Socket::CreateSocket(path.receivers.Get(c), TcpSocketFactory::GetTypeId());
        listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), kPort));
        listener->Listen();
        listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(), MakeCallback(&Accepted));
    }
    std::ifstream arrivals(argv[1]);
    Next(&path, &arrivals, 0, 0);
    RunAndPrint(std::atof(argv[3]), [] {
        std::printf("\"connections\": %lu, \"finished\": %lu, ", g_started, g_finished);
    });
}
