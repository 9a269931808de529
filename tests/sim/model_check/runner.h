// Runner: runs one script at one etcd: it asks, waits for the answer, and puts it in words that can
// be compared.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/model_check/operation.h"
#include "sim/model_check/party.h"

namespace baton::sim {

/// The result of an AskProgress that has no answer.
inline constexpr const char* kNoProgress = "no progress answer";

class Runner {
 public:
  /// Empties the etcd except for kFirstKey, and compacts it there: every script begins in the same
  /// state.
  explicit Runner(Party& party);
  /// Revokes the script's leases.
  ~Runner();
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  /// Runs the operation, and returns its result.
  std::string Do(const Operation& operation);

  /// The revision of etcd, counted from the script's beginning.
  std::int64_t Revision();

  /// All that etcd sent to a watcher so far: an entry for its creation, each event, each progress
  /// answer, its cancellation, its stream's end.
  std::vector<std::string> Told(int watcher);
  /// The same by messages: of each the number of its revisions, the last of them, and the revision
  /// of its header.
  std::vector<std::string> Messages(int watcher);
  /// Waits for this many entries, and says whether they came.
  bool AwaitTold(int watcher, std::size_t entries);

 private:
  using Log = std::vector<std::string>;
  struct Watcher {
    std::shared_ptr<Log> log = std::make_shared<Log>();
    std::shared_ptr<Log> messages = std::make_shared<Log>();
    std::unique_ptr<etcd::WatchStream> stream = {};
  };
  struct Renewals {
    std::shared_ptr<Log> log = std::make_shared<Log>();
    std::unique_ptr<etcd::KeepAliveStream> stream = {};
  };
  /// A lease's age as far as it is known, by this etcd's time.
  struct Lease {
    std::int64_t ttl = 0;
    Duration asked{};
    Duration answered{};
  };

  template <typename Response, typename Start>
  etcd::Reply<Response> Await(const Start& start);
  template <typename Response>
  std::string Words(const etcd::Reply<Response>& reply) const;
  pb::TxnResponse Commit(const pb::TxnRequest& request);

  std::string Ask(pb::RangeRequest request);
  std::string Ask(pb::TxnRequest request);
  std::string Ask(const pb::LeaseGrantRequest& request);
  std::string Ask(const pb::LeaseRevokeRequest& request);
  std::string Ask(const KeepAlive& operation);
  std::string Ask(const pb::LeaseTimeToLiveRequest& request);
  std::string Ask(const OpenWatch& operation);
  std::string Ask(const AskProgress& operation);
  std::string Ask(const CancelWatch& operation);
  std::string Ask(const pb::CompactionRequest& request);
  std::string Ask(const AskStatus& operation);

  Watcher& watcher(int number) { return watchers_[static_cast<std::size_t>(number)]; }
  std::string JudgeTtl(const Lease& lease, std::int64_t ttl, Duration asked) const;

  Party& party_;
  std::int64_t offset_ = 0;
  std::map<std::int64_t, Lease> leases_;
  std::map<std::int64_t, Renewals> renewals_;
  std::array<Watcher, kWatchers> watchers_;
};

}  // namespace baton::sim
