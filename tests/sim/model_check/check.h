// The model of etcd compared with etcd itself: the same script runs against a real etcd and both
// personalities of the model, and every answer and every watch must say the same.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "sim/model_check/operation.h"
#include "sim/model_check/party.h"

namespace baton::sim {

inline constexpr int kOperationsOfAScript = 100;

struct CheckResult {
  std::array<std::uint64_t, kKinds> operations{};
  std::map<std::string, std::uint64_t> refusals = {};  ///< by etcd's words
  std::int64_t revisions = 0;                          ///< that the scripts made
  std::uint64_t told = 0;            ///< events and other news of watches that were compared
  std::uint64_t compacted_away = 0;  ///< events that etcd and the model's 3.4.23 didn't tell
  std::optional<std::string> difference = {};

  std::uint64_t total() const;
  void Add(const CheckResult& other);
  /// A table, and the difference if there is one.
  std::string Text() const;
};

/// The etcd that scripts run against. Returns null, and says why, if none can be started.
std::unique_ptr<RealParty> StartScriptsEtcd(std::string& why);

/// Runs one script of this many operations, at most kOperationsOfAScript.
CheckResult CheckScript(Party& real, std::uint64_t seed, int operations, bool verbose);
/// Runs as many scripts as it takes, from the seed on, up to the first difference.
CheckResult CheckScripts(Party& real, std::uint64_t first_seed, int operations, bool verbose);

/// Compares how leases end by themselves. REQUIRES: an etcd with its usual election timeout.
CheckResult CheckExpiry(Party& real, std::uint64_t seed);

/// Compares how a watch catches up that begins thousands of revisions behind: how many revisions
/// come in a message, and what its header says.
CheckResult CheckCatchUp(Party& real, std::uint64_t seed);

/// Compares an etcd without space left with the model's 3.4.23. REQUIRES: etcd has a small quota.
CheckResult CheckNoSpace(Party& real, std::uint64_t seed);

}  // namespace baton::sim
