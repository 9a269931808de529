// Party: one etcd that scripts run against, real or modelled, behind the transport that Baton uses.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "etcd/grpc/transport.h"
#include "lab/private_etcd.h"
#include "sim/host.h"
#include "sim/sim_transport.h"

namespace baton::sim {

class Party {
 public:
  virtual ~Party() = default;
  virtual const char* name() const = 0;
  /// Its own word for its version: "3.4.23".
  virtual std::string version() = 0;
  virtual etcd::Transport& transport() = 0;
  /// Compacts up to the revision; when this returns, the history is gone from the disk too. Only
  /// tests make this call; the transport does not have it.
  virtual Failure Compact(std::int64_t revision) = 0;
  virtual Duration Now() const = 0;
  /// Runs a callback's work, so that no other thread touches what it touches.
  virtual void Note(const std::function<void()>& what) = 0;
  /// Lets time pass until `done` is true, and says whether it became true in time. `done` runs as
  /// safely as what is passed to Note.
  virtual bool Until(const std::function<bool()>& done, Duration patience) = 0;
  bool Until(const std::function<bool()>& done) { return Until(done, seconds(30)); }
};

/// The model of this version with its faults, or as etcd's documents have it.
EtcdModelOptions ModelOf(const std::string& version, bool documented,
                         EtcdModelOptions options = {});

/// The model on virtual time, over a quick network without faults.
class ModelParty final : public Party {
 public:
  ModelParty(const EtcdModelOptions& options, std::uint64_t seed);

  EtcdModel& model() { return model_; }
  const char* name() const override { return name_; }
  std::string version() override;
  etcd::Transport& transport() override { return transport_; }
  Failure Compact(std::int64_t revision) override;
  Duration Now() const override { return world_.now().time_since_epoch(); }
  void Note(const std::function<void()>& what) override { what(); }
  using Party::Until;
  bool Until(const std::function<bool()>& done, Duration patience) override;
  /// Lets this much time pass.
  void Pass(Duration length) { world_.RunUntil(world_.now() + length); }

 private:
  const char* const name_;
  World world_;
  EtcdModel model_;
  HostClock clock_;
  Host host_;
  NetworkFaults network_;
  Dice dice_;
  SimTransport transport_;
};

/// A real etcd, through the production transport.
class RealParty final : public Party {
 public:
  /// Returns null, and says why, if no etcd can be started.
  static std::unique_ptr<RealParty> Start(std::vector<std::string> arguments, std::string& why);
  ~RealParty() override;

  const char* name() const override { return "etcd"; }
  std::string version() override;
  etcd::Transport& transport() override { return *transport_; }
  Failure Compact(std::int64_t revision) override;
  Duration Now() const override;
  void Note(const std::function<void()>& what) override;
  using Party::Until;
  bool Until(const std::function<bool()>& done, Duration patience) override;

 private:
  struct Kv;
  explicit RealParty(std::unique_ptr<lab::PrivateEtcd> etcd);

  std::unique_ptr<lab::PrivateEtcd> etcd_;
  std::unique_ptr<Kv> kv_;
  std::mutex mutex_;
  std::condition_variable noted_;
  std::unique_ptr<etcd::GrpcTransport> transport_;
};

}  // namespace baton::sim
