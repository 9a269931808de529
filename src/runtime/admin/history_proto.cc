#include "runtime/admin/history_proto.h"

#include "runtime/admin/proto_time.h"
#include "runtime/admin/status_proto.h"

namespace baton::runtime {
namespace {

using Phase = std::optional<std::chrono::nanoseconds>;

void SetGap(const GapPhases& gap, v1::EventGap* out) {
  if (gap.detect_at_most) *out->mutable_detect_at_most() = DurationOf(*gap.detect_at_most);
  if (gap.detect) *out->mutable_detect() = DurationOf(*gap.detect);
  if (gap.elect) *out->mutable_elect() = DurationOf(*gap.elect);
  if (gap.activate) *out->mutable_activate() = DurationOf(*gap.activate);
}

GapPhases PhasesOf(const v1::EventGap& gap) {
  const auto phase = [](bool known, const google::protobuf::Duration& duration) {
    return known ? Phase(NanosecondsOf(duration)) : Phase();
  };
  return {.detect_at_most = phase(gap.has_detect_at_most(), gap.detect_at_most()),
          .detect = phase(gap.has_detect(), gap.detect()),
          .elect = phase(gap.has_elect(), gap.elect()),
          .activate = phase(gap.has_activate(), gap.activate())};
}

std::shared_ptr<const HistoryEvent> EventOf(const v1::Event& message) {
  v1::TransitionStatus words;  // the fields that it shares with transitions
  words.set_shard(message.shard());
  words.set_reason(message.reason());
  words.set_from(message.from());
  words.set_to(message.to());
  words.set_term(message.term());
  words.set_actor(message.actor());
  if (message.has_cause()) *words.mutable_cause() = message.cause();
  auto event = std::make_shared<HistoryEvent>();
  event->seq = message.seq();
  event->at = TimeOf(message.at());
  event->transition = FromProto(words);
  event->revision = Revision{message.revision()};
  event->gap = PhasesOf(message.gap());
  event->change = message.change();
  return event;
}

template <typename Message>
void PageToProto(const HistoryPage& page, Message* out) {
  out->set_group(page.group);
  out->set_node(page.node);
  *out->mutable_started() = TimestampOf(page.started);
  out->set_first(page.first);
  out->set_last(page.last);
  out->set_upto(page.upto);
  out->set_reset(page.reset);
  for (const auto& event : page.events) *out->add_events() = ToProto(*event);
}

template <typename Message>
HistoryPage PageOf(const Message& message) {
  HistoryPage page{.group = message.group(),
                   .node = message.node(),
                   .started = TimeOf(message.started()),
                   .first = message.first(),
                   .last = message.last(),
                   .events = {},
                   .upto = message.upto(),
                   .reset = message.reset()};
  for (const v1::Event& event : message.events()) page.events.push_back(EventOf(event));
  return page;
}

}  // namespace

v1::Event ToProto(const HistoryEvent& event) {
  v1::Event out;
  out.set_seq(event.seq);
  *out.mutable_at() = TimestampOf(event.at);
  if (!event.change.empty()) {
    out.set_change(event.change);
    out.set_actor(event.transition.actor);
    out.set_revision(event.revision.value);
    return out;
  }
  const v1::TransitionStatus words = ToProto(event.transition);
  out.set_shard(words.shard());
  out.set_reason(words.reason());
  out.set_from(words.from());
  out.set_to(words.to());
  out.set_term(words.term());
  out.set_revision(event.revision.value);
  out.set_actor(words.actor());
  if (words.has_cause()) *out.mutable_cause() = words.cause();
  SetGap(event.gap, out.mutable_gap());
  return out;
}

void ToProto(const HistoryPage& page, v1::ListEventsResponse* out) { PageToProto(page, out); }
void ToProto(const HistoryPage& page, v1::WatchEventsResponse* out) { PageToProto(page, out); }
HistoryPage FromProto(const v1::ListEventsResponse& message) { return PageOf(message); }
HistoryPage FromProto(const v1::WatchEventsResponse& message) { return PageOf(message); }

}  // namespace baton::runtime
