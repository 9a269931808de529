#include "lab/private_etcd.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <span>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/owned_descriptor.h"
#include "base/subprocess.h"

namespace baton::lab {
namespace {

namespace fs = std::filesystem;

// Another process may take a free port before etcd binds it; then the whole start is tried again.
constexpr int kStartAttempts = 5;
constexpr Duration kProbeBound = std::chrono::seconds(1);
constexpr int kProbePauseMilliseconds = 20;
constexpr std::size_t kLargestAnswer = 4 << 20;

sockaddr_in Loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

// Distinct free ports: binds all at once, then releases them. Fewer if the system refuses. While a
// member is down, no connection gets its port: the kernel gives connections ports from 32768 on.
std::vector<std::uint16_t> FreePorts(std::size_t count) {
  std::random_device random;
  std::uniform_int_distribution<std::uint16_t> any(20'000, 29'999);
  std::vector<OwnedDescriptor> held;
  std::vector<std::uint16_t> ports;
  for (std::size_t tries = 0; ports.size() < count && tries < 100 * count; ++tries) {
    OwnedDescriptor descriptor(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const std::uint16_t port = any(random);
    const sockaddr_in address = Loopback(port);
    if (bind(descriptor.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      continue;
    }
    held.push_back(std::move(descriptor));
    ports.push_back(port);
  }
  return ports;
}

bool WaitFor(int descriptor, short events, TimePoint deadline) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - BootClock::now()).count();
  pollfd entry{.fd = descriptor, .events = events, .revents = 0};
  return left > 0 && poll(&entry, 1, static_cast<int>(left)) == 1;
}

bool Connect(int descriptor, std::uint16_t port, TimePoint deadline) {
  const sockaddr_in address = Loopback(port);
  if (connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    return true;
  }
  if (errno != EINPROGRESS || !WaitFor(descriptor, POLLOUT, deadline)) return false;
  int error = 0;
  socklen_t length = sizeof error;
  return getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &length) == 0 && error == 0;
}

// A connection to loopback on which a request was sent; an invalid descriptor on failure.
OwnedDescriptor Requested(std::uint16_t port, const std::string& path, TimePoint deadline) {
  OwnedDescriptor connection(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const std::string request = "GET " + path + " HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n";
  const auto size = static_cast<ssize_t>(request.size());
  const bool sent = connection.get() >= 0 && Connect(connection.get(), port, deadline) &&
                    send(connection.get(), request.data(), request.size(), MSG_NOSIGNAL) == size;
  return sent ? std::move(connection) : OwnedDescriptor(-1);
}

// A complete HTTP/1.0 answer from loopback, with its head; empty on failure.
std::string HttpGet(std::uint16_t port, const std::string& path) {
  const TimePoint deadline = BootClock::now() + kProbeBound;
  const OwnedDescriptor connection = Requested(port, path, deadline);
  if (connection.get() < 0) return "";
  std::string answer;
  char buffer[16384];
  while (answer.size() < kLargestAnswer && WaitFor(connection.get(), POLLIN, deadline)) {
    const ssize_t got = recv(connection.get(), buffer, sizeof buffer, 0);
    if (got == 0) return answer;
    if (got > 0) answer.append(buffer, static_cast<std::size_t>(got));
    if (got < 0 && errno != EAGAIN && errno != EINTR) return "";
  }
  return "";
}

bool SaysHealthy(std::uint16_t metrics_port) {
  return HttpGet(metrics_port, "/health?exclude=NOSPACE").find("\"health\":\"true\"") !=
         std::string::npos;
}

// Whether somebody reads what comes in: answers, or ends the connection, as a port with TLS does.
bool Serves(std::uint16_t client_port) {
  const TimePoint deadline = BootClock::now() + kProbeBound;
  const OwnedDescriptor connection = Requested(client_port, "/version", deadline);
  return connection.get() >= 0 && WaitFor(connection.get(), POLLIN, deadline);
}

std::string FileContent(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::string Address(std::uint16_t port) { return "127.0.0.1:" + std::to_string(port); }

struct Member {
  std::string name;
  std::uint16_t client_port = 0;
  std::uint16_t peer_port = 0;
  std::uint16_t metrics_port = 0;  ///< plain HTTP, even if the client port has TLS
  std::unique_ptr<Subprocess> process;
};

bool HasUnsafeNoFsync(const std::string& program, const std::string& folder) {
  const std::string output = folder + "/help.txt";
  const auto status = RunProgram({.arguments = {program, "--help"}, .output_path = output},
                                 BootClock::now() + std::chrono::seconds(10));
  return status.ok() && FileContent(output).find("--unsafe-no-fsync") != std::string::npos;
}

Result<std::string> FreshFolder() {
  std::error_code error;
  fs::path base = fs::temp_directory_path(error);
  if (error) base = "/tmp";
  std::string name = (base / "baton-etcd-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) {
    return Error{ErrorCode::kInternal, "cannot make a temporary folder below " + base.string() +
                                           ": " + std::strerror(errno)};
  }
  return name;
}

}  // namespace

struct PrivateEtcd::State {
  PrivateEtcdOptions options;
  std::string folder;
  std::vector<std::string> common_arguments;
  std::vector<Member> members;
  bool keep = false;

  ~State();
  bool AssignPorts();
  std::string LogPath(const Member& member) const { return folder + "/" + member.name + ".log"; }
  std::string InitialCluster() const;
  std::string PeerUrl(const Member& member) const { return "http://" + Address(member.peer_port); }
  std::string DataDir(const Member& member) const { return folder + "/" + member.name; }
  std::string Token() const { return fs::path(folder).filename().string(); }
  Status RunEtcdctl(std::vector<std::string> words) const;
  Status RunTool(std::vector<std::string> words) const;
  std::vector<std::string> CommandLine(const Member& member) const;
  Status Launch(Member& member);
  Status LaunchAll();
  Status AwaitHealthy(std::span<Member> awaited, TimePoint deadline);
  bool LostItsPort(const Member& member) const;
  Status StartOnFreePorts();
  Error Failed(const std::string& what);
};

PrivateEtcd::State::~State() {
  members.clear();
  if (keep || folder.empty()) return;
  std::error_code ignored;
  fs::remove_all(folder, ignored);
}

bool PrivateEtcd::State::AssignPorts() {
  const std::vector<std::uint16_t> ports = FreePorts(3 * members.size());
  if (ports.size() < 3 * members.size()) return false;
  for (std::size_t i = 0; i < members.size(); ++i) {
    members[i].client_port = ports[3 * i];
    members[i].peer_port = ports[3 * i + 1];
    members[i].metrics_port = ports[3 * i + 2];
  }
  return true;
}

std::string PrivateEtcd::State::InitialCluster() const {
  std::string cluster;
  for (const Member& member : members) {
    if (!cluster.empty()) cluster += ",";
    cluster += member.name + "=" + PeerUrl(member);
  }
  return cluster;
}

std::vector<std::string> PrivateEtcd::State::CommandLine(const Member& member) const {
  const bool secure = !options.tls.cert_path.empty();
  const std::string client = (secure ? "https://" : "http://") + Address(member.client_port);
  const std::string peer = PeerUrl(member);
  std::vector<std::string> line = {
      options.program,
      "--name=" + member.name,
      "--data-dir=" + DataDir(member),
      "--listen-client-urls=" + client,
      "--advertise-client-urls=" + client,
      "--listen-peer-urls=" + peer,
      "--initial-advertise-peer-urls=" + peer,
      "--listen-metrics-urls=http://" + Address(member.metrics_port),
      "--initial-cluster=" + InitialCluster(),
      "--initial-cluster-state=new",
      "--initial-cluster-token=" + Token(),
      "--logger=zap",
      "--log-outputs=stderr",
  };
  line.insert(line.end(), common_arguments.begin(), common_arguments.end());
  return line;
}

Status PrivateEtcd::State::RunEtcdctl(std::vector<std::string> words) const {
  words.insert(words.begin(), "etcdctl");
  words.insert(words.end(), options.etcdctl_arguments.begin(), options.etcdctl_arguments.end());
  return RunTool(std::move(words));
}

Status PrivateEtcd::State::RunTool(std::vector<std::string> words) const {
  const std::string output = folder + "/etcdctl.log";
  const auto ran =
      RunProgram({.arguments = words, .environment = {"ETCDCTL_API=3"}, .output_path = output},
                 BootClock::now() + options.start_timeout);
  if (!ran) return ran.error();
  if (ran.value().success()) return Ok();
  return Error{ErrorCode::kInternal, fmt::format("{} {} ended with {}; see {}", words.at(0),
                                                 words.at(1), ToString(ran.value()), output)};
}

Status PrivateEtcd::State::Launch(Member& member) {
  auto process = Subprocess::Start({.arguments = CommandLine(member),
                                    .environment = {},
                                    .output_path = LogPath(member),
                                    .lifetime = options.lifetime});
  if (!process) return process.error();
  member.process = std::move(process).value();
  return Ok();
}

Status PrivateEtcd::State::LaunchAll() {
  for (Member& member : members) {
    if (const Status launched = Launch(member); !launched) return launched;
  }
  return Ok();
}

bool PrivateEtcd::State::LostItsPort(const Member& member) const {
  return FileContent(LogPath(member)).find("address already in use") != std::string::npos;
}

Error PrivateEtcd::State::Failed(const std::string& what) {
  keep = true;
  return Error{ErrorCode::kUnavailable, what + "; its logs are in " + folder};
}

// etcd says that it is healthy on one port before it serves another one, on which it listens
// already: a client that connects in between may give up waiting for the first frame.
Status PrivateEtcd::State::AwaitHealthy(std::span<Member> awaited, TimePoint deadline) {
  for (const Member& member : awaited) {
    while (!SaysHealthy(member.metrics_port) || !Serves(member.client_port)) {
      if (const auto ended = member.process->Poll()) {
        return Failed(fmt::format("etcd member {} ended with {}", member.name, ToString(*ended)));
      }
      if (BootClock::now() >= deadline) {
        return Failed("etcd member " + member.name + " was not healthy in time");
      }
      poll(nullptr, 0, kProbePauseMilliseconds);
    }
  }
  return Ok();
}

Status PrivateEtcd::State::StartOnFreePorts() {
  for (int attempt = 1;; ++attempt) {
    if (!AssignPorts()) return Failed("no free ports on loopback");
    if (const Status launched = LaunchAll(); !launched) return launched;
    Status healthy = AwaitHealthy(members, BootClock::now() + options.start_timeout);
    const bool lost_port = std::any_of(members.begin(), members.end(),
                                       [this](const Member& each) { return LostItsPort(each); });
    if (healthy.ok() || !lost_port || attempt == kStartAttempts) return healthy;
    keep = false;
    for (Member& member : members) {
      member.process.reset();
      std::error_code ignored;
      fs::remove_all(DataDir(member), ignored);
      fs::remove(LogPath(member), ignored);
    }
  }
}

Result<std::unique_ptr<PrivateEtcd>> PrivateEtcd::Start(const PrivateEtcdOptions& options) {
  BATON_CHECK(options.members == 1 || options.members == 3);
  if (const auto program = FindProgram(options.program); !program) return program.error();
  auto folder = FreshFolder();
  if (!folder) return folder.error();

  auto state = std::make_unique<State>();
  state->options = options;
  state->folder = folder.value();
  if (!options.tls.cert_path.empty()) {
    state->common_arguments = {"--cert-file=" + options.tls.cert_path,
                               "--key-file=" + options.tls.key_path};
  }
  if (!options.tls.client_ca_path.empty()) {
    state->common_arguments.push_back("--client-cert-auth");
    state->common_arguments.push_back("--trusted-ca-file=" + options.tls.client_ca_path);
  }
  if (options.durability == Durability::kUnsafeNoSync &&
      HasUnsafeNoFsync(options.program, folder.value())) {
    state->common_arguments.push_back("--unsafe-no-fsync");
  }
  state->common_arguments.insert(state->common_arguments.end(), options.arguments.begin(),
                                 options.arguments.end());
  for (std::size_t i = 0; i < options.members; ++i) {
    Member member;
    member.name = "m" + std::to_string(i);
    state->members.push_back(std::move(member));
  }
  if (const Status started = state->StartOnFreePorts(); !started) return started.error();
  return std::unique_ptr<PrivateEtcd>(new PrivateEtcd(std::move(state)));
}

PrivateEtcd::PrivateEtcd(std::unique_ptr<State> state) : state_(std::move(state)) {}
PrivateEtcd::~PrivateEtcd() = default;

std::size_t PrivateEtcd::size() const { return state_->members.size(); }
const std::string& PrivateEtcd::folder() const { return state_->folder; }
void PrivateEtcd::Keep() { state_->keep = true; }

void PrivateEtcd::LeaveRunning() {
  Keep();
  for (Member& member : state_->members) {
    if (member.process) member.process->Release();
  }
}

std::vector<pid_t> PrivateEtcd::pids() const {
  std::vector<pid_t> pids;
  for (const Member& member : state_->members) {
    if (member.process) pids.push_back(member.process->pid());
  }
  return pids;
}

std::vector<std::string> PrivateEtcd::endpoints() const {
  std::vector<std::string> endpoints;
  for (const Member& member : state_->members) endpoints.push_back(Address(member.client_port));
  return endpoints;
}

std::string PrivateEtcd::log_path(std::size_t member) const {
  return state_->LogPath(state_->members.at(member));
}

void PrivateEtcd::Pause(std::size_t member) {
  if (auto& process = state_->members.at(member).process) BATON_CHECK(process->Freeze());
}

void PrivateEtcd::Resume(std::size_t member) {
  if (auto& process = state_->members.at(member).process) process->Signal(SIGCONT);
}

void PrivateEtcd::Kill(std::size_t member) { state_->members.at(member).process.reset(); }

Status PrivateEtcd::Restart(std::size_t member) {
  Member& restarted = state_->members.at(member);
  const TimePoint deadline = BootClock::now() + state_->options.start_timeout;
  // Another connection may use the port as its own end for a moment: try until the deadline.
  for (;;) {
    restarted.process.reset();
    if (const Status launched = state_->Launch(restarted); !launched) return launched;
    const bool kept_before = state_->keep;
    Status healthy = state_->AwaitHealthy({&restarted, 1}, deadline);
    const bool ended = restarted.process->Poll().has_value();
    if (healthy.ok() || !ended || BootClock::now() >= deadline || !state_->LostItsPort(restarted)) {
      return healthy;
    }
    state_->keep = kept_before;
    poll(nullptr, 0, kProbePauseMilliseconds);
  }
}

Status PrivateEtcd::Etcdctl(std::vector<std::string> words) const {
  words.push_back("--endpoints=" + endpoints().front());
  return state_->RunEtcdctl(std::move(words));
}

Status PrivateEtcd::SaveSnapshot(const std::string& path) {
  return Etcdctl({"snapshot", "save", path});
}

bool PrivateEtcd::CanRaiseRevisions() const {
  const std::string help = folder() + "/etcdutl.help";
  const auto ran = RunProgram({.arguments = {"etcdutl", "snapshot", "restore", "--help"},
                               .environment = {},
                               .output_path = help},
                              BootClock::now() + state_->options.start_timeout);
  if (!ran || !ran.value().success()) return false;
  std::ifstream file(help);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  return text.find("--bump-revision") != std::string::npos;
}

Status PrivateEtcd::Restore(const std::string& path, RestoredAs as) {
  const std::string token =
      state_->Token() + (as == RestoredAs::kAnotherCluster ? "-restored" : "");
  // etcd 3.6 has this in etcdutl alone, and 3.4 in etcdctl alone.
  const std::string tool = CanRaiseRevisions() ? "etcdutl" : "etcdctl";
  for (Member& member : state_->members) {
    member.process.reset();
    std::error_code failed;
    fs::remove_all(state_->DataDir(member), failed);
    if (failed)
      return Error{ErrorCode::kInternal, state_->DataDir(member) + ": " + failed.message()};
    std::vector<std::string> words{tool,
                                   "snapshot",
                                   "restore",
                                   path,
                                   "--name=" + member.name,
                                   "--data-dir=" + state_->DataDir(member),
                                   "--initial-cluster=" + state_->InitialCluster(),
                                   "--initial-cluster-token=" + token,
                                   "--initial-advertise-peer-urls=" + state_->PeerUrl(member)};
    if (as == RestoredAs::kSameClusterRaised) {
      words.push_back("--bump-revision=" + std::to_string(kRaisedBy));
      words.push_back("--mark-compacted");
    }
    if (const Status restored = state_->RunTool(std::move(words)); !restored) return restored;
  }
  if (const Status launched = state_->LaunchAll(); !launched) return launched;
  return state_->AwaitHealthy(state_->members, BootClock::now() + state_->options.start_timeout);
}

bool PrivateEtcd::Healthy(std::size_t member) const {
  return SaysHealthy(state_->members.at(member).metrics_port);
}

double GreatestExceeded(const std::string& metrics, const std::string& histogram) {
  double exceeded = 0;
  double count = 0;
  std::map<double, double> below;  // by bound, cumulative
  std::istringstream lines(metrics);
  for (std::string line; std::getline(lines, line);) {
    const std::string bucket = histogram + "_bucket{le=\"";
    const std::string total = histogram + "_count ";
    if (line.starts_with(total)) count = std::atof(line.c_str() + total.size());
    const std::size_t end = line.find("\"} ");
    if (!line.starts_with(bucket) || end == std::string::npos) continue;
    below[std::atof(line.c_str() + bucket.size())] = std::atof(line.c_str() + end + 3);
  }
  for (const auto& [bound, cumulative] : below) {
    if (cumulative < count) exceeded = bound;
  }
  return exceeded;
}

Duration PrivateEtcd::SlowestSync() const {
  double slowest = 0;
  for (const Member& member : state_->members) {
    if (!member.process) continue;
    const std::string metrics = HttpGet(member.metrics_port, "/metrics");
    slowest = std::max(slowest, GreatestExceeded(metrics, "etcd_disk_wal_fsync_duration_seconds"));
  }
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(slowest));
}

std::optional<std::size_t> PrivateEtcd::Leader() const {
  for (std::size_t i = 0; i < size(); ++i) {
    if (!state_->members[i].process) continue;
    const std::string metrics = HttpGet(state_->members[i].metrics_port, "/metrics");
    if (metrics.find("\netcd_server_is_leader 1\n") != std::string::npos) return i;
  }
  return std::nullopt;
}

}  // namespace baton::lab
