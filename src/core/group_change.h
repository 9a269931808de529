// The change of the group's settings that an operator asks for: what has to be written for it, and
// why it can't be made.
//
// Pure functions of the view.
#pragma once

#include <optional>
#include <string>

#include "base/facts.h"
#include "baton/result.h"
#include "core/events.h"
#include "core/options.h"
#include "core/view.h"

namespace baton::core {

/// The settings after the change, or why they make no sense. Messages name them as batonctl does.
Result<FailoverSettings> SettingsAfter(const FailoverSettings& now,
                                       const GroupChangeRequested& asked);

/// What to write next.
struct NextConfig {
  ConfigFact config{};
  /// False: it only raises the schema, with the same meaning, and the settings follow. Versions
  /// that don't know them must be shut out before.
  bool last = true;
};
/// Nullopt: the group has these settings already. An error if it can't be written: the settings
/// make no sense, the config can't be changed, or some member would not keep to them.
Result<std::optional<NextConfig>> NextConfigFor(const View& view, const CoreOptions& options,
                                                const GroupChangeRequested& asked);

/// "failover after, failover-delay 30s, lock-delay 500ms".
std::string SettingWords(const FailoverSettings& settings);

}  // namespace baton::core
