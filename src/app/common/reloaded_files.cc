#include "app/common/reloaded_files.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "app/common/config_file.h"
#include "app/common/etcd_settings.h"
#include "base/log.h"

namespace baton::app {
namespace {

// A pipe gives its content only once, at the start.
bool IsPipe(const std::string& path) {
  std::error_code error;
  const auto type = std::filesystem::status(path, error).type();
  return type == std::filesystem::file_type::fifo || type == std::filesystem::file_type::character;
}

}  // namespace

ReloadedFiles::ReloadedFiles(std::string what, std::vector<File> files) : what_(std::move(what)) {
  for (File& file : files) {
    paths_.push_back(std::move(file.path));
    used_.push_back(WithoutLineEnds(std::move(file.content)));
  }
}

void ReloadedFiles::Look(const Use& use) {
  const Result<std::vector<std::string>> read = Read();
  const bool changed = read.ok() && read.value() != used_;
  const Status done = !read.ok() ? Status(read.error()) : changed ? use(read.value()) : Ok();
  if (done.ok()) {
    if (changed) {
      log::Info(what_ + " have changed in their files");
      used_ = read.value();
    }
    trouble_.clear();
    said_ = false;
    return;
  }
  const std::string& trouble = done.error().message;
  if (std::exchange(trouble_, trouble) != trouble) {
    said_ = false;
  } else if (!std::exchange(said_, true)) {
    log::Warn(what_ + " are left as they were", {{"error", trouble}});
  }
}

Result<std::vector<std::string>> ReloadedFiles::Read() const {
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

}  // namespace baton::app
