// ShardStore: one shard's data in a SQLite file. Every node could open it, but only the shard's
// leader writes to it.
//
// The fence is in the file: each write first raises the shard's term, in the same transaction. So a
// former leader changes nothing. The same transaction stores the request's id with its answer,
// which makes retries harmless.
//
// One thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <baton/types.h>

#include "database.h"

namespace kv {

/// Thrown if a newer leadership has written to the file: give the shard up.
struct StaleTerm : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// Thrown if the request doesn't fit the stored value.
struct BadValue : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The leadership that writes, and the request's id. An empty id is not stored.
struct Writer {
  baton::Term term;
  std::string request_id;
};

class ShardStore {
 public:
  /// Opens the shard's file in `folder`, which must exist. All of these throw DatabaseError.
  ShardStore(const std::string& folder, std::string group, baton::ShardId shard);

  /// Makes the file refuse all older terms from now on. Throws StaleTerm if it has seen a newer
  /// one.
  void Raise(baton::Term term);
  void Put(const Writer& writer, const std::string& key, const std::string& value);
  std::int64_t Increment(const Writer& writer, const std::string& key, std::int64_t by);
  /// Returns the stored value. Throws StaleTerm if the file has seen a newer term than `term`.
  std::optional<std::string> Get(baton::Term term, const std::string& key);

 private:
  template <typename Effect>
  std::string Write(const Writer& writer, Effect effect);
  void RaiseInTransaction(baton::Term term);
  void ForgetOldRequests();

  const std::string group_;
  const std::int64_t shard_;
  Database database_;
  struct Statements {
    explicit Statements(const Database& database);
    Statement raise, term, get, put, answer, remember, forget;
  };
  std::optional<Statements> statements_;
  int writes_ = 0;
};

}  // namespace kv
