#include "database.h"

namespace kv {

Database::Database(const std::string& path, int patience_ms) {
  sqlite3* handle = nullptr;
  const int opened = sqlite3_open(path.c_str(), &handle);
  handle_.reset(handle);
  if (opened != SQLITE_OK)
    throw DatabaseError("can't open " + path + ": " + sqlite3_errstr(opened));
  sqlite3_busy_timeout(handle, patience_ms);
}

void Database::Execute(const char* sql) {
  if (sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK) {
    throw DatabaseError(sqlite3_errmsg(handle_.get()));
  }
}

Statement::Statement(const Database& database, const char* sql) : database_(database) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(database.handle(), sql, -1, &statement, nullptr) != SQLITE_OK) {
    throw DatabaseError(sqlite3_errmsg(database.handle()));
  }
  statement_.reset(statement);
}

Statement& Statement::Bind(int index, std::int64_t value) {
  sqlite3_bind_int64(statement_.get(), index, value);
  return *this;
}

Statement& Statement::Bind(int index, std::string_view value) {
  sqlite3_bind_text(statement_.get(), index, value.data(), static_cast<int>(value.size()),
                    SQLITE_STATIC);
  return *this;
}

bool Statement::Step() {
  const int stepped = sqlite3_step(statement_.get());
  if (stepped == SQLITE_ROW) return true;
  if (stepped == SQLITE_DONE) return false;
  const std::string why = sqlite3_errmsg(database_.handle());
  Reset();
  throw DatabaseError(why);
}

void Statement::Reset() {
  sqlite3_reset(statement_.get());
  sqlite3_clear_bindings(statement_.get());
}

void Statement::Run() {
  while (Step()) continue;
  Reset();
}

std::optional<std::string> Statement::Text() {
  std::optional<std::string> text;
  if (Step()) {
    const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement_.get(), 0));
    text.emplace(bytes == nullptr ? "" : bytes,
                 static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), 0)));
  }
  Reset();
  return text;
}

std::optional<std::int64_t> Statement::Number() {
  std::optional<std::int64_t> number;
  if (Step()) number = sqlite3_column_int64(statement_.get(), 0);
  Reset();
  return number;
}

Transaction::Transaction(Database& database) : database_(database) {
  database_.Execute("BEGIN IMMEDIATE");
}

Transaction::~Transaction() {
  if (open_) sqlite3_exec(database_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

void Transaction::Commit() {
  database_.Execute("COMMIT");
  open_ = false;
}

}  // namespace kv
