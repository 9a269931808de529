// Result<T>: a value, or an Error that says what is wrong, what was expected and what to do.
//
// C++20 has no std::expected, and public headers depend on nothing but the standard library.
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "baton/export.h"

namespace baton {

enum class ErrorCode {
  kInvalidArgument,     ///< the caller's words are off; calling again with the same is useless
  kNotFound,            ///< no such shard, node, move
  kFailedPrecondition,  ///< the state is not (or no longer) the one the call needs
  kUnavailable,         ///< etcd or the node can't be reached; try again later
  kTimedOut,            ///< the outcome is unknown: read before trying again
  kInternal,            ///< a broken expectation of Baton's own
  kStaleTerm,           ///< a newer leadership has begun: give the shard up
  kUnimplemented,       ///< not served here: the message says who does
};

/// "invalid argument", "not found", ...
BATON_EXPORT const char* ToString(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;  ///< one line: what is wrong, what was expected, what to do
};

/// A value or an Error. Accessors REQUIRE the right alternative (std::get throws otherwise).
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : content_(std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : content_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return content_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() & { return std::get<0>(content_); }
  const T& value() const& { return std::get<0>(content_); }
  T&& value() && { return std::get<0>(std::move(content_)); }
  const Error& error() const { return std::get<1>(content_); }

 private:
  std::variant<T, Error> content_;
};

/// The Result of something that has no value to give.
using Status = Result<std::monostate>;
inline Status Ok() { return Status(std::monostate{}); }

}  // namespace baton
