// BodyBudget: the bytes of answers that clients have yet to read.
//
// A body that many clients read counts once.
//
// Not thread-safe, but bodies may be let go on any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <unordered_map>

namespace baton::http {

class BodyBudget {
 public:
  using Body = std::shared_ptr<const std::string>;

  /// Shorter bodies don't count. With as many connections as there may be they need 16 MiB.
  static constexpr std::size_t kSmall = 64 << 10;

  /// `most`: bytes. One body may be longer.
  explicit BodyBudget(std::size_t most) : most_(most) {}

  /// Counts the body until the returned one is let go. Null: the budget is used up.
  Body Hold(const Body& body);
  std::size_t bytes() const { return *bytes_; }

 private:
  const std::size_t most_;
  const std::shared_ptr<std::atomic<std::size_t>> bytes_ =
      std::make_shared<std::atomic<std::size_t>>(0);
  std::unordered_map<const std::string*, std::weak_ptr<const std::string>> held_;
};

}  // namespace baton::http
