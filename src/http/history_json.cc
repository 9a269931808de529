#include "http/history_json.h"

#include <array>
#include <boost/json.hpp>
#include <charconv>
#include <string_view>

#include "base/escape.h"
#include "base/timestamp.h"
#include "http/cause_json.h"

namespace baton::http {
namespace {

namespace json = boost::json;
using runtime::GapPhases;
using runtime::HistoryEvent;
using runtime::HistoryPage;

std::string Quoted(std::string_view text) {
  return SafeJson(json::serialize(json::string_view(text.data(), text.size())));
}
std::string QuotedOrNull(const std::string& text) { return text.empty() ? "null" : Quoted(text); }

/// In plain notation: 0.02, not 2E-2.
std::string Seconds(std::chrono::nanoseconds duration) {
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(duration);
  std::array<char, 64> text{};
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(),
                    static_cast<double>(micros.count()) / 1e6, std::chars_format::fixed)
          .ptr;
  return {text.data(), end};
}

std::string GapJson(const HistoryEvent& event) {
  const GapPhases& gap = event.gap;
  std::string text = "{";
  const auto add = [&text](const char* name, const auto& phase) {
    if (!phase) return;
    if (text.size() > 1) text += ',';
    text += Quoted(name) + ":" + Seconds(*phase);
  };
  add("detect_at_most_seconds", gap.detect_at_most);
  add("detect_seconds", gap.detect);
  add("elect_seconds", gap.elect);
  add("activate_seconds", gap.activate);
  add("measured_seconds", gap.Measured());
  add("at_most_seconds", runtime::GapAtMost(event.transition, gap));
  return text + "}";
}

}  // namespace

// Built as text, because a page may have 10,000 events.
std::string EventJson(const HistoryEvent& event, const NodeId& observer) {
  const Transition& transition = event.transition;
  std::string text = "{\"seq\":" + std::to_string(event.seq);
  text += ",\"at\":" + Quoted(Timestamp(event.at));
  if (!event.change.empty()) {
    text += ",\"change\":" + Quoted(event.change);
    text += ",\"revision\":" + std::to_string(event.revision.value);
    text += ",\"actor\":" + Quoted(transition.actor);
    return text + ",\"observer\":" + Quoted(observer) + "}";
  }
  text += ",\"shard\":" + std::to_string(transition.shard.value);
  text += ",\"reason\":" + Quoted(ToString(transition.reason));
  text += ",\"from\":" + QuotedOrNull(transition.from);
  text += ",\"to\":" + QuotedOrNull(transition.to);
  text += ",\"term\":" + std::to_string(transition.term.value);
  text += ",\"revision\":" + std::to_string(event.revision.value);
  text += ",\"actor\":" + Quoted(transition.actor);
  text += ",\"cause\":" + SafeJson(json::serialize(CauseValue(transition.cause)));
  text += ",\"gap\":" + GapJson(event);
  return text + ",\"observer\":" + Quoted(observer) + "}";
}

std::string EventsJson(const HistoryPage& page) {
  std::string text = "{\"group\":" + Quoted(page.group);
  text += ",\"node\":" + Quoted(page.node);
  text += ",\"started\":" + Quoted(Timestamp(page.started));
  text += ",\"first\":" + std::to_string(page.first);
  text += ",\"last\":" + std::to_string(page.last);
  text += ",\"reset\":" + std::string(page.reset ? "true" : "false");
  text += ",\"events\":[";
  for (const auto& event : page.events) {
    if (text.back() != '[') text += ',';
    text += EventJson(*event, page.node);
  }
  return text + "]}";
}

}  // namespace baton::http
