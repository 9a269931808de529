// Injection: which of the faults that a run draws happen in it, and a list of those that did. Every
// fault is drawn first, and then asked for here, so that leaving one out shifts no draw of another.
// A list may also ask for faults that were not drawn (steering.h).
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"

namespace baton::sim {

/// Names one fault of a seed's run, the same in each repetition.
struct FaultId {
  std::uint32_t source = 0;  ///< 0: a mishap; else the number of the dice
  std::uint32_t kind = 0;
  std::uint32_t number = 0;
  friend auto operator<=>(const FaultId&, const FaultId&) = default;
};

struct InjectedFault {
  FaultId id;
  TimePoint at{};
  std::string what;
};

/// Faults of dice that happen whatever their chance. The value says for how much of the longest
/// time, in shares.
using ForcedFaults = std::map<FaultId, int>;
inline constexpr int kForcedShares = 8;

class Injection {
 public:
  /// Only these happen from now on.
  void AllowOnly(const std::vector<FaultId>& ids) { only_.emplace(ids.begin(), ids.end()); }
  bool Allows(const FaultId& id) const { return !only_ || only_->contains(id); }

  /// These happen too, until Force({}).
  void Force(ForcedFaults faults) { forced_ = std::move(faults); }
  bool forces() const { return !forced_.empty(); }
  std::optional<int> Forced(const FaultId& id) const {
    const auto found = forced_.find(id);
    if (found == forced_.end()) return std::nullopt;
    return found->second;
  }

  void KeepRecords() { records_ = true; }
  bool records() const { return records_; }
  void Record(const FaultId& id, TimePoint at, std::string what) {
    if (records_) recorded_.push_back({id, at, std::move(what)});
  }
  const std::vector<InjectedFault>& recorded() const { return recorded_; }

 private:
  std::optional<std::set<FaultId>> only_;
  ForcedFaults forced_;
  bool records_ = false;
  std::vector<InjectedFault> recorded_;
};

}  // namespace baton::sim
