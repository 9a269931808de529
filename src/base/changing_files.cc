#include "base/changing_files.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "base/small_file.h"

namespace baton {
namespace {

// A pipe gives its content only once, at the start.
bool IsPipe(const std::string& path) {
  std::error_code error;
  const auto type = std::filesystem::status(path, error).type();
  return type == std::filesystem::file_type::fifo || type == std::filesystem::file_type::character;
}

}  // namespace

ChangingFiles::ChangingFiles(std::vector<File> files) {
  for (File& file : files) {
    paths_.push_back(std::move(file.path));
    used_.push_back(WithoutLineEnds(std::move(file.content)));
  }
}

bool ChangingFiles::Look(const Use& use) {
  Result<std::vector<std::string>> read = Read();
  const bool changed = read.ok() && read.value() != used_;
  const Status done = !read.ok() ? Status(read.error()) : changed ? use(read.value()) : Ok();
  const std::string found = done.ok() ? "" : done.error().message;
  trouble_ = found == found_ ? found : "";
  found_ = found;
  if (!changed || !done.ok()) return false;
  used_ = std::move(read).value();
  return true;
}

Result<std::vector<std::string>> ChangingFiles::Read() const {
  std::vector<std::string> contents = used_;
  for (std::size_t i = 0; i < paths_.size(); ++i) {
    if (paths_[i].empty() || IsPipe(paths_[i])) continue;
    Result<std::string> read = ReadSmallFile(paths_[i]);
    if (!read) return read.error();
    contents[i] = WithoutLineEnds(std::move(read).value());
    if (!contents[i].empty()) continue;
    return Error{ErrorCode::kInvalidArgument, paths_[i] + " is empty"};
  }
  return contents;
}

}  // namespace baton
