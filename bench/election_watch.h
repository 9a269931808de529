// ElectionWatch: elections by etcd's own recipe as an observer outside their processes sees them,
// through its own watch and by the clock of this process. In an election's keys,
// PREFIX/SHARD/LEASE, the one that was created first names the leader.
//
// Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "etcd/grpc/transport.h"
#include "lab/private_etcd.h"

namespace baton::bench {

class ElectionWatch {
 public:
  /// Sees everything from the beginning. Throws std::runtime_error if it can't connect.
  ElectionWatch(const lab::PrivateEtcd& etcd, const std::string& prefix, std::uint32_t shards);
  ~ElectionWatch();
  ElectionWatch(const ElectionWatch&) = delete;
  ElectionWatch& operator=(const ElectionWatch&) = delete;

  /// How many keys all elections have.
  std::size_t Candidates() const;
  /// How many shards each process leads.
  std::map<std::string, std::uint32_t> Leaders() const;
  /// When a shard last lost its leader to the next one in its line.
  TimePoint LastSuccession() const;

 private:
  using Line = std::map<std::int64_t, std::string>;  ///< names by the revision of creation
  struct Place {
    std::size_t shard = 0;
    std::int64_t revision = 0;
  };

  void Take(const etcdserverpb::WatchResponse& response);
  void Add(const etcdserverpb::KeyValue& key);
  void Remove(const std::string& key, TimePoint at);

  const std::string prefix_;             ///< with the slash
  mutable std::mutex mutex_;             // guards the members below, up to the transport
  std::vector<Line> lines_;              ///< by shard
  std::map<std::string, Place> places_;  ///< of each key
  TimePoint last_succession_{};
  std::unique_ptr<etcd::GrpcTransport> transport_;
  std::unique_ptr<etcd::WatchStream> stream_;
};

}  // namespace baton::bench
