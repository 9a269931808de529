#include "core/config_keeper.h"

#include <algorithm>
#include <utility>

#include "base/duration_text.h"
#include "core/options.h"

namespace baton::core {
namespace {

constexpr Duration kMendStep = std::chrono::milliseconds(100);
constexpr int kMaxMendSteps = 50;
constexpr Duration kFirstMendPause = std::chrono::seconds(1);
constexpr Duration kMaxMendPause = std::chrono::minutes(1);
constexpr int kMaxInARow = 16;
/// Bad writes that follow each other sooner than this are counted as one series.
constexpr Duration kSeries = std::chrono::minutes(10);

/// Says for the log what the bad write left.
std::string WhatIsThere(const ConfigFact& found, const ConfigFact& known) {
  if (!found.present) return "was deleted";
  if (found.readability != Readability::kReadable) return "can't be read any more";
  if (found.shards != known.shards) {
    return "says " + std::to_string(found.shards) + " shards now, instead of " +
           std::to_string(known.shards);
  }
  if (found.hash != known.hash) {
    return std::string("says hash '") + ToString(found.hash) + "' now, instead of '" +
           ToString(known.hash) + "'";
  }
  return "says etcd cluster " + std::to_string(found.cluster_id) + " now, instead of " +
         std::to_string(known.cluster_id);
}

void SayFailover(Context& context, const FailoverSettings& failover) {
  std::string text = std::string("the group's failover is ") + ToString(failover.policy);
  if (failover.policy == FailoverPolicy::kAfter) {
    text += " " + FormatDuration(failover.delay);
  }
  text += ", its lock delay " + FormatDuration(failover.lock_delay);
  context.Say(Notice::Level::kInfo, std::move(text));
  if (failover.policy != FailoverPolicy::kNever || context.options.self.directory != 0) return;
  context.Say(Notice::Level::kWarning,
              "this node has no state directory: after a crash it can't take back what it leads, "
              "and nobody else may; give it one");
}

/// How many live members come before this node.
int PlaceOf(const Context& context) {
  int place = 0;
  for (const auto& [node, member] : context.view.members()) {
    if (node == context.self() || place == kMaxMendSteps) break;
    if (member.Live()) ++place;
  }
  return place;
}

/// Whether this node was a member before the config changed, and still is one: then no recovery
/// has changed it.
bool WasMember(const Context& context, const ConfigFact& found) {
  return context.session.member() && !context.session.LostBy(context.view) &&
         context.session.guard().create_revision < found.revision;
}

/// Whether other nodes have sessions, so that they knew the config.
bool OthersAreMembers(const Context& context) {
  const auto& members = context.view.members();
  return std::any_of(members.begin(), members.end(), [&](const auto& entry) {
    const MemberFact& member = entry.second;
    return entry.first != context.self() && member.present && member.lease.value != 0;
  });
}

}  // namespace

void ConfigKeeper::On(TimePoint now) {
  in_flight_ = false;
  not_before_ = now + kMaxRetryPause;
}

std::optional<Error> ConfigKeeper::Advance(Context& context) {
  const ConfigFact& found = context.view.config();
  const GroupExpectation expected{
      .reader = ConfigReader::kNode,
      .key = context.options.config_key,
      .answering = cluster_id_,
      .shape = GroupShape{.shards = context.options.shards, .hash = context.options.hash}};
  const std::optional<Error> wrong =
      found.present ? CheckGroupConfig(found, expected) : std::nullopt;
  fits_ = found.present && !wrong;
  if (fits_) {
    Accept(context, found);
    return std::nullopt;
  }
  const bool same_etcd = known_ && (cluster_id_ == 0 || cluster_id_ == known_->cluster_id);
  if (!same_etcd || OfNewerSchema(found)) {
    if (!wrong && known_) return CheckGroupConfig(*known_, expected);  // names both clusters
    if (!wrong) CreateFirst(context);
    return wrong;
  }
  const bool member = WasMember(context, found);
  if (!member && ClosedByRecovery(found)) return wrong;
  NoteBad(context, found);
  if (member) {
    Mend(context, found);
    return std::nullopt;
  }
  if (wrong) return Wait(context, *wrong);
  Create(context);
  return std::nullopt;
}

void ConfigKeeper::Accept(Context& context, const ConfigFact& config) {
  if ((known_ ? known_->failover : FailoverSettings{}) != config.failover) {
    SayFailover(context, config.failover);
  }
  known_ = config;
  said_missing_ = false;
  if (!std::exchange(bad_, std::nullopt)) return;
  context.Say(Notice::Level::kInfo, "the key '" + context.options.config_key + "' is right again");
}

void ConfigKeeper::NoteBad(Context& context, const ConfigFact& found) {
  const Revision revision = found.present ? found.revision : Revision{};
  if (bad_ == revision) return;
  const bool in_series = context.now < last_bad_ + kSeries;
  bad_in_a_row_ = in_series ? std::min(bad_in_a_row_ + 1, kMaxInARow) : 1;
  bad_ = revision;
  bad_since_ = last_bad_ = context.now;
  not_before_ = TimePoint{};
  const bool goes_on = WasMember(context, found);
  context.Say(Notice::Level::kError,
              "the key '" + context.options.config_key + "' " + WhatIsThere(found, *known_) +
                  (goes_on ? "; this node goes on, and the group puts it back"
                           : "; this node opens no session until it is right again"));
}

// While others are members, the config is missing by mistake, and they put it back. This node does
// not know what it said. A change of the members steps the core again.
void ConfigKeeper::CreateFirst(Context& context) {
  if (!OthersAreMembers(context)) return Create(context);
  if (std::exchange(said_missing_, true)) return;
  context.Say(
      Notice::Level::kWarning,
      "the key '" + context.options.config_key +
          "' is missing, but the group has members; this node waits until they put it back");
}

void ConfigKeeper::Create(Context& context) {
  if (in_flight_) return;
  if (context.now < not_before_) return context.WakeAt(not_before_);
  ConfigFact config;
  config.present = true;
  config.shards = context.options.shards;
  config.hash = context.options.hash;
  config.schema = kSchema;
  config.cluster_id = cluster_id_;
  if (known_) {
    config.schema = LastFitting(context).schema;
    config.failover = LastFitting(context).failover;
    config.placement = LastFitting(context).placement;
    config.actor = LastFitting(context).actor;
    config.unknown_fields = LastFitting(context).unknown_fields;
  }
  context.Submit(WriteOwner::kConfig, ConfigCreate{config});
  in_flight_ = true;
}

// While the config does not fit, a node without a session reads everything again each TTL. A node
// that is cut off from etcd can't know whether the config is right again.
std::optional<Error> ConfigKeeper::Wait(const Context& context, const Error& wrong) const {
  if (context.view.read_began_after() >= bad_since_ + kConfigPatience) return wrong;
  return std::nullopt;
}

Duration ConfigKeeper::MendPause() const {
  if (bad_in_a_row_ <= 1) return Duration{0};
  return std::min(kMaxMendPause, kFirstMendPause * (1 << (bad_in_a_row_ - 2)));
}

// The view may have merged a good config and the bad one that followed in one step.
const ConfigFact& ConfigKeeper::LastFitting(const Context& context) const {
  const ConfigFact& seen = context.view.fitting_config();
  return seen.present && seen.revision > known_->revision ? seen : *known_;
}

void ConfigKeeper::Mend(Context& context, const ConfigFact& found) {
  if (in_flight_) return;
  const TimePoint at =
      std::max(not_before_, bad_since_ + MendPause() + PlaceOf(context) * kMendStep);
  if (context.now < at) return context.WakeAt(at);
  ConfigFact config = LastFitting(context);
  config.before_settings = {};
  context.Submit(WriteOwner::kConfig,
                 ConfigMend{.config = std::move(config),
                            .read = found.present ? found.revision : Revision{},
                            .guard = context.session.guard()});
  in_flight_ = true;
}

}  // namespace baton::core
