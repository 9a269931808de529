// Operation: one step of a script, the same for every etcd that it runs against.
//
// Revisions are counted from the script's own beginning, as the model counts them. The runner of
// the step adds the revisions that another etcd had before.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>

#include "etcd/etcd.pb.h"

namespace baton::sim {

namespace pb = etcdserverpb;

inline constexpr int kWatchers = 5;
inline constexpr std::int64_t kLeases = 6;    ///< ids 1 to 6
inline constexpr int kScriptOperations = 12;  ///< --max-txn-ops of the scripts' etcd
inline constexpr int kElectionSeconds = 5;  ///< and its election timeout: leases have 8 s at least
inline constexpr const char* kFirstKey = "base";  ///< put before a script begins

struct KeepAlive {
  std::int64_t lease = 0;
};
struct OpenWatch {
  int watcher = 0;
  pb::WatchCreateRequest request;
};
struct AskProgress {
  int watcher = 0;
  std::chrono::milliseconds patience{30000};  ///< the longest wait for the answer
};
struct CancelWatch {
  int watcher = 0;
};
struct AskStatus {};

using Operation =
    std::variant<pb::RangeRequest, pb::TxnRequest, pb::LeaseGrantRequest, pb::LeaseRevokeRequest,
                 KeepAlive, pb::LeaseTimeToLiveRequest, OpenWatch, AskProgress, CancelWatch,
                 pb::CompactionRequest, AskStatus>;
inline constexpr std::size_t kKinds = std::variant_size_v<Operation>;
inline constexpr const char* kKindNames[kKinds] = {
    "range",        "transaction",    "lease grant",
    "lease revoke", "keepalive",      "lease time to live",
    "watch create", "watch progress", "watch cancel",
    "compact",      "status"};

/// The request, in words.
std::string Text(const Operation& operation);

}  // namespace baton::sim
