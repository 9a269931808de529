// The SQL form on SQLite: transactions of two leaders on one database file.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "baton/fencing.h"

namespace baton {
namespace {

/// One leader's connection. Every failure fails the test.
class Database {
 public:
  explicit Database(const std::string& path) {
    EXPECT_EQ(sqlite3_open(path.c_str(), &database_), SQLITE_OK);
    sqlite3_busy_timeout(database_, 60'000);
  }
  ~Database() { sqlite3_close(database_); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  void Execute(const std::string& sql) {
    char* error = nullptr;
    EXPECT_EQ(sqlite3_exec(database_, sql.c_str(), nullptr, nullptr, &error), SQLITE_OK) << error;
    sqlite3_free(error);
  }
  /// Whether the term is in force in the transaction that has begun.
  bool RaiseTerm(ShardId shard, Term term, const std::string& group = "orders") {
    sqlite3_stmt* statement = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(database_, kSqlRaiseTerm, -1, &statement, nullptr), SQLITE_OK)
        << sqlite3_errmsg(database_);
    sqlite3_bind_text(statement, 1, group.data(), static_cast<int>(group.size()), SQLITE_STATIC);
    sqlite3_bind_int64(statement, 2, shard.value);
    sqlite3_bind_int64(statement, 3, term.value);
    EXPECT_EQ(sqlite3_step(statement), SQLITE_DONE) << sqlite3_errmsg(database_);
    const bool raised = sqlite3_changes(database_) == 1;
    sqlite3_finalize(statement);
    return raised;
  }
  /// The write that an application makes: fenced, in one transaction.
  bool Put(ShardId shard, Term term, const std::string& value) {
    Execute("BEGIN IMMEDIATE");
    const bool leads = RaiseTerm(shard, term);
    if (leads) Execute("INSERT INTO writes VALUES ('" + value + "')");
    Execute(leads ? "COMMIT" : "ROLLBACK");
    return leads;
  }
  std::int64_t Number(const std::string& query) {
    sqlite3_stmt* statement = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(database_, query.c_str(), -1, &statement, nullptr), SQLITE_OK);
    EXPECT_EQ(sqlite3_step(statement), SQLITE_ROW);
    const std::int64_t number = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return number;
  }

 private:
  sqlite3* database_ = nullptr;
};

class SqlFence : public ::testing::Test {
 protected:
  SqlFence() {
    std::string folder = (std::filesystem::temp_directory_path() / "baton-sql-XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr) std::abort();
    folder_ = folder;
    Database database(path());
    database.Execute(kSqlCreateTerms);
    database.Execute("CREATE TABLE writes (value TEXT)");
  }
  ~SqlFence() override { std::filesystem::remove_all(folder_); }
  std::string path() const { return folder_ / "shard.db"; }

  std::filesystem::path folder_;
};

// Plan: the old leader writes, then the new one. The old leader's next write is refused and leaves
// nothing. A crash of either changes nothing, as everything is in the file.
TEST_F(SqlFence, RefusesTheOldLeaderInTheTransactionThatWrites) {
  Database old_leader(path());
  Database new_leader(path());
  EXPECT_TRUE(old_leader.Put(ShardId{3}, Term{10}, "a"));
  EXPECT_TRUE(old_leader.Put(ShardId{3}, Term{10}, "b"));
  EXPECT_TRUE(new_leader.Put(ShardId{3}, Term{12}, "c"));
  EXPECT_FALSE(old_leader.Put(ShardId{3}, Term{10}, "d"));
  EXPECT_TRUE(old_leader.Put(ShardId{4}, Term{11}, "e")) << "another shard";
  EXPECT_FALSE(Database(path()).Put(ShardId{3}, Term{11}, "f")) << "a new connection";
  old_leader.Execute("BEGIN IMMEDIATE");
  EXPECT_TRUE(old_leader.RaiseTerm(ShardId{3}, Term{2}, "payments")) << "another group";
  old_leader.Execute("COMMIT");
  EXPECT_EQ(new_leader.Number("SELECT count(*) FROM writes"), 4);
  EXPECT_EQ(
      new_leader.Number("SELECT term FROM baton_terms WHERE group_name = 'orders' AND shard = 3"),
      12);
}

// Plan: the new leader's transaction is rolled back, for example by a crash. The old leader may
// still write.
TEST_F(SqlFence, RemembersNoTermOfATransactionThatWasRolledBack) {
  Database old_leader(path());
  Database new_leader(path());
  EXPECT_TRUE(old_leader.Put(ShardId{3}, Term{10}, "a"));
  new_leader.Execute("BEGIN IMMEDIATE");
  EXPECT_TRUE(new_leader.RaiseTerm(ShardId{3}, Term{12}));
  new_leader.Execute("ROLLBACK");
  EXPECT_TRUE(old_leader.Put(ShardId{3}, Term{10}, "b"));
}

}  // namespace
}  // namespace baton
