// Owning handles for a SQLite database and a prepared statement.
#ifndef GRAPHTREE_ALLOCATOR_SNAPSHOT_SQLITE_HANDLE_H_
#define GRAPHTREE_ALLOCATOR_SNAPSHOT_SQLITE_HANDLE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "sqlite3.h"

namespace graphtree::snapshot {

struct SqliteClose {
  void operator()(sqlite3* database) const { sqlite3_close(database); }
};
using SqliteDatabase = std::unique_ptr<sqlite3, SqliteClose>;

inline absl::Status SqliteError(sqlite3* database, absl::string_view doing) {
  return absl::InvalidArgumentError(
      absl::StrCat(doing, ": SQLite says: ", sqlite3_errmsg(database)));
}

// A statement and the number of the next parameter or column.
class SqliteStatement {
 public:
  static absl::StatusOr<SqliteStatement> Prepare(sqlite3* database, absl::string_view sql) {
    SqliteStatement statement;
    sqlite3_stmt* prepared = nullptr;
    if (sqlite3_prepare_v2(database, sql.data(), static_cast<int>(sql.size()), &prepared,
                           nullptr) != SQLITE_OK) {
      return SqliteError(database, "preparing a statement");
    }
    statement.statement_.reset(prepared);
    return statement;
  }

  void Bind(uint64_t value) { Bind(static_cast<int64_t>(value)); }
  void Bind(int64_t value) { sqlite3_bind_int64(statement_.get(), ++next_, value); }
  // The text must stay until the statement has run.
  void Bind(absl::string_view text) {
    sqlite3_bind_text(statement_.get(), ++next_, text.data(), static_cast<int>(text.size()),
                      SQLITE_STATIC);
  }
  void BindBlob(absl::string_view bytes) {
    sqlite3_bind_blob(statement_.get(), ++next_, bytes.data(), static_cast<int>(bytes.size()),
                      SQLITE_STATIC);
  }
  void BindNull() { sqlite3_bind_null(statement_.get(), ++next_); }

  // Runs an INSERT and makes it ready for the next one.
  bool Run() {
    const bool done = sqlite3_step(statement_.get()) == SQLITE_DONE;
    sqlite3_reset(statement_.get());
    next_ = 0;
    return done;
  }

  // SQLITE_ROW, SQLITE_DONE or an error.
  int Step() {
    next_ = 0;
    return sqlite3_step(statement_.get());
  }
  bool IsNull(int column) { return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL; }
  bool IsBlob(int column) { return sqlite3_column_type(statement_.get(), column) == SQLITE_BLOB; }
  bool IsInteger(int column) {
    return sqlite3_column_type(statement_.get(), column) == SQLITE_INTEGER;
  }
  int64_t Integer(int column) { return sqlite3_column_int64(statement_.get(), column); }
  absl::string_view Text(int column) {
    const auto* text = sqlite3_column_text(statement_.get(), column);
    const int size = sqlite3_column_bytes(statement_.get(), column);
    return text == nullptr ? absl::string_view()
                           : absl::string_view(reinterpret_cast<const char*>(text),
                                               static_cast<size_t>(size));
  }

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int next_ = 0;
};

}  // namespace graphtree::snapshot

#endif  // GRAPHTREE_ALLOCATOR_SNAPSHOT_SQLITE_HANDLE_H_
