// An application in another process, for tests: it attaches to a sidecar over gRPC, follows the
// rules of sidecar.proto, answers at once unless told not to, and remembers what it was sent.
//
// Thread-safe. Waits last for at most 60 s, if their bound does not say otherwise.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/pem.h"

namespace baton::test {

struct ApplicationOptions {
  std::string address;
  std::string group = {};
  std::string token = {};
  std::set<std::string> silent =
      {};                    ///< kinds of events that get no answer, for example "releasing"
  std::string failure = {};  ///< if not empty: it fails all "acquired", and says this
  bool reads = true;         ///< false: it reads nothing after the welcome
  /// It answers one "acquired" before it falls silent or stops reading. A node that has not seen an
  /// activation succeed tries only a few.
  bool succeeds_once = false;
  PemTexts tls = {};  ///< with a `ca` it expects TLS
  /// A connected socket, which the application takes over; -1: it connects by itself. Without TLS.
  int connection = -1;
};

/// How a stream ended: gRPC's code and message.
struct StreamEnd {
  int code = 0;
  std::string message;
};

class Application {
 public:
  using Told = std::map<std::uint32_t, std::vector<std::string>>;

  /// Begins to attach; returns at once.
  explicit Application(ApplicationOptions options);
  /// Calls Disconnect.
  ~Application();
  Application(const Application&) = delete;
  Application& operator=(const Application&) = delete;

  /// Ends the stream without an answer.
  void Disconnect();
  /// Answers an operation that nobody asked for.
  void AnswerAnyway(std::uint64_t operation);
  /// Says in one message that it is ready as `count` standbys that nobody asked for.
  void SayReadyAnyway(int count);
  /// Sends a message with so many bytes that nobody needs.
  void SendPadding(std::size_t bytes);
  /// Begins to read, if `reads` was false.
  void Read();

  /// Waits for the welcome, and returns its token. Empty: the stream ended before.
  std::string AwaitToken();
  bool resumed() const;
  /// Waits for the stream's end.
  std::optional<StreamEnd> AwaitEnd();
  /// Waits until `done` holds for the events of each shard: "acquired 12", "releasing 12", ...
  bool Await(const std::function<bool(const Told&)>& done,
             Duration bound = std::chrono::seconds(60));
  Told told() const;
  /// The shards that it may act on by the rules, with their terms, ignoring the deadline.
  std::map<std::uint32_t, std::int64_t> Led() const;
  /// The last deadline that it was sent.
  TimePoint deadline() const;
  /// Waits for this deadline.
  bool AwaitDeadline(TimePoint deadline);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace baton::test
