#include "app/demo/cluster.h"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <future>
#include <utility>

#include <fmt/format.h>

#include "app/ctl/client.h"
#include "app/ctl/client_files.h"
#include "app/ctl/interrupt.h"
#include "app/demo/node.h"
#include "base/log.h"
#include "baton/options.h"
#include "lab/users.h"

namespace baton::app {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kReadDeadline{5000};
constexpr milliseconds kLeaves{5000};

/// The first key after all keys that begin with `prefix`.
std::string EndOf(std::string prefix) {
  ++prefix.back();
  return prefix;
}

}  // namespace

std::string ProgramPath() {
  std::error_code error;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "batonctl" : path.string();
}

DemoMembers::DemoMembers(etcd::Transport& transport, const etcd::Keyspace& keys)
    : transport_(transport), prefix_(keys.begin() + "members/") {
  Open();
}

void DemoMembers::Open() {
  etcdserverpb::WatchCreateRequest request;
  request.set_key(prefix_);
  request.set_range_end(EndOf(prefix_));
  {
    const std::lock_guard lock(mutex_);
    request.set_start_revision(next_);
    ended_ = false;
  }
  watch_ = transport_.OpenWatch(request, "",
                                {.response = [this](const auto& response) { Note(response); },
                                 .ended =
                                     [this](const etcd::CallStatus&) {
                                       const std::lock_guard lock(mutex_);
                                       ended_ = true;
                                     }});
}

void DemoMembers::Note(const etcdserverpb::WatchResponse& response) {
  const TimePoint now = BootClock::now();
  const std::lock_guard lock(mutex_);
  for (const auto& event : response.events()) {
    const NodeId node = event.kv().key().substr(prefix_.size());
    if (event.type() == etcdserverpb::Event::DELETE)
      times_[node].gone = now;
    else if (event.kv().version() == 1)
      times_[node].joined = now;
    next_ = std::max(next_, event.kv().mod_revision() + 1);
  }
}

// On a busy machine a watch may end before its connection is there.
DemoMembers::Times DemoMembers::Of(const NodeId& node) {
  bool ended = false;
  {
    const std::lock_guard lock(mutex_);
    ended = ended_;
  }
  if (ended) Open();
  const std::lock_guard lock(mutex_);
  const auto found = times_.find(node);
  return found == times_.end() ? Times() : found->second;
}

Result<std::unique_ptr<DemoCluster>> DemoCluster::Start(const DemoOptions& options) {
  Started started;
  lab::PrivateEtcdOptions etcd_options;
  if (options.keep) etcd_options.lifetime = ChildLifetime::kOwned;
  if (options.secure) {
    auto made = DemoCertificates::Create();
    if (!made) return made.error();
    started.certificates = std::move(made).value();
    const ClientTls own = started.certificates->Of(kDemoOperator);
    etcd_options.tls = started.certificates->OfEtcd();
    etcd_options.etcdctl_arguments = {"--cacert=" + own.ca, "--cert=" + own.cert,
                                      "--key=" + own.key};
  }
  auto etcd = lab::PrivateEtcd::Start(etcd_options);
  if (!etcd) return etcd.error();
  started.etcd = std::move(etcd).value();
  etcd::GrpcTransportOptions own{.endpoints = started.etcd->endpoints()};
  if (options.secure) {
    if (const Status done = Secure(started, own); !done) return done.error();
  }
  auto transport = etcd::GrpcTransport::Create(std::move(own));
  if (!transport) return transport.error();
  started.transport = std::move(transport).value();
  return std::unique_ptr<DemoCluster>(new DemoCluster(options, std::move(started)));
}

/// Turns users on. The demo itself is root.
Status DemoCluster::Secure(const Started& started, etcd::GrpcTransportOptions& own) {
  const Result<PemTexts> texts = ReadClientPems(started.certificates->Of(kDemoOperator));
  if (!texts) return texts.error();
  UseAtDemoEtcd("root", *texts, own);
  return lab::EnableUsers(*started.etcd, kDemoEtcdPassword,
                          {.name = kDemoEtcdUser,
                           .password = kDemoEtcdPassword,
                           .prefixes = {EtcdOptions{}.prefix + "/", kDemoDataPrefix}});
}

DemoCluster::DemoCluster(const DemoOptions& options, Started started)
    : options_(options),
      certificates_(std::move(started.certificates)),
      etcd_(std::move(started.etcd)),
      transport_(std::move(started.transport)),
      keys_(EtcdOptions{}.prefix, kDemoGroup),
      members_(std::make_unique<DemoMembers>(*transport_, keys_)),
      observer_(std::make_unique<DemoObserver>(options.shards)) {}

// A guard whose node is killed beside etcd would look for etcd for minutes. If the node leaves in
// order, its guard does so too.
DemoCluster::~DemoCluster() {
  if (nodes_.size() <= kGuarded || !nodes_[kGuarded].running) return;
  Subprocess& process = *nodes_[kGuarded].process;
  process.Signal(SIGCONT);
  process.Signal(SIGTERM);
  process.Wait(BootClock::now() + kLeaves);
}

Result<NodeIndex> DemoCluster::StartNode(std::uint32_t expect_nodes) {
  NodeProcess node;
  node.name = "n" + std::to_string(nodes_.size() + 1);
  auto board = DemoBoard::Create(DemoBoardPath(folder(), node.name), options_.shards);
  if (!board) return board.error();
  node.board = std::move(board).value();
  std::vector<std::string> line = {ProgramPath(),    "demo-node",
                                   "--node",         node.name,
                                   "--etcd",         etcd_endpoint(),
                                   "--folder",       folder(),
                                   "--shards",       std::to_string(options_.shards),
                                   "--expect-nodes", std::to_string(expect_nodes),
                                   "--ttl",          std::to_string(options_.ttl.count()) + "s"};
  if (nodes_.size() == kGuarded) line.emplace_back("--guarded");
  if (certificates_) line.insert(line.end(), {"--certificates", certificates_->folder()});
  auto process = Subprocess::Start(
      {.arguments = line,
       .environment = {},
       .output_path = fmt::format("{}/{}.log", folder(), node.name),
       .lifetime = options_.keep ? ChildLifetime::kOwned : ChildLifetime::kDiesWithStartingThread});
  if (!process) return process.error();
  node.process = std::move(process).value();
  nodes_.push_back(std::move(node));
  return observer_->Add(nodes_.back().name, *nodes_.back().board);
}

void DemoCluster::Kill(NodeIndex node) {
  nodes_[node].running = false;
  observer_->Killed(node);
  nodes_[node].process->Kill();
}

void DemoCluster::Stop(NodeIndex node) {
  Subprocess& process = *nodes_[node].process;
  observer_->Stopped(node);
  nodes_[node].stopped = true;
  if (!process.Freeze()) log::Warn("a node that was stopped still runs; is its disk stuck?");
}

void DemoCluster::Wake(NodeIndex node) {
  observer_->Woken(node);
  nodes_[node].stopped = false;
  nodes_[node].process->Signal(SIGCONT);
}

std::string DemoCluster::endpoint(NodeIndex node) const {
  return "127.0.0.1:" + std::to_string(board(node).port.load());
}

std::string DemoCluster::http_endpoint(NodeIndex node) const {
  return "127.0.0.1:" + std::to_string(board(node).http_port.load());
}

ClientTls DemoCluster::tls(const std::string& who) const {
  return certificates_ ? certificates_->Of(who) : ClientTls{};
}

std::string DemoCluster::Trouble() {
  for (NodeProcess& node : nodes_) {
    if (!node.running) continue;
    const auto ended = node.process->Poll();
    const bool halted = node.board->head().state.load() == BoardState::kHalted;
    if (!ended && !halted) continue;
    return fmt::format("{} {}; see {}/{}.log", node.name,
                       ended ? "ended with " + ToString(*ended) : "halted", folder(), node.name);
  }
  return "";
}

Result<std::map<ShardId, RecordFact>> DemoCluster::ReadRecords() {
  etcdserverpb::RangeRequest request;
  request.set_key(keys_.begin() + "shards/");
  request.set_range_end(EndOf(request.key()));
  std::promise<etcd::Reply<etcdserverpb::RangeResponse>> promise;
  transport_->Range(request, kReadDeadline,
                    [&promise](auto reply) { promise.set_value(std::move(reply)); });
  const auto reply = promise.get_future().get();
  if (!reply.status.ok()) {
    return Error{ErrorCode::kUnavailable, "can't read the records: " + reply.status.message};
  }
  std::map<ShardId, RecordFact> records;
  for (const auto& stored : reply.response.kvs()) {
    const etcd::Decoded decoded = keys_.Decode(stored);
    if (!decoded.fact) continue;
    const auto* record = std::get_if<ShardRecordFact>(&*decoded.fact);
    if (record != nullptr) records[record->shard] = record->record;
  }
  return records;
}

void DemoCluster::LeaveRunning() {
  for (NodeProcess& node : nodes_) {
    if (node.running) node.process->Release();
  }
  etcd_->LeaveRunning();
}

std::vector<pid_t> DemoCluster::node_pids() const {
  std::vector<pid_t> pids;
  for (const NodeProcess& node : nodes_) {
    if (node.running) pids.push_back(node.process->pid());
  }
  return pids;
}

}  // namespace baton::app
