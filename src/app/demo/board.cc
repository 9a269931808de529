#include "app/demo/board.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

namespace baton::app {
namespace {

std::size_t SizeFor(std::uint32_t shards) {
  return sizeof(DemoBoard::Head) + shards * sizeof(std::atomic<BoardWord>);
}

}  // namespace

DemoBoard::DemoBoard(void* memory, std::uint32_t shards)
    : memory_(memory),
      size_(SizeFor(shards)),
      words_(reinterpret_cast<std::atomic<BoardWord>*>(static_cast<char*>(memory) + sizeof(Head)),
             shards) {}

DemoBoard::~DemoBoard() { munmap(memory_, size_); }

Result<std::unique_ptr<DemoBoard>> DemoBoard::Create(const std::string& path,
                                                     std::uint32_t shards) {
  return Map(path, shards, O_CREAT | O_EXCL);
}

Result<std::unique_ptr<DemoBoard>> DemoBoard::Open(const std::string& path, std::uint32_t shards) {
  return Map(path, shards, 0);
}

Result<std::unique_ptr<DemoBoard>> DemoBoard::Map(const std::string& path, std::uint32_t shards,
                                                  int flags) {
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC | flags, 0600);
  void* memory = MAP_FAILED;
  const auto size = static_cast<off_t>(SizeFor(shards));
  // A file that has this size already is not changed.
  if (file >= 0 && ftruncate(file, size) == 0) {
    memory = mmap(nullptr, SizeFor(shards), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  const int error = errno;
  if (file >= 0) close(file);
  if (memory == MAP_FAILED) {
    return Error{ErrorCode::kUnavailable,
                 fmt::format("can't map {}: {}", path, std::strerror(error))};
  }
  return std::unique_ptr<DemoBoard>(new DemoBoard(memory, shards));
}

}  // namespace baton::app
