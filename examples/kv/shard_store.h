// One shard's data: a SQLite file that every node could open, written by the shard's leader alone.
//
// The fence lies in the file: each write first raises the shard's term in the transaction that
// writes, so a leader of old changes nothing. Beside it lies what makes retries harmless: the ids
// of the requests that were carried out, with their answers, in the same transaction too.
//
// One thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <baton/types.h>

#include "database.h"

namespace kv {

/// A newer leadership has written to the file: give the shard up.
struct StaleTerm : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// The request can't be carried out on what is stored.
struct BadValue : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// On whose behalf something is written, and for which request. An empty id is not remembered.
struct Writer {
  baton::Term term;
  std::string request_id;
};

class ShardStore {
 public:
  /// Opens the shard's file in `folder`, which must exist. All of these throw DatabaseError.
  ShardStore(const std::string& folder, std::string group, baton::ShardId shard);

  /// From now on the file refuses all older terms. Throws StaleTerm where it has seen a newer one.
  void Raise(baton::Term term);
  void Put(const Writer& writer, const std::string& key, const std::string& value);
  std::int64_t Increment(const Writer& writer, const std::string& key, std::int64_t by);
  /// What is stored, unless a newer leadership than `term` has begun.
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
