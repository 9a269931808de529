// An application in another process as tests need one: attaches to a sidecar over gRPC, keeps the
// rules of sidecar.proto, answers at once unless told not to, and remembers what it was told.
//
// Thread-safe. Waits have a bound of 60 s.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"

namespace baton::test {

struct ApplicationOptions {
  std::string address;
  std::string group = {};
  std::string token = {};
  std::set<std::string> silent = {};  ///< kinds that get no answer, for example "releasing"
  bool reads = true;                  ///< false: attaches, and reads no more after the welcome
};

/// How a stream ended: gRPC's code and line.
struct StreamEnd {
  int code = 0;
  std::string message;
};

class Application {
 public:
  using Told = std::map<std::uint32_t, std::vector<std::string>>;

  /// Attaches; returns at once.
  explicit Application(ApplicationOptions options);
  /// As Disconnect.
  ~Application();
  Application(const Application&) = delete;
  Application& operator=(const Application&) = delete;

  /// Ends the stream without a word.
  void Disconnect();
  /// Answers an operation that nobody asked for, or none.
  void AnswerAnyway(std::uint64_t operation);
  /// Reads on, where `reads` was false.
  void Read();

  /// The token of the welcome; waits for it. Empty: the stream ended before.
  std::string AwaitToken();
  bool resumed() const;
  /// Waits for the stream's end.
  std::optional<StreamEnd> AwaitEnd();
  /// Waits until `done` holds for what each shard was told: "acquired 12", "releasing 12", ...
  bool Await(const std::function<bool(const Told&)>& done);
  Told told() const;
  /// What it may act on by the rules, with terms, whatever the time is.
  std::map<std::uint32_t, std::int64_t> Led() const;
  /// The last deadline it was told.
  TimePoint deadline() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace baton::test
