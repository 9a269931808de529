// For tests of an attachment: a clock that the test moves, and a reader of its stream.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "sidecar/attachment.h"

namespace baton::sidecar {

/// Thread-safe.
class HandClock final : public Clock {
 public:
  TimePoint Now() const override { return TimePoint(Duration(now_.load())); }
  void Add(Duration length) { now_ += length.count(); }

 private:
  std::atomic<Duration::rep> now_{Duration(std::chrono::seconds(1000)).count()};
};

/// Keeps the messages that it takes as lines. `reads` false: its first write does not end.
class Reader final : public Stream {
 public:
  explicit Reader(Attachment& attachment) : attachment_(attachment) {}
  void Kick() override {
    while (reads) {
      const auto message = attachment_.Take(*this);
      if (!message) return;
      if (message->has_welcome()) welcome = message->welcome();
      for (const v1::AttachEvent& event : message->events()) {
        std::string line = v1::AttachEvent::Kind_Name(event.kind()).substr(5) + " " +
                           std::to_string(event.shard()) + " " + std::to_string(event.term());
        if (event.operation() != 0) line += " #" + std::to_string(event.operation());
        lines.push_back(std::move(line));
      }
      if (message->deadline().boottime_ns() != 0)
        deadline = TimePoint(Duration(message->deadline().boottime_ns()));
    }
  }
  void End(Refusal why) override { ended = std::move(why); }

  bool reads = true;
  std::optional<v1::AttachWelcome> welcome;
  std::vector<std::string> lines;
  TimePoint deadline = TimePoint::min();
  std::optional<Refusal> ended;

 private:
  Attachment& attachment_;
};

}  // namespace baton::sidecar
