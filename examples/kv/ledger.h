// What one client knows of its own keys: every answer it gets is checked against what it did.
//
// Nobody else writes these keys. An acknowledged write must be there, once, and in order. A request
// that failed is unknown: it may have been carried out, may yet be, or may never be.
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
  /// An increment was acknowledged with this value. Empty, or what is wrong.
  std::string Acknowledged(std::int64_t value);
  void Failed() { ++unknown_; }
  /// What a read said.
  std::string Read(std::int64_t value);

 private:
  std::int64_t last_ = 0;     ///< the greatest value known
  std::int64_t unknown_ = 0;  ///< failed increments that are not seen in it
};

/// A register that only this client puts, with numbers that grow.
class Register {
 public:
  /// The number to put next.
  std::int64_t Next() { return ++next_; }
  void Acknowledged(std::int64_t number) { acknowledged_ = number; }
  void Failed(std::int64_t number) { unknown_.insert(number); }
  /// What a read said; nullopt: no such key. Empty, or what is wrong.
  std::string Read(std::optional<std::int64_t> number) const;

 private:
  std::int64_t next_ = 0;
  std::int64_t acknowledged_ = 0;
  std::set<std::int64_t> unknown_;
};

}  // namespace kv
