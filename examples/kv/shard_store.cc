#include "shard_store.h"

#include <baton/fencing.h>

#include <charconv>
#include <utility>

namespace kv {
namespace {

// Deletes old request ids. A retry comes within its call's deadline of seconds; ids are kept for
// much longer. Each time, within the caller's transaction, more are deleted than came since the
// last time.
constexpr const char* kForget =
    "DELETE FROM requests WHERE rowid IN "
    "(SELECT rowid FROM requests WHERE at < unixepoch() - 600 ORDER BY at LIMIT 2000)";
constexpr int kForgetEvery = 1000;  // writes

std::string PathOf(const std::string& folder, baton::ShardId shard) {
  return folder + "/shard-" + std::to_string(shard.value) + ".db";
}

std::int64_t ToNumber(const std::string& text) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, failed] = std::from_chars(text.data(), end, number);
  if (failed != std::errc() || stop != end) throw BadValue("the stored value is no decimal number");
  return number;
}

}  // namespace

ShardStore::Statements::Statements(const Database& database)
    : raise(database, baton::kSqlRaiseTerm),
      term(database, "SELECT term FROM baton_terms WHERE group_name = $1 AND shard = $2"),
      get(database, "SELECT value FROM entries WHERE key = $1"),
      put(database,
          "INSERT INTO entries (key, value) VALUES ($1, $2) "
          "ON CONFLICT (key) DO UPDATE SET value = excluded.value"),
      answer(database, "SELECT answer FROM requests WHERE id = $1"),
      remember(database, "INSERT INTO requests (id, answer, at) VALUES ($1, $2, unixepoch())"),
      forget(database, kForget) {}

// With synchronous = OFF the data survives the death of any process, which is what this example
// shows, but not that of the machine. For data to keep use FULL, which syncs the disk at each
// write.
ShardStore::ShardStore(const std::string& folder, std::string group, baton::ShardId shard)
    : group_(std::move(group)), shard_(shard.value), database_(PathOf(folder, shard)) {
  database_.Execute("PRAGMA journal_mode = WAL");
  database_.Execute("PRAGMA synchronous = OFF");
  database_.Execute(baton::kSqlCreateTerms);
  database_.Execute("CREATE TABLE IF NOT EXISTS entries (key TEXT PRIMARY KEY, value TEXT)");
  database_.Execute(
      "CREATE TABLE IF NOT EXISTS requests (id TEXT PRIMARY KEY, answer TEXT, at INTEGER)");
  database_.Execute("CREATE INDEX IF NOT EXISTS requests_by_age ON requests (at)");
  statements_.emplace(database_);
}

void ShardStore::RaiseInTransaction(baton::Term term) {
  statements_->raise.Bind(1, std::string_view(group_)).Bind(2, shard_).Bind(3, term.value).Run();
  if (database_.Changed() == 0) throw StaleTerm("a newer leader has written to it");
}

void ShardStore::Raise(baton::Term term) {
  Transaction transaction(database_);
  RaiseInTransaction(term);
  transaction.Commit();
}

// Writes the term, the request's id and the effect in one transaction.
template <typename Effect>
std::string ShardStore::Write(const Writer& writer, Effect effect) {
  Transaction transaction(database_);
  RaiseInTransaction(writer.term);
  if (!writer.request_id.empty()) {
    if (auto answered = statements_->answer.Bind(1, writer.request_id).Text()) return *answered;
  }
  std::string answer = effect();
  if (!writer.request_id.empty()) {
    statements_->remember.Bind(1, writer.request_id).Bind(2, answer).Run();
  }
  ForgetOldRequests();
  transaction.Commit();
  return answer;
}

// Also runs at the first write after the file was opened: a shard may move on before it saw many.
void ShardStore::ForgetOldRequests() {
  if (writes_++ % kForgetEvery == 0) statements_->forget.Run();
}

void ShardStore::Put(const Writer& writer, const std::string& key, const std::string& value) {
  Write(writer, [&] {
    statements_->put.Bind(1, key).Bind(2, value).Run();
    return std::string();
  });
}

std::int64_t ShardStore::Increment(const Writer& writer, const std::string& key, std::int64_t by) {
  const std::string answer = Write(writer, [&] {
    const std::int64_t before = ToNumber(statements_->get.Bind(1, key).Text().value_or("0"));
    std::int64_t after = 0;
    if (__builtin_add_overflow(before, by, &after)) throw BadValue("the sum exceeds 64 bits");
    std::string text = std::to_string(after);
    statements_->put.Bind(1, key).Bind(2, text).Run();
    return text;
  });
  return ToNumber(answer);
}

std::optional<std::string> ShardStore::Get(baton::Term term, const std::string& key) {
  // The value is read first: if no newer leader had written when the term is read, none had before.
  auto value = statements_->get.Bind(1, key).Text();
  const auto newest = statements_->term.Bind(1, std::string_view(group_)).Bind(2, shard_).Number();
  if (newest.value_or(0) > term.value) throw StaleTerm("a newer leader has written to it");
  return value;
}

}  // namespace kv
