#include "e2e/cluster.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <utility>

#include <gtest/gtest.h>
#include <boost/json.hpp>

#include "base/check.h"
#include "http/client.h"
#include "http/secure_client.h"

namespace baton::e2e {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr int kPollMilliseconds = 20;

std::string Content(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ",") + word;
  return text;
}

std::optional<Table> ParseTable(const std::string& body) {
  boost::system::error_code failed;
  const json::value document = json::parse(body, failed);
  if (failed || !document.is_object() || !document.as_object().contains("shards")) return {};
  Table table;
  for (const json::value& entry : document.at("shards").as_array()) {
    const json::value& leader = entry.at("leader");
    table.push_back({.leader = leader.is_null() ? "" : std::string(leader.as_string()),
                     .term = entry.at("term").to_number<std::int64_t>(),
                     .state = std::string(entry.at("state").as_string())});
  }
  return table;
}

bool AllLed(const Table& table) {
  return !table.empty() &&
         std::all_of(table.begin(), table.end(), [](const Row& row) { return row.state == "led"; });
}

bool Even(const Table& table, const std::set<std::string>& ids) {
  std::map<std::string, std::size_t> counts;
  for (const Row& row : table) ++counts[row.leader];
  const std::size_t least = table.size() / ids.size();
  std::size_t sum = 0;
  for (const std::string& id : ids) {
    if (counts[id] < least || counts[id] > least + 1) return false;
    sum += counts[id];
  }
  return sum == table.size();
}

std::string Describe(const std::map<std::string, Table>& tables) {
  std::string text;
  for (const auto& [id, table] : tables) {
    std::map<std::string, int> counts;
    for (const Row& row : table) ++counts[row.leader + ":" + row.state];
    text += "\n  " + id + " shows " + std::to_string(table.size()) + " shards:";
    for (const auto& [who, count] : counts) text += " " + who + "=" + std::to_string(count);
  }
  return text;
}

std::string Within(std::chrono::milliseconds bound) {
  return "not within " + std::to_string(bound.count()) + " ms: ";
}

bool Same(const Table& left, const Table& right) {
  return left.size() == right.size() && Retermed(left, right).empty() && Moved(left, right).empty();
}

}  // namespace

std::string FreshFolder() {
  std::string name = (fs::temp_directory_path() / "baton-e2e-XXXXXX").string();
  BATON_CHECK(mkdtemp(name.data()) != nullptr);
  return name;
}

bool Eventually(std::chrono::milliseconds bound, const std::function<bool()>& condition) {
  const TimePoint deadline = BootClock::now() + bound;
  while (!condition()) {
    if (BootClock::now() >= deadline) return false;
    poll(nullptr, 0, kPollMilliseconds);
  }
  return true;
}

std::optional<std::string> OutsideAddress() {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return std::nullopt;
  std::optional<std::string> found;
  for (const ifaddrs* each = all; each != nullptr && !found; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != AF_INET) continue;
    const auto* address = reinterpret_cast<const sockaddr_in*>(each->ifa_addr);
    if ((ntohl(address->sin_addr.s_addr) >> 24) == 127) continue;
    char text[INET_ADDRSTRLEN] = {};
    if (inet_ntop(AF_INET, &address->sin_addr, text, sizeof text) != nullptr) found = text;
  }
  freeifaddrs(all);
  return found;
}

lab::PrivateEtcd& SharedEtcd() {
  static const std::unique_ptr<lab::PrivateEtcd> etcd = [] {
    auto started = StartEtcd({.durability = lab::Durability::kUnsafeNoSync});
    if (!started) {
      std::cerr << started.error().message << "\n";
      std::exit(1);
    }
    return std::move(started).value();
  }();
  return *etcd;
}

std::string NodeProcess::Log() const { return Content(log_path_); }

std::ptrdiff_t NodeProcess::threads() const {
  const fs::directory_iterator tasks("/proc/" + std::to_string(pid()) + "/task");
  return std::distance(begin(tasks), end(tasks));
}

void NodeProcess::Kill() {
  if (running()) left_guards_->Note(pid());
  process_->Kill();
}

void NodeProcess::Pause() {
  paused_ = true;
  EXPECT_TRUE(process_->Freeze());
}

void NodeProcess::Resume() {
  process_->Signal(SIGCONT);
  paused_ = false;
}

std::optional<ExitStatus> NodeProcess::WaitExit(std::chrono::milliseconds bound) {
  return process_->Wait(BootClock::now() + bound);
}

Cluster::Cluster(lab::PrivateEtcd& etcd, GroupOptions options)
    : etcd_(etcd), options_(std::move(options)), folder_(FreshFolder()) {
  static std::atomic<int> count{0};
  group_ = "g" + std::to_string(++count);
}

Cluster::~Cluster() {
  for (const auto& [id, node] : nodes_) node->Kill();
  nodes_.clear();
  if (std::uncaught_exceptions() > 0 || testing::Test::HasFailure()) {
    std::cerr << "logs of group " << group_ << " are in " << folder_ << "\n";
    return;
  }
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

std::vector<std::string> Cluster::Flags(const std::string& id) const {
  std::vector<std::string> flags = {
      "--group",
      group_,
      "--shards",
      std::to_string(options_.shards),
      "--node",
      id,
      "--etcd",
      Joined(etcd_.endpoints()),
      "--listen",
      "127.0.0.1:0",
      "--http",
      "127.0.0.1:0",
      "--state-dir",
      StateDir(id),
      "--ready-file",
      folder_ + "/" + id + ".ready",
      "--ttl",
      std::to_string(options_.ttl.count()) + "s",
      "--settle",
      "500ms",
      "--rebalance-delay",
      "500ms",
      "--cooldown",
      "1s",
  };
  const std::vector<std::string> etcd = EtcdFlags();
  flags.insert(flags.end(), etcd.begin(), etcd.end());
  flags.insert(flags.end(), options_.flags.begin(), options_.flags.end());
  return flags;
}

// A flag given twice is a usage error, so the test's flags replace the default ones.
std::vector<std::string> Cluster::Line(const std::string& id,
                                       const std::vector<std::string>& flags) const {
  std::vector<std::string> all = Flags(id);
  for (std::size_t i = 0; i < flags.size(); ++i) {
    const auto old = std::find(all.begin(), all.end(), flags[i]);
    if (flags[i].starts_with("--") && old != all.end()) all.erase(old, old + 2);
  }
  all.insert(all.end(), flags.begin(), flags.end());
  return all;
}

NodeProcess& Cluster::Launch(const std::string& id, const std::vector<std::string>& flags) {
  return LaunchProgram(id, BATOND, Line(id, flags));
}

NodeProcess& Cluster::LaunchTwin(const std::string& id, const std::vector<std::string>& flags) {
  const std::string name = id + " twin";
  std::vector<std::string> all = flags;
  all.insert(all.end(), {"--ready-file", folder_ + "/" + name + ".ready"});
  return LaunchProgram(name, BATOND, Line(id, all));
}

NodeProcess& Cluster::LaunchRelay(const std::string& id, const std::vector<std::string>& flags) {
  std::vector<std::string> line = {"--relay",
                                   "--group",
                                   group_,
                                   "--node",
                                   id,
                                   "--etcd",
                                   etcd_.endpoints().front(),
                                   "--listen",
                                   "127.0.0.1:0",
                                   "--http",
                                   "127.0.0.1:0",
                                   "--ready-file",
                                   folder_ + "/" + id + ".ready"};
  const std::vector<std::string> etcd = EtcdFlags();
  line.insert(line.end(), etcd.begin(), etcd.end());
  line.insert(line.end(), flags.begin(), flags.end());
  return LaunchProgram(id, BATOND, line);
}

NodeProcess& Cluster::LaunchProgram(const std::string& id, const std::string& program,
                                    const std::vector<std::string>& flags) {
  auto& slot = nodes_[id];
  BATON_CHECK(!slot || !slot->running());
  slot = std::make_unique<NodeProcess>();
  NodeProcess& node = *slot;
  node.id_ = id;
  node.left_guards_ = &left_guards_;
  node.ready_file_ = folder_ + "/" + id + ".ready";
  node.log_path_ = folder_ + "/" + id + ".log";
  std::error_code ignored;
  fs::remove(node.ready_file_, ignored);
  std::vector<std::string> line = {program};
  line.insert(line.end(), flags.begin(), flags.end());
  const auto has_tls = [&line] {  // of batond's own words: a program of batond run has others
    const auto own = std::find(line.begin(), line.end(), "--");
    return std::find(line.begin(), own, "--tls-cert") != own;
  };
  if (program == BATOND && !PortFlags().empty() && !has_tls()) {
    node.secure_ = true;
    const std::vector<std::string> ports = PortFlags();
    const bool runs = line.size() > 1 && line[1] == "run";
    line.insert(line.begin() + (runs ? 2 : 1), ports.begin(), ports.end());
  }
  auto started = Subprocess::Start({.arguments = line,
                                    .output_path = node.log_path_,
                                    .lifetime = ChildLifetime::kDiesWithStartingThread});
  BATON_CHECK(started.ok());
  node.process_ = std::move(started).value();
  return node;
}

void Cluster::WaitReady(NodeProcess& node) {
  const bool written =
      Eventually(kPatience, [&] { return !node.running() || fs::exists(node.ready_file_); });
  boost::system::error_code failed;
  const json::value ready = json::parse(Content(node.ready_file_), failed);
  if (!written || failed) {
    throw Unmet(node.id() + " was not ready in time; see " + node.log_path_);
  }
  node.grpc_ = std::string(ready.at("grpc").as_string());
  const std::string http(ready.at("http").as_string());
  node.http_port_ = static_cast<std::uint16_t>(std::stoi(http.substr(http.rfind(':') + 1)));
}

NodeProcess& Cluster::Start(const std::string& id, const std::vector<std::string>& flags) {
  NodeProcess& node = Launch(id, flags);
  WaitReady(node);
  return node;
}

void Cluster::StartAll(const std::vector<std::string>& ids) {
  for (const std::string& id : ids) Launch(id);
  for (const std::string& id : ids) WaitReady(node(id));
}

std::optional<Table> Cluster::Look(const std::string& id) {
  const NodeProcess& node = *nodes_.at(id);
  Answer answer{.node = id, .pid = node.pid(), .asked = BootClock::now(), .answered = {}};
  const std::string response = Fetch(node, "/v1/shards");
  answer.answered = BootClock::now();
  if (http::StatusOf(response) != 200) return std::nullopt;
  std::optional<Table> table = ParseTable(http::BodyOf(response));
  if (table) checker_.Check(answer, *table);
  return table;
}

std::map<std::string, Table> Cluster::LookAll() {
  std::map<std::string, Table> tables;
  for (const auto& [id, node] : nodes_) {
    if (node->http_port() == 0 || node->paused() || !node->running()) continue;
    tables[id] = Look(id).value_or(Table{});
  }
  return tables;
}

void Cluster::Await(const std::string& what, const std::function<bool(const Table&)>& condition,
                    std::chrono::milliseconds bound) {
  std::map<std::string, Table> tables;
  const bool held = Eventually(bound, [&] {
    tables = LookAll();
    return !tables.empty() && std::all_of(tables.begin(), tables.end(), [&](const auto& entry) {
      return condition(entry.second);
    });
  });
  if (!held) throw Unmet(Within(bound) + what + Describe(tables));
}

void Cluster::Await(const std::string& what, const std::function<bool()>& condition,
                    std::chrono::milliseconds bound) {
  std::map<std::string, Table> tables;
  const bool held = Eventually(bound, [&] {
    tables = LookAll();
    return condition();
  });
  if (!held) throw Unmet(Within(bound) + what + Describe(tables));
}

Table Cluster::AwaitBalanced(const std::set<std::string>& ids, std::chrono::milliseconds bound) {
  Table agreed;
  bool first = true;
  std::map<std::string, Table> tables;
  const bool held = Eventually(bound, [&] {
    tables = LookAll();
    first = true;
    return !tables.empty() && std::all_of(tables.begin(), tables.end(), [&](const auto& entry) {
      if (std::exchange(first, false)) agreed = entry.second;
      return AllLed(entry.second) && Even(entry.second, ids) && Same(agreed, entry.second);
    });
  });
  if (!held) throw Unmet(Within(bound) + "balanced" + Describe(tables));
  return agreed;
}

Table Cluster::AwaitLed(std::chrono::milliseconds bound) {
  Table agreed;
  std::map<std::string, Table> tables;
  const bool held = Eventually(bound, [&] {
    tables = LookAll();
    if (tables.empty()) return false;
    agreed = tables.begin()->second;
    return std::all_of(tables.begin(), tables.end(), [&](const auto& entry) {
      return AllLed(entry.second) && Same(agreed, entry.second);
    });
  });
  if (!held) throw Unmet(Within(bound) + "all led" + Describe(tables));
  return agreed;
}

std::string Cluster::Fetch(const NodeProcess& node, const std::string& target) {
  if (!node.secure_) return http::Get(node.http_port(), target);
  const PemTexts pems = OperatorPems();
  return pems.ca.empty() ? "" : http::SecureClient(node.http_port(), pems).Get(target);
}

int Cluster::HttpStatus(const std::string& id, const std::string& target) const {
  return http::StatusOf(Fetch(*nodes_.at(id), target));
}

std::string Cluster::HttpBody(const std::string& id, const std::string& target) const {
  return http::BodyOf(Fetch(*nodes_.at(id), target));
}

double Cluster::Metric(const std::string& id, const std::string& series,
                       const std::string& target) const {
  const auto brace = series.find('{');
  std::string line = "\n" + series.substr(0, brace) + "{group=\"" + group_ + "\"";
  line += brace == std::string::npos ? "} " : "," + series.substr(brace + 1) + " ";
  const std::string body = "\n" + HttpBody(id, target);
  const auto found = body.find(line);
  return found == std::string::npos ? 0 : std::atof(body.c_str() + found + line.size());
}

std::vector<std::string> Cluster::CtlCommand(const std::string& id,
                                             const std::vector<std::string>& words) const {
  std::vector<std::string> command = {BATONCTL, "--endpoint", nodes_.at(id)->endpoint()};
  if (nodes_.at(id)->secure_) {
    for (const std::string& word : CtlFlags()) command.push_back(word);
  }
  command.insert(command.end(), words.begin(), words.end());
  return command;
}

app::Ran Cluster::Ctl(const std::string& id, const std::vector<std::string>& words) const {
  app::RunOptions options;
  options.arguments = CtlCommand(id, words);
  return app::RunProcess(options);
}

std::set<int> LedBy(const Table& table, const std::string& id) {
  std::set<int> shards;
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (table[i].leader == id) shards.insert(static_cast<int>(i));
  }
  return shards;
}

std::set<int> Moved(const Table& before, const Table& after) {
  std::set<int> shards;
  for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
    if (before[i].leader != after[i].leader) shards.insert(static_cast<int>(i));
  }
  return shards;
}

std::set<int> Retermed(const Table& before, const Table& after) {
  std::set<int> shards;
  for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
    if (before[i].term != after[i].term) shards.insert(static_cast<int>(i));
  }
  return shards;
}

}  // namespace baton::e2e
