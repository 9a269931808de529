#include "app/common/reloaded_files.h"

#include <utility>

#include "base/log.h"

namespace baton::app {

ReloadedFiles::ReloadedFiles(std::string what, std::vector<File> files)
    : what_(std::move(what)), files_(std::move(files)) {}

void ReloadedFiles::Look(const ChangingFiles::Use& use) {
  if (files_.Look(use)) log::Info(what_ + " have changed in their files");
  const std::string before = std::exchange(said_, files_.trouble());
  if (said_.empty() || said_ == before) return;
  log::Warn(what_ + " are left as they were", {{"error", said_}});
}

}  // namespace baton::app
