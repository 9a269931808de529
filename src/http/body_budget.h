// BodyBudget: bounds the memory of answers that clients have not read yet. A body that is sent to
// several clients at once counts once.
//
// Not thread-safe, with one exception: pointers that Hold returned may be released on any thread,
// also after the end of this object.
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

  /// Bodies with fewer bytes than this don't count. If each of kMaxConnections (server.h) has one,
  /// these are 16 MiB at most.
  static constexpr std::size_t kSmall = 64 << 10;

  /// `most`: the budget in bytes. Hold takes a body while less than this is in use, so one body may
  /// exceed the budget.
  explicit BodyBudget(std::size_t most) : most_(most) {}

  /// Returns a pointer to the same body, and counts the body until all copies of the returned
  /// pointer are gone. A body that is counted already is not counted again, and is always returned.
  /// So are bodies below kSmall, which are never counted. Null: the budget is used up. REQUIRES:
  /// `body` is not null.
  Body Hold(const Body& body);
  /// The bytes of all counted bodies.
  std::size_t bytes() const { return *bytes_; }

 private:
  const std::size_t most_;
  const std::shared_ptr<std::atomic<std::size_t>> bytes_ =
      std::make_shared<std::atomic<std::size_t>>(0);
  std::unordered_map<const std::string*, std::weak_ptr<const std::string>> held_;
};

}  // namespace baton::http
