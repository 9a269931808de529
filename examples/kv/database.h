// A thin layer over SQLite: a connection, prepared statements, errors as exceptions.
//
// One thread at a time uses a connection and its statements.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace kv {

struct DatabaseError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Database {
 public:
  /// Opens or creates the file. Waits up to `patience_ms` if another process has locked it.
  explicit Database(const std::string& path, int patience_ms = 2000);

  void Execute(const char* sql);
  /// How many rows the last statement changed.
  int Changed() const { return sqlite3_changes(handle_.get()); }
  sqlite3* handle() const { return handle_.get(); }

 private:
  struct Close {
    void operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }
  };
  std::unique_ptr<sqlite3, Close> handle_;
};

class Statement {
 public:
  /// `database` must outlive the statement.
  Statement(const Database& database, const char* sql);

  Statement& Bind(int index, std::int64_t value);
  /// The text must live until the statement has run.
  Statement& Bind(int index, std::string_view value);
  /// Runs the statement to its end, and makes it ready for the next run.
  void Run();
  /// Runs the statement and returns its one row's first column as text; nullopt: no row. Makes it
  /// ready for the next run.
  std::optional<std::string> Text();
  std::optional<std::int64_t> Number();

 private:
  bool Step();
  void Reset();

  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  const Database& database_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

/// A transaction: BEGIN IMMEDIATE, and ROLLBACK unless it is committed.
class Transaction {
 public:
  explicit Transaction(Database& database);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void Commit();

 private:
  Database& database_;
  bool open_ = true;
};

}  // namespace kv
