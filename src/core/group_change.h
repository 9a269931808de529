// NextConfigFor: decides what has to be written for the change of the group's settings that an
// operator asks for, or why the change can't be made.
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
/// batonctl does. Does not look at `asked.placement`.
Result<FailoverSettings> SettingsAfter(const FailoverSettings& now,
                                       const GroupChangeRequested& asked);

/// The config that is written next.
struct NextConfig {
  ConfigFact config{};
  /// True: this write makes the change. False: this write keeps the settings, and only raises the
  /// config's schema, to shut out versions that don't know the new settings. Once it is done, etcd
  /// refuses the claims of those versions, because these claims compare the config as it was. So
  /// the next write, which makes the change, follows without a pause.
  bool last = true;
};
/// Returns the next write for the change. Nullopt: the group has these settings already, so nothing
/// is written. Ignores `asked.dry_run`. Errors:
///  - kUnavailable: there is no config.
///  - kInvalidArgument: the settings or rules make no sense.
///  - kFailedPrecondition, in three cases. (1) The config does not fit (CheckGroupConfig). (2) The
///    version of some member would not keep to the settings, or is not known, because the member's
///    record can't be read. (3) The change makes the policy kNever, and some member leads shards or
///    may begin to, but is not known to have a state directory. A member may begin to lead if it
///    has a weight and no operator drains it.
///
/// REQUIRES: the view is complete. Otherwise members may be missing from the checks.
Result<std::optional<NextConfig>> NextConfigFor(const View& view, const CoreOptions& options,
                                                const GroupChangeRequested& asked);

/// For messages: "failover after, failover-delay 30s, lock-delay 500ms".
std::string SettingWords(const FailoverSettings& settings);
/// The number of rules in words, for the history and audits: "placement 3 rules", "placement no
/// rules".
std::string PlacementWords(std::size_t rules);

}  // namespace baton::core
