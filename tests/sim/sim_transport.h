// SimTransport: one process's connection to the simulated etcd, through a network that fails.
//
// It keeps what transport.h and GrpcTransport promise: the production EndpointBook chooses
// endpoints; reads are tried at each; a write goes to another endpoint only if it certainly reached
// none; a missed deadline is unknown; streams deliver in order. As with TCP, a stream never loses a
// message and then goes on: a message that a cut holds up arrives later, or the stream ends.
//
// For one thread. Everything that comes back goes through the host's gate.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "etcd/grpc/endpoints.h"
#include "etcd/transport.h"
#include "sim/dice.h"
#include "sim/etcd_model.h"
#include "sim/host.h"
#include "sim/role.h"

namespace baton::sim {

/// How often chance strikes messages, in a thousand. All zero: a good network.
struct NetworkFaults {
  Duration latency_least = microseconds(80);
  Duration latency_most = microseconds(600);
  int request_lost = 0;
  int reply_lost = 0;
  int reply_late = 0;
  int request_late = 0;
  int request_twice = 0;
  int reset = 0;
  int stream_ends = 0;
  int stream_late = 0;
};

enum class Direction { kOut, kIn, kBoth };

class SimTransport final : public etcd::Transport {
 public:
  struct Parts {
    World& world;
    EtcdModel& etcd;
    Host& host;
    const NetworkFaults& faults;  ///< may change at any time
    Dice& dice;
    Random random;
    bool next_version = false;   ///< writes fields that our version doesn't know
    const Role* role = nullptr;  ///< must allow all requests; null: not checked
    std::function<void(const pb::TxnRequest&)> sent = [](const pb::TxnRequest&) {};
  };
  /// All but the random numbers outlive the transport.
  explicit SimTransport(Parts parts);
  ~SimTransport() override;

  // The network.
  void Cut(int member, Direction direction);
  void Heal(int member);
  bool IsCut(int member) const;
  /// The member's machine refuses what it had accepted: everything open to it breaks.
  void ConnectionLost(int member);
  /// If the process has heard nothing of the member for too long (gRPC's pings), does what
  /// ConnectionLost does.
  void CheckPings(int member);
  /// The process is dead: no handler is called any more.
  void Abandon();

  void RangeAvoiding(const std::string& avoid, pb::RangeRequest request,
                     std::chrono::milliseconds deadline,
                     etcd::ReplyHandler<pb::RangeResponse> handler) override;
  void Txn(std::shared_ptr<const pb::TxnRequest> request, std::chrono::milliseconds deadline,
           etcd::ReplyHandler<pb::TxnResponse> handler) override {
    SendTxn(std::move(request), deadline, std::move(handler), false);
  }
  void TxnElsewhere(std::shared_ptr<const pb::TxnRequest> request,
                    std::chrono::milliseconds deadline,
                    etcd::ReplyHandler<pb::TxnResponse> handler) override {
    SendTxn(std::move(request), deadline, std::move(handler), true);
  }
  void LeaseGrant(pb::LeaseGrantRequest request, std::chrono::milliseconds deadline,
                  etcd::ReplyHandler<pb::LeaseGrantResponse> handler) override;
  void LeaseRevoke(pb::LeaseRevokeRequest request, std::chrono::milliseconds deadline,
                   etcd::ReplyHandler<pb::LeaseRevokeResponse> handler) override;
  void LeaseTimeToLive(pb::LeaseTimeToLiveRequest request, std::chrono::milliseconds deadline,
                       etcd::ReplyHandler<pb::LeaseTimeToLiveResponse> handler) override;
  void MaintenanceStatus(std::chrono::milliseconds deadline,
                         etcd::ReplyHandler<pb::StatusResponse> handler) override;
  std::unique_ptr<etcd::KeepAliveStream> OpenKeepAlive(std::int64_t lease, const std::string& avoid,
                                                       etcd::KeepAliveHandler handler) override;
  std::unique_ptr<etcd::WatchStream> OpenWatch(const pb::WatchCreateRequest& request,
                                               const std::string& avoid,
                                               etcd::WatchHandler handler) override;

  std::size_t open_calls() const { return calls_.size(); }
  /// The phases of the exchanges that wait for an answer.
  Phases Open() const;

 private:
  enum class Retry { kReads, kWrites, kNever };
  struct Call {
    std::uint64_t id = 0;
    Retry retry = Retry::kReads;
    Phase phase = Phase::kReading;
    TimePoint deadline{};
    std::vector<bool> tried = std::vector<bool>(EtcdModel::kMembers, false);
    int attempt = 0;
    int tokens = 0;  ///< how often a new one was fetched
    int member = 0;
    TimePoint sent{};
    Duration bound{};
    std::function<void(int member, int attempt)> launch = {};  ///< at the member
    std::function<void(etcd::CallStatus)> fail = {};
  };
  using CallPointer = std::shared_ptr<Call>;
  struct Link {
    bool cut_out = false;
    bool cut_in = false;
    TimePoint cut_since{};
    /// called with the time at which it can arrive
    std::vector<std::function<void(TimePoint)>> held = {};
  };
  struct Stream;
  class KeepAliveHandle;
  class WatchHandle;
  using StreamPointer = std::shared_ptr<Stream>;

  Link& link(int member) { return links_[static_cast<std::size_t>(member)]; }
  const Link& link(int member) const { return links_[static_cast<std::size_t>(member)]; }
  Duration Latency();
  /// The latency of a message on a stream; later messages wait for it.
  Duration StreamLatency(Phase phase);
  struct Message {
    int member = 0;
    Phase phase = Phase::kReading;
    Duration extra{};  ///< besides the network's latency
  };
  /// Sends something that happens at the member.
  void Send(const Message& message, std::function<void()> arrives);
  /// Returns something that happens in the process.
  void Return(const Message& message, std::function<void()> arrives);
  // The same on a stream: in order.
  void SendOn(const StreamPointer& stream, std::function<void()> arrives);
  void ReturnOn(const StreamPointer& stream, std::function<void()> arrives);

  /// Whether chance strikes the exchange; counts it if so.
  bool Struck(Fault fault, Phase phase, int per_mille);
  Duration StruckFor(Fault fault, Phase phase, int per_mille, Duration most);

  void SendTxn(std::shared_ptr<const pb::TxnRequest> request, std::chrono::milliseconds deadline,
               etcd::ReplyHandler<pb::TxnResponse> handler, bool elsewhere);
  struct Kind {
    Retry retry = Retry::kReads;
    Phase phase = Phase::kReading;
    bool elsewhere = false;  ///< begins at another member than the current one
    std::string avoid = {};  ///< begins at another member than this one
  };
  template <typename Response>
  void Start(Kind kind, std::chrono::milliseconds deadline,
             std::function<void(int, Replied<Response>)> serve,
             etcd::ReplyHandler<Response> handler);
  void Attempt(const CallPointer& call, int member);
  void LaunchWithFate(const CallPointer& call);
  Duration BoundOf(const Call& call, TimePoint now) const;
  bool Current(const CallPointer& call, int attempt) const;
  void Attempted(const CallPointer& call, const Failure& failure);
  void Report(const Call& call, const Failure& failure);
  bool TriesAnother(const CallPointer& call, const Failure& failure);
  bool TriesAnotherToken(const CallPointer& call, const Failure& failure);
  bool RefusesToken(int member, Phase phase);
  bool RefusesStream(const StreamPointer& stream);

  StreamPointer Open(Phase phase, const std::string& avoid,
                     std::function<void(etcd::CallStatus)> ended);
  void End(const StreamPointer& stream, const Failure& why);
  int OtherThan(const std::string& avoid);
  void ProbeQuarantined();

  World& world_;
  EtcdModel& etcd_;
  Host& host_;
  const NetworkFaults& faults_;
  Dice& dice_;
  Random random_;
  const bool next_version_;
  const Role* const role_;
  const std::function<void(const pb::TxnRequest&)> sent_;
  etcd::EndpointBook book_;
  std::array<Link, EtcdModel::kMembers> links_;
  std::uint64_t next_id_ = 1;
  std::map<std::uint64_t, CallPointer> calls_;
  std::map<std::uint64_t, StreamPointer> streams_;
};

}  // namespace baton::sim
