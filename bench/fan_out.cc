// Part (i): 1,000 callers follow one relay, which is a separate process. It measures the time from
// right before a change is sent to etcd until a caller has it, and what the relay spends on that. A
// bare gRPC server is measured in turns with it: it writes the same bytes to as many streams on
// request, without etcd, view or routes. In both cases the callers share one thread of the bench.
#include <grpcpp/grpcpp.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "baton/v1/routing.grpc.pb.h"
#include "bench/bare_client.h"
#include "bench/nodes.h"
#include "bench/parts.h"
#include "bench/process.h"
#include "bench/route_streams.h"
#include "etcd/guarded_txn.h"
#include "etcd/guarded_write.h"

namespace baton::bench {
namespace {

constexpr std::uint32_t kShards = 1'000;
constexpr std::size_t kStreams = 1'000;
constexpr int kChanges = 40;           // of each size and repeat
constexpr std::uint32_t kBatch = 125;  // as many as fit into one transaction
constexpr std::uint32_t kAtOnce[] = {1, kBatch};
constexpr double kMaxMilliseconds = 100;
constexpr std::chrono::seconds kIdle{6};  // three heartbeats

/// A group in etcd without nodes: the bench writes the keys that its only member would write.
class Group {
 public:
  explicit Group(const lab::PrivateEtcd& etcd)
      : client_(EndpointOf(etcd)), keyspace_(etcd::kDefaultPrefix, "fanout") {
    const ConfigFact config{.present = true,
                            .shards = kShards,
                            .schema = 1,
                            .cluster_id = client_.Status().header().cluster_id()};
    Commit(ConfigCreate{config});
    guard_ = client_.PutMember(keyspace_, "a", 1);
    for (std::uint32_t first = 0; first < kShards; first += kBatch) {
      ClaimBatch batch{.guard = guard_, .claims = {}};
      const std::uint32_t end = std::min(kShards, first + kBatch);
      for (std::uint32_t shard = first; shard < end; ++shard) {
        batch.claims.push_back({.shard = ShardId{shard}, .read = {}, .dead = {}});
      }
      Commit(batch);
      terms_.resize(end, Term{client_.Now().value});
    }
  }

  /// The term that the next change gets; nobody else writes.
  Term Next() { return Term{client_.Now().value + 1}; }
  /// Gives this many shards that term, in one transaction.
  void Change(std::uint32_t count, Term term) {
    ClaimBatch batch{.guard = guard_, .claims = {}};
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint32_t shard = next_++ % kShards;
      batch.claims.push_back(
          {.shard = ShardId{shard}, .read = Revision{terms_[shard].value}, .dead = {}});
      terms_[shard] = term;
    }
    Commit(batch);
  }

 private:
  void Commit(const Write& write) {
    const etcd::GuardedWrite guarded = etcd::MakeGuardedWrite(keyspace_, write);
    client_.Run({*etcd::MakeTxn({.write = &guarded, .first = 0, .count = guarded.items.size()})},
                1);
  }

  BareClient client_;
  const etcd::Keyspace keyspace_;
  SessionGuard guard_;
  std::vector<Term> terms_;
  std::uint32_t next_ = 0;
};

/// A server of streams, and its address.
struct Server {
  std::unique_ptr<Subprocess> process;
  std::string address;
};

Server StartServer(std::vector<std::string> line, const std::string& file) {
  auto started = Subprocess::Start({.arguments = std::move(line),
                                    .environment = {},
                                    .output_path = file + ".log",
                                    .lifetime = ChildLifetime::kDiesWithStartingThread});
  if (!started) throw std::runtime_error(started.error().message);
  Await("a server of streams is ready", [&] { return std::filesystem::exists(file); });
  return {std::move(started).value(), ""};
}

Server StartRelay(const Settings& settings, const lab::PrivateEtcd& etcd) {
  const std::string file = etcd.folder() + "/relay.ready";
  Server relay = StartServer(
      {settings.batond, "--relay", "--group", "fanout", "--node", "relay", "--etcd",
       EndpointOf(etcd), "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--ready-file", file},
      file);
  std::ifstream ready(file);
  const std::string text{std::istreambuf_iterator<char>(ready), {}};
  const std::string before = "\"grpc\":\"";
  const auto begin = text.find(before) + before.size();
  relay.address = text.substr(begin, text.find('"', begin) - begin);
  return relay;
}

Server StartBare(const Settings& settings, const lab::PrivateEtcd& etcd) {
  const std::string file = etcd.folder() + "/bare.ready";
  Server bare = StartServer({settings.self, "--bare-streams", file}, file);
  std::getline(std::ifstream(file), bare.address);
  return bare;
}

/// One server's figures in one repeat.
struct Told {
  std::vector<double> delays;  ///< of each change and stream, milliseconds
  double cpu = 0;              ///< of the server, milliseconds a change
};

/// `change(term)` makes the change that all streams must receive.
template <typename Next, typename Change>
Told TellAll(RouteStreams& streams, const Subprocess& server, Next next, Change change) {
  Told told;
  const double cpu = CpuSeconds(server.pid());
  for (int i = 0; i < kChanges; ++i) {
    const Term term = next();
    streams.Expect(term);
    const TimePoint begun = BootClock::now();
    change(term);
    const std::vector<double> delays = streams.Await(begun);
    told.delays.insert(told.delays.end(), delays.begin(), delays.end());
  }
  told.cpu = 1000 * (CpuSeconds(server.pid()) - cpu) / kChanges;
  return told;
}

void TellStreams(v1::RoutingService::Stub& stub, const std::string& message) {
  grpc::ClientContext context;
  v1::LookupRequest request;
  request.set_key(message);
  v1::LookupResponse response;
  if (const grpc::Status status = stub.Lookup(&context, request, &response); !status.ok()) {
    throw std::runtime_error("a bare server failed: " + status.error_message());
  }
}

/// One server's figures of all repeats.
struct Figures {
  Series p50, p99, most, cpu;
  void Add(const Told& told) {
    p50.Add(Percentile(told.delays, 50));
    p99.Add(Percentile(told.delays, 99));
    most.Add(Percentile(told.delays, 100));
    cpu.Add(told.cpu);
  }
};

class FanOut {
 public:
  explicit FanOut(const Settings& settings)
      : etcd_(StartEtcd()),
        group_(*etcd_),
        relay_(StartRelay(settings, *etcd_)),
        bare_(StartBare(settings, *etcd_)),
        stub_(v1::RoutingService::NewStub(
            grpc::CreateChannel(bare_.address, grpc::InsecureChannelCredentials()))) {}

  void Repeat() {
    std::vector<std::string> messages;
    {
      RouteStreams streams(relay_.address, kStreams);
      for (std::size_t size = 0; size < std::size(kAtOnce); ++size) {
        relay_figures_[size].Add(TellAll(
            streams, *relay_.process, [this] { return group_.Next(); },
            [&](Term term) { group_.Change(kAtOnce[size], term); }));
        messages.push_back(streams.Retold(Term{1}));
      }
      Idle();
    }
    RouteStreams streams(bare_.address, kStreams);
    for (std::size_t size = 0; size < std::size(kAtOnce); ++size) {
      v1::WatchRoutesResponse message;
      message.ParseFromString(messages[size]);
      bytes_[size] = messages[size].size();
      bare_figures_[size].Add(TellAll(
          streams, *bare_.process, [this] { return Term{++bare_term_}; },
          [&](Term term) {
            for (v1::Route& route : *message.mutable_routes()) route.set_term(term.value);
            TellStreams(*stub_, message.SerializeAsString());
          }));
    }
  }

  void Tell(Report& report) const {
    for (std::size_t size = 0; size < std::size(kAtOnce); ++size) {
      const std::string what =
          size == 0 ? "one route" : Grouped(kAtOnce[size]) + " routes in one transaction";
      Tell("a change of " + what + ": one relay", relay_figures_[size], report);
      Tell("the same " + Grouped(bytes_[size]) + " bytes: bare gRPC streams", bare_figures_[size],
           report);
      report.Add({"i", "  CPU of the relay / of the bare server", "x",
                  Ratio(relay_figures_[size].cpu, bare_figures_[size].cpu)});
    }
    report.Add({"i", "nothing changes: CPU of the relay", "% of a core", idle_,
                "a word to each of 1,000 streams every 2 s"});
    report.Add({"i", "memory of the relay", "MiB RSS", memory_, "1,000 shards"});
    const Series& most = relay_figures_[0].most;
    report.Judge(
        {"a change seen by all of 1,000 streams of one relay, from before it was sent to "
         "etcd",
         "< 100 ms", Short(most.Median()) + " ms", most.Median() < kMaxMilliseconds});
  }

 private:
  static void Tell(const std::string& what, const Figures& figures, Report& report) {
    const std::string note = "1,000 streams, 40 changes";
    report.Add({"i", what + ", p50", "ms", figures.p50, note});
    report.Add({"i", what + ", p99", "ms", figures.p99});
    report.Add({"i", what + ", the last stream", "ms", figures.most});
    report.Add({"i", what + ", CPU of the server a change", "ms", figures.cpu});
  }

  void Idle() {
    const double cpu = CpuSeconds(relay_.process->pid());
    std::this_thread::sleep_for(kIdle);
    idle_.Add(100 * (CpuSeconds(relay_.process->pid()) - cpu) / Seconds(kIdle));
    memory_.Add(ResidentMebibytes(relay_.process->pid()));
  }

  const std::unique_ptr<lab::PrivateEtcd> etcd_;
  Group group_;
  const Server relay_;
  const Server bare_;
  const std::unique_ptr<v1::RoutingService::Stub> stub_;
  Figures relay_figures_[std::size(kAtOnce)];
  Figures bare_figures_[std::size(kAtOnce)];
  std::size_t bytes_[std::size(kAtOnce)] = {};
  Series idle_, memory_;
  std::int64_t bare_term_ = 1'000'000;  // as many digits as etcd's revisions, or one more
};

// Each stream has a connection: raise the limit of descriptors as far as allowed, for the servers
// too.
void AllowConnections() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

void MeasureFanOut(const Settings& settings, Report& report) {
  AllowConnections();
  FanOut fan_out(settings);
  for (int i = 0; i < settings.repeat; ++i) fan_out.Repeat();
  fan_out.Tell(report);
}

}  // namespace baton::bench
