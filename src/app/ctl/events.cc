#include "app/ctl/events.h"

#include <chrono>
#include <cstdio>
#include <iostream>
#include <utility>

#include <fmt/format.h>

#include "app/ctl/client.h"
#include "app/ctl/interrupt.h"
#include "app/ctl/output.h"
#include "app/ctl/tables.h"
#include "base/timestamp.h"
#include "http/history_json.h"

namespace baton::app {
namespace {

using runtime::HistoryEvent;
using runtime::HistoryPage;

constexpr std::chrono::milliseconds kTryAgain{500};

TimePoint CallDeadline(const CtlOptions& options) {
  return BootClock::now() + options.timeout.value_or(kCallTimeout);
}

/// kNotFound: the group has no such shard. Succeeds if the node doesn't know the count yet.
Status CheckShard(AdminClient& client, std::optional<ShardId> shard, TimePoint deadline) {
  if (!shard) return Ok();
  const auto answer = client.GetStatus(false, deadline);
  if (!answer) return answer.error();
  const runtime::NodeStatus& status = answer.value().status;
  if (status.shard_count == 0 || shard->value < status.shard_count) return Ok();
  return Error{ErrorCode::kNotFound,
               fmt::format("no shard {}: group {} has shards 0 to {}", shard->value, status.group,
                           status.shard_count - 1)};
}

std::string WhatIsKept(const HistoryPage& page) {
  return fmt::format("node {} keeps events {} to {} of its process since {}", page.node, page.first,
                     page.last, Timestamp(page.started));
}

/// With a shard it is not known whether the missing events were that shard's.
void SayWhatIsMissing(const HistoryPage& page, std::optional<ShardId> shard) {
  const char* const what = shard ? "older ones may be missing: " : "older ones are missing: ";
  Say(what + WhatIsKept(page));
}

/// Explains a reset: this process never had the event `after`, or the next one is gone.
void SayReset(const HistoryPage& page, std::uint64_t after, std::optional<ShardId> shard) {
  if (after + 1 < page.first) return SayWhatIsMissing(page, shard);
  Say(fmt::format(
      "number {} is of an earlier process, or another node: {}; going on from the oldest", after,
      WhatIsKept(page)));
}

/// One event as a line. Events come one by one, so columns are as wide as most values are.
std::string LineOf(const HistoryEvent& event) {
  const Transition& transition = event.transition;
  if (!event.change.empty()) {
    return fmt::format("{:<24} {:>6}  {}  by {}", Timestamp(event.at), "-", event.change,
                       transition.actor);
  }
  const auto name = [](const NodeId& node) { return node.empty() ? std::string("-") : node; };
  char text[160];
  std::snprintf(text, sizeof text, "%-24s %6u  ", Timestamp(event.at).c_str(),
                transition.shard.value);
  std::string line = text;
  const std::string way = name(transition.from) + " -> " + name(transition.to);
  std::snprintf(text, sizeof text, "  %-16s term %-10lld gap %s", ToString(transition.reason),
                static_cast<long long>(transition.term.value),
                GapWord(transition, event.gap).c_str());
  line += way + std::string(way.size() < 16 ? 16 - way.size() : 0, ' ') + text;
  if (!transition.actor.empty()) line += "  by " + transition.actor;
  const std::string cause = CauseWords(transition.cause);
  return cause.empty() ? line : line + "  (" + cause + ")";
}

void PrintEvents(const CtlOptions& options, const HistoryPage& page) {
  for (const auto& event : page.events) {
    if (options.structured()) {
      if (options.format == Format::kYaml) PrintLine("---");
      PrintStructured(options, http::EventJson(*event, page.node));
    } else {
      PrintLine(LineOf(*event));
    }
  }
}

ExitCode EndOfFollowing(const Error& error) {
  if (Interrupt::Happened()) return ExitCode::kInterrupted;  // the normal end, without a message
  return Fail(error);
}

Error TimeIsUp() { return {ErrorCode::kTimedOut, "timed out: the time of --timeout is over"}; }

/// Follows a node's events. If the node goes away, it is asked again for the events after the last
/// one printed. An error of the first call ends the command. --timeout bounds all calls together.
ExitCode Follow(const CtlOptions& options, const EventsOptions& events) {
  AdminClient client(options);
  AdminClient::Watch watch{.after = events.after, .started = {}, .shard = events.shard};
  const TimePoint first = CallDeadline(options);
  const TimePoint deadline = options.timeout ? first : TimePoint::max();
  const Status known = CheckShard(client, events.shard, first);
  if (!known) return EndOfFollowing(known.error());
  bool heard = false;
  bool told = false;
  bool written = true;
  while (true) {
    const Error end = client.WatchEvents(watch, deadline, [&](const HistoryPage& page, bool reset) {
      if (std::exchange(told, false)) Say("following node " + page.node + " again");
      if (reset) SayReset(page, watch.after.value_or(0), events.shard);
      PrintEvents(options, page);
      if (!std::cout && !Interrupt::Happened()) {
        written = false;
        Interrupt::Raise();  // ends the call
      }
      heard = true;
      watch.started = page.started;
      watch.after = page.upto;
    });
    if (!written) {
      Say("cannot write to stdout: stopped following");
      return ExitCode::kFailed;
    }
    const bool goes_on = heard && end.code == ErrorCode::kUnavailable && !Interrupt::Happened();
    if (heard && BootClock::now() >= deadline) return EndOfFollowing(TimeIsUp());
    if (!goes_on) return EndOfFollowing(end);
    if (!std::exchange(told, true)) Say(end.message + "; trying again");
    Interrupt::Sleep(kTryAgain);
  }
}

}  // namespace

ExitCode ShowHistory(const CtlOptions& options, std::optional<ShardId> shard) {
  AdminClient client(options);
  const TimePoint deadline = CallDeadline(options);
  const Status known = CheckShard(client, shard, deadline);
  if (!known) return Fail(known.error());
  const auto page = client.ListEvents({.shard = shard}, deadline);
  if (!page) return Fail(page.error());
  if (options.structured()) {
    PrintStructured(options, http::EventsJson(page.value()));
    return ExitCode::kDone;
  }
  if (page.value().first > 1) SayWhatIsMissing(page.value(), shard);
  if (page.value().events.empty()) {
    Say(fmt::format("node {} has seen no {} since {}", page.value().node,
                    shard ? "transition of this shard" : "event", Timestamp(page.value().started)));
  } else {
    PrintTable(options, EventsTable(page.value(), options.format == Format::kWide));
  }
  return ExitCode::kDone;
}

ExitCode ShowEvents(const CtlOptions& options, const EventsOptions& events) {
  if (events.follow) return Follow(options, events);
  AdminClient client(options);
  const TimePoint deadline = CallDeadline(options);
  const Status known = CheckShard(client, events.shard, deadline);
  if (!known) return Fail(known.error());
  const std::uint64_t after = events.after.value_or(0);
  const auto page = client.ListEvents({.after = after, .shard = events.shard}, deadline);
  if (!page) return Fail(page.error());
  if (page.value().reset) {
    SayReset(page.value(), after, events.shard);
  } else if (page.value().first > after + 1) {
    SayWhatIsMissing(page.value(), events.shard);
  }
  PrintEvents(options, page.value());
  return ExitCode::kDone;
}

}  // namespace baton::app
