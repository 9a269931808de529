// The ledger of one client: it checks every answer against the client's own requests.
//
// Nobody else writes these keys. An acknowledged write must be there, once, and in order. The
// outcome of a failed request is unknown: it may have been carried out, may still be, or never will
// be.
//
// Used by one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

namespace kv {

/// A counter that only this client increments, by one each time.
class Counter {
 public:
  /// An increment was acknowledged with this value. Returns what is wrong; empty: nothing.
  std::string Acknowledged(std::int64_t value);
  void Failed() { ++unknown_; }
  /// A read returned this value. Returns what is wrong; empty: nothing.
  std::string Read(std::int64_t value);

 private:
  std::int64_t last_ = 0;     ///< the greatest value known
  std::int64_t unknown_ = 0;  ///< failed increments that `last_` doesn't contain
};

/// A register that only this client writes, with growing numbers.
class Register {
 public:
  /// The next number to write.
  std::int64_t Next() { return ++next_; }
  void Acknowledged(std::int64_t number) { acknowledged_ = number; }
  void Failed(std::int64_t number) { unknown_.insert(number); }
  /// A read returned this value; nullopt: no such key. Returns what is wrong; empty: nothing.
  std::string Read(std::optional<std::int64_t> number) const;

 private:
  std::int64_t next_ = 0;
  std::int64_t acknowledged_ = 0;
  std::set<std::int64_t> unknown_;
};

}  // namespace kv
