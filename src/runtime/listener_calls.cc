#include "runtime/listener_calls.h"

#include <cstddef>
#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "base/escape.h"
#include "runtime/application.h"

namespace baton::runtime {
namespace {

void RunListener(Listener& listener, const core::RunCallback& callback) {
  const ShardId shard = callback.shard;
  switch (callback.kind) {
    case core::CallbackKind::kPrepare: return listener.Prepare(shard);
    case core::CallbackKind::kAcquired: return listener.Acquired(shard, callback.term);
    case core::CallbackKind::kReleasing: return listener.Releasing(shard, callback.term);
    case core::CallbackKind::kLost: return listener.Lost(shard, callback.term, callback.reason);
    case core::CallbackKind::kSuspended: return listener.Suspended(shard, callback.term);
    case core::CallbackKind::kResumed: return listener.Resumed(shard, callback.term);
    case core::CallbackKind::kStandby: return listener.Standby(shard);
    case core::CallbackKind::kStandbyEnded: return listener.StandbyEnded(shard);
  }
}

// Runs application code, and catches everything that it throws.
std::optional<std::string> Thrown(const std::function<void()>& function) {
  try {
    function();
    return std::nullopt;
  } catch (const std::exception& exception) {
    const char* const what = exception.what();
    return what != nullptr ? what : "an exception without a text";
  } catch (...) {
    return "something that is not a std::exception";
  }
}

void LogThrown(NodeLog& log, const char* callback, ShardId shard, const std::string& thrown) {
  log.Error("a listener callback threw",
            {{"callback", callback}, {"shard", shard.value}, {"what", thrown}});
}

void Guarded(NodeLog& log, const char* what, ShardId shard, const std::function<void()>& function) {
  if (const auto thrown = Thrown(function)) LogThrown(log, what, shard, *thrown);
}

}  // namespace

ListenerCalls::ListenerCalls(Dispatcher& dispatcher, std::shared_ptr<Listener> listener,
                             std::shared_ptr<StandbyWords> words, NodeLog& log)
    : dispatcher_(dispatcher),
      listener_(std::move(listener)),
      words_(std::move(words)),
      log_(log) {}

void ListenerCalls::Start(const core::RunCallback& callback, Returned returned) {
  dispatcher_.Run(callback.shard, [&log = log_, listener = listener_, words = words_, callback,
                                   returned = std::move(returned)] {
    words->Note(callback);
    const auto thrown = Thrown([&] { RunListener(*listener, callback); });
    // The core reports a failed `acquired`, because it can fail for all shards again and again.
    if (thrown && callback.kind != core::CallbackKind::kAcquired) {
      LogThrown(log, ToString(callback.kind), callback.shard, *thrown);
    }
    returned({callback.operation, callback.shard, !thrown,
              OneLine(thrown.value_or(""), kLongestCallbackError)});
  });
}

void ListenerCalls::Start(const core::ReportTransition& report) {
  const ShardId shard = report.transition->shard;
  dispatcher_.Run(shard, [&log = log_, listener = listener_, report] {
    Guarded(log, "transitioned", report.transition->shard,
            [&] { listener->Transitioned(report.transition); });
  });
}

void ListenerCalls::Start(const core::HaltNode& halt) {
  dispatcher_.Run(ShardId{0}, [&log = log_, listener = listener_, why = halt.why] {
    Guarded(log, "halted", ShardId{0}, [&] { listener->Halted(why); });
  });
}

}  // namespace baton::runtime
