// Result<T>: a value, or an Error that says what is wrong and what to do.
//
//   baton::Result<baton::TermCompare> compare = baton::CompareTerm(prefix, "orders", shard, term);
//   if (!compare) return Fail(compare.error().message);
//   Add(compare->key, compare->mod_revision);
//
// An Error says which argument is invalid, or what failed outside of the caller's code. A call that
// breaks a REQUIRES gives no Error: it aborts the program, or throws if its comment says so. If
// Baton can't check the REQUIRES, the effects are undefined. A missing option that is marked
// REQUIRED is no broken REQUIRES: it gives kInvalidArgument.
//
// A Result is a plain value. Several threads may read it at once, but not while another thread
// changes it.
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "baton/export.h"

namespace baton {

enum class ErrorCode {
  kInvalidArgument,     ///< an argument is invalid; the same call will fail again
  kNotFound,            ///< no such shard, node, move, group or program
  kFailedPrecondition,  ///< the present state does not allow the call; the message says why
  kUnavailable,         ///< etcd, the node or the router is not reachable, not ready, or stopped
  kTimedOut,            ///< the time is over; the call may still take effect: read before you retry
  kInternal,            ///< a fault in Baton itself, or the system lacks a resource
  kStaleTerm,           ///< a newer leadership of the shard has begun: stop writing
  kUnimplemented,       ///< this server does not offer the call; the message says which server does
};

/// The code in words, for example "invalid argument". Never null.
BATON_EXPORT const char* ToString(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;  ///< one line: what is wrong, what was expected, what to do
};

/// A value or an Error. If there is an Error, value() throws std::bad_variant_access. If there is a
/// value, error() throws it.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : content_(std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : content_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  /// Whether there is a value.
  bool ok() const { return content_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() & { return std::get<0>(content_); }
  const T& value() const& { return std::get<0>(content_); }
  T&& value() && { return std::get<0>(std::move(content_)); }
  const Error& error() const { return std::get<1>(content_); }

  // Short forms of value(): *result, result->member, (*result)->Method() if the value is a pointer.
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::variant<T, Error> content_;
};

/// The Result of a call that returns no value.
using Status = Result<std::monostate>;
inline Status Ok() { return Status(std::monostate{}); }

}  // namespace baton
