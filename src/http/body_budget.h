// BodyBudget: bounds the memory of answers that clients have not read yet. A body that is sent to
// many clients counts once.
//
// Not thread-safe, but a body may be released on any thread.
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

  /// Shorter bodies don't count. If every allowed connection has one, they need 16 MiB together.
  static constexpr std::size_t kSmall = 64 << 10;

  /// `most`: the budget in bytes. The last body that is taken may exceed it.
  explicit BodyBudget(std::size_t most) : most_(most) {}

  /// Returns a pointer to the body, and counts the body until all copies of that pointer are gone.
  /// Null: the budget is used up.
  Body Hold(const Body& body);
  std::size_t bytes() const { return *bytes_; }

 private:
  const std::size_t most_;
  const std::shared_ptr<std::atomic<std::size_t>> bytes_ =
      std::make_shared<std::atomic<std::size_t>>(0);
  std::unordered_map<const std::string*, std::weak_ptr<const std::string>> held_;
};

}  // namespace baton::http
