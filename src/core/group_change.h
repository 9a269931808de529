// NextConfigFor: returns the config to write for an operator's change of the group's settings, or
// why the change can't be made.
//
// Pure functions of the view, for OperatorRequests.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/facts.h"
#include "baton/result.h"
#include "core/events.h"
#include "core/options.h"
#include "core/view.h"

namespace baton::core {

/// Returns the settings after the change. The only error is kInvalidArgument: these settings make
/// no sense (GroupChangeRequested has the rules). The message says why, and names the settings as
/// batonctl does. Ignores `asked.placement`.
Result<FailoverSettings> SettingsAfter(const FailoverSettings& now,
                                       const GroupChangeRequested& asked);

/// The config that is written next.
struct NextConfig {
  ConfigFact config{};
  /// True: this write makes the change. False: this write keeps the settings, and raises the
  /// config's schema. After that, versions that don't know the new settings can't claim shards any
  /// more. A second write, which makes the change, follows without a pause.
  bool last = true;
};
/// Returns the next write for the change. Nullopt: the group has these settings already, so nothing
/// is written. Ignores `asked.dry_run`. Errors:
///  - kUnavailable: there is no config.
///  - kInvalidArgument: the settings or rules make no sense.
///  - kFailedPrecondition: the config does not fit (CheckGroupConfig).
///  - kFailedPrecondition: some member's version does not know such settings. A member whose record
///    can't be read counts as such a member.
///  - kFailedPrecondition: the change makes the policy kNever, and some member without a known
///    state directory leads shards or could begin to. A member could begin to if its weight is
///    above 0 and no operator drains it.
///
/// REQUIRES (not checked): the view is complete.
Result<std::optional<NextConfig>> NextConfigFor(const View& view, const CoreOptions& options,
                                                const GroupChangeRequested& asked);

/// For messages: "failover after, failover-delay 30s, lock-delay 500ms".
std::string SettingWords(const FailoverSettings& settings);
/// The number of rules in words, for the history and for audits: "placement 3 rules", "placement no
/// rules".
std::string PlacementWords(std::size_t rules);

}  // namespace baton::core
