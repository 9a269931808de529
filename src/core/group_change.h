// A change of the group's settings that an operator asks for: what has to be written, or why the
// change can't be made.
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

/// The settings after the change, or kInvalidArgument with the reason why they make no sense.
/// Messages name the settings as batonctl does.
Result<FailoverSettings> SettingsAfter(const FailoverSettings& now,
                                       const GroupChangeRequested& asked);

/// The config that is written next.
struct NextConfig {
  ConfigFact config{};
  /// False: this write raises the config's schema and keeps the settings, to shut out versions that
  /// don't know the new ones. The settings follow with the next write, without a pause: from this
  /// one on, those versions' claims are refused, because they compare the config as it was.
  bool last = true;
};
/// The next write for the change. Nullopt: the group has these settings already, so nothing is
/// written. Errors:
///  - kInvalidArgument: the settings or rules make no sense.
///  - kUnavailable: there is no config.
///  - kFailedPrecondition: the config does not fit; or a member's version would not keep to the
///    settings; or they are the first with kNever, and a member without a state directory leads
///    shards or may begin to.
Result<std::optional<NextConfig>> NextConfigFor(const View& view, const CoreOptions& options,
                                                const GroupChangeRequested& asked);

/// For messages: "failover after, failover-delay 30s, lock-delay 500ms".
std::string SettingWords(const FailoverSettings& settings);
/// That many rules in words, for the history and audits: "placement 3 rules", "placement no rules".
std::string PlacementWords(std::size_t rules);

}  // namespace baton::core
