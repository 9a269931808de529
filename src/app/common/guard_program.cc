#include "app/common/guard_program.h"

#include <unistd.h>

#include <filesystem>
#include <system_error>

namespace baton::app {

std::string GuardProgram() {
  std::error_code failed;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", failed);
  const auto beside = self.parent_path() / "baton-guard";
  return !failed && ::access(beside.c_str(), X_OK) == 0 ? beside.string() : "baton-guard";
}

}  // namespace baton::app
