#include "app/demo/node.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <filesystem>
#include <future>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "app/common/guard_program.h"
#include "app/common/port_reservation.h"
#include "app/ctl/interrupt.h"
#include "app/demo/board.h"
#include "app/demo/certificates.h"
#include "app/demo/repeater.h"
#include "app/demo/secure_node.h"
#include "base/log.h"
#include "baton/fencing.h"
#include "baton/grpc.h"
#include "baton/node.h"
#include "etcd/grpc/transport.h"

namespace baton::app {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

// Sweeps may use at most this share of a core, however many shards there are.
constexpr std::uint32_t kShareOfACore = 8;  // one eighth
constexpr milliseconds kSweepPause{1};
constexpr milliseconds kServerStop{1000};
constexpr milliseconds kLookAtFiles{500};
constexpr milliseconds kWriteDeadline{2000};
constexpr int kWriteAttempts = 10;

std::int64_t NowCount() { return BootClock::now().time_since_epoch().count(); }

/// Asks the node again and again about every shard, and writes the answers on the board.
class Sweeper {
 public:
  Sweeper(const Node& node, DemoBoard& board)
      : node_(node), board_(board), thread_([this] { return SweepOnce(); }) {}

 private:
  nanoseconds SweepOnce() {
    const nanoseconds cost = Sweep();
    const nanoseconds pause = PauseAfter(cost);
    board_.head().sweep_period.store((cost + pause).count());
    return pause;
  }

  nanoseconds PauseAfter(nanoseconds cost) const {
    const std::int64_t pause = board_.head().pause.load();
    const std::uint32_t share = board_.head().share.load();
    const nanoseconds asked = pause > 0 ? nanoseconds(pause) : kSweepPause;
    return std::max(asked, cost * ((share > 0 ? share : kShareOfACore) - 1));
  }

  nanoseconds Sweep() {
    auto& head = board_.head();
    const auto words = board_.words();
    const std::int64_t old_term = head.old_term.load();
    SweepNote note{.begun = NowCount(), .led = 0, .old = 0};
    for (std::uint32_t shard = 0; shard < words.size(); ++shard) {
      const BoardWord word = WordOf(node_.Leadership(ShardId{shard}));
      note.led += word != 0 ? 1 : 0;
      note.old += word != 0 && TermIn(word) <= old_term ? 1 : 0;
      if (words[shard].load(std::memory_order_relaxed) == word) continue;
      words[shard].store(word, std::memory_order_release);
      head.changes.fetch_add(1, std::memory_order_release);
    }
    head.notes[head.sweeps.load() % DemoBoard::kNotes] = note;
    head.swept_from.store(note.begun, std::memory_order_release);
    head.sweeps.fetch_add(1, std::memory_order_release);
    return nanoseconds(NowCount() - note.begun);
  }

  const Node& node_;
  DemoBoard& board_;
  const Repeater thread_;
};

/// The application's writes. It decides on a write while the node leads, works on it for a while,
/// and sends it without asking again. The leadership of the decision guards the write.
class Writer {
 public:
  Writer(const Node& node, DemoBoard& board, etcd::Transport& etcd)
      : node_(node), board_(board), etcd_(etcd), thread_([this] {
          if (board_.head().write_state.load() == WriteState::kAsked) Write();
          return kSweepPause;
        }) {}

 private:
  void Write() {
    auto& head = board_.head();
    const ShardId shard{head.write_shard.load()};
    const Leadership leadership = node_.Leadership(shard);
    if (!leadership.leads) return head.write_state.store(WriteState::kNotLeader);
    const auto write = GuardedWrite(shard, leadership.term);
    head.write_term.store(leadership.term.value);
    head.write_state.store(WriteState::kDecided);
    Pause(nanoseconds(head.write_work.load()));
    head.write_state.store(WriteState::kSent);
    head.write_state.store(Send(write));
  }

  using Transaction = std::shared_ptr<const etcdserverpb::TxnRequest>;

  static Transaction GuardedWrite(ShardId shard, Term term) {
    const TermCompare fence = CompareTerm(EtcdOptions{}.prefix, kDemoGroup, shard, term).value();
    const auto write = std::make_shared<etcdserverpb::TxnRequest>();
    auto* guard = write->add_compare();
    guard->set_result(etcdserverpb::Compare::EQUAL);
    guard->set_target(etcdserverpb::Compare::MOD);
    guard->set_key(fence.key);
    guard->set_mod_revision(fence.mod_revision);
    auto* put = write->add_success()->mutable_request_put();
    put->set_key(kDemoDataPrefix + std::to_string(shard.value));
    put->set_value("written in term " + std::to_string(term.value));
    return write;
  }

  // If the outcome is unknown, sending the same guarded write again makes it definite.
  WriteState Send(const Transaction& write) {
    for (int attempt = 0; attempt < kWriteAttempts; ++attempt) {
      std::promise<etcd::Reply<etcdserverpb::TxnResponse>> promise;
      etcd_.Txn(write, kWriteDeadline,
                [&promise](auto reply) { promise.set_value(std::move(reply)); });
      const auto reply = promise.get_future().get();
      if (!reply.status.ok()) continue;
      return reply.response.succeeded() ? WriteState::kAccepted : WriteState::kRefused;
    }
    return WriteState::kUnknown;
  }

  const Node& node_;
  DemoBoard& board_;
  etcd::Transport& etcd_;
  const Repeater thread_;
};

/// The demo's application does nothing with its shards. It only notes that the node halted.
class DemoListener : public Listener {
 public:
  explicit DemoListener(DemoBoard& board) : board_(board) {}
  void Halted(const Error&) override { board_.head().state.store(BoardState::kHalted); }

 private:
  DemoBoard& board_;
};

NodeOptions NodeOptionsOf(const DemoNodeOptions& demo, const std::string& address) {
  NodeOptions node;
  node.group = kDemoGroup;
  node.shards = demo.shards;
  node.node = demo.node;
  node.etcd.endpoints = {demo.etcd};
  node.state_dir = fmt::format("{}/{}.state", demo.folder, demo.node);
  node.address = address;
  node.ttl = demo.ttl;
  node.expect_nodes = demo.expect_nodes;
  node.rebalance_delay = kDemoRebalanceDelay;
  node.cooldown = kDemoCooldown;
  if (demo.guarded) node.guard = GuardMode::kOwn;
  node.guard_program = GuardProgram();
  node.keeps_descriptors = true;
  return node;
}

int LogFailure(const Error& error) {
  log::Error(error.message);
  return 1;
}

int Serve(const DemoNodeOptions& options, DemoBoard& board) {
  auto port = PortReservation::Take({.host = "127.0.0.1", .port = 0});
  if (!port) return LogFailure(port.error());
  NodeOptions node_options = NodeOptionsOf(options, port.value().address());
  etcd::GrpcTransportOptions etcd_options{.endpoints = {options.etcd}};
  std::unique_ptr<SecureNode> secure;
  if (!options.certificates.empty()) {
    auto loaded = SecureNode::Load(options.certificates);
    if (!loaded) return LogFailure(loaded.error());
    secure = std::move(loaded).value();
    UseAtDemoEtcd(kDemoEtcdUser, secure->texts(), node_options.etcd);
    UseAtDemoEtcd(kDemoEtcdUser, secure->texts(), etcd_options);
  }
  auto etcd = etcd::GrpcTransport::Create(std::move(etcd_options));
  if (!etcd) return LogFailure(etcd.error());
  std::error_code ignored;  // Start reports what is wrong with the folder
  std::filesystem::create_directories(node_options.state_dir, ignored);
  auto node = Node::Start(node_options, std::make_shared<DemoListener>(board));
  if (!node) return LogFailure(node.error());

  grpc::ServerBuilder builder;
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddListeningPort(port.value().address(),
                           secure ? secure->credentials() : grpc::InsecureServerCredentials());
  LimitServer(builder);
  const auto admin = secure ? secure->Register(builder, *node.value())
                            : RegisterAdminService(builder, *node.value());
  const auto server = builder.BuildAndStart();
  if (server == nullptr) {
    return LogFailure({ErrorCode::kUnavailable, "can't serve on " + port.value().address()});
  }
  std::unique_ptr<http::HttpServer> http;
  if (secure) {
    auto serving = secure->ServeHttp(*node.value());
    if (!serving) return LogFailure(serving.error());
    http = std::move(serving).value();
    board.head().http_port.store(http->port());
  }
  board.head().port.store(port.value().port());
  board.head().state.store(BoardState::kServing);

  {
    const Sweeper sweeper(*node.value(), board);
    const Writer writer(*node.value(), board, *etcd.value());
    while (Interrupt::Sleep(kLookAtFiles)) {
      if (secure) secure->Look(*node.value());
    }
    if (const Status drained = node.value()->Drain(); !drained) log::Warn(drained.error().message);
  }
  server->Shutdown(std::chrono::system_clock::now() + kServerStop);
  server->Wait();
  board.head().state.store(BoardState::kEnded);
  return 0;
}

}  // namespace

int RunDemoNode(const DemoNodeOptions& options) {
  auto board = DemoBoard::Open(DemoBoardPath(options.folder, options.node), options.shards);
  if (!board) return LogFailure(board.error());
  const int code = Serve(options, *board.value());
  if (code != 0) board.value()->head().state.store(BoardState::kHalted);
  return code;
}

std::string DemoBoardPath(const std::string& folder, const NodeId& node) {
  return fmt::format("{}/{}.board", folder, node);
}

}  // namespace baton::app
