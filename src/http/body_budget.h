// BodyBudget: limits the memory of answers that clients have not read yet. A body that is sent to
// several clients at once counts once.
//
// Not thread-safe. But any thread may release pointers that Hold returned, also after the end of
// this object.
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

  /// Bodies with fewer bytes than this don't count. Even with one such body for each of
  /// kMaxConnections (server.h), they take 16 MiB at most.
  static constexpr std::size_t kSmall = 64 << 10;

  /// `most`: the budget in bytes. Hold takes a further body while fewer bytes than this are
  /// counted. So the last body may exceed the budget.
  explicit BodyBudget(std::size_t most) : most_(most) {}

  /// Returns a pointer to the same body, and counts the body until all copies of this pointer are
  /// gone. Null: the budget is used up. A body below kSmall is always returned, and never counted.
  /// A body that is counted already is always returned, and not counted again. REQUIRES (not
  /// checked): `body` is not null.
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
