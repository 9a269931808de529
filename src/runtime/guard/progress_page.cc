#include "runtime/guard/progress_page.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace baton::runtime {
namespace {

constexpr std::size_t kSize = 4096;

}  // namespace

static_assert(std::atomic_ref<std::int64_t>::is_always_lock_free, "two processes use it");

Result<std::int64_t*> ProgressPage::Map(int descriptor) {
  struct stat status {};
  // A shorter file would end this process with a signal at the first read.
  const bool large = fstat(descriptor, &status) == 0 && status.st_size >= static_cast<off_t>(kSize);
  void* const page =
      large ? mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0) : MAP_FAILED;
  if (page == MAP_FAILED) {
    return Error{ErrorCode::kInternal, "no page of memory to share with the guard"};
  }
  return static_cast<std::int64_t*>(page);
}

Result<std::unique_ptr<ProgressPage>> ProgressPage::Create() {
  const int descriptor = memfd_create("baton-progress", MFD_CLOEXEC);
  if (descriptor < 0 || ftruncate(descriptor, kSize) != 0) {
    if (descriptor >= 0) close(descriptor);
    return Error{ErrorCode::kInternal, "no page of memory to share with the guard"};
  }
  auto mapped = Map(descriptor);
  if (!mapped) {
    close(descriptor);
    return mapped.error();
  }
  std::unique_ptr<ProgressPage> page(new ProgressPage(descriptor, mapped.value()));
  page->Clear();
  return page;
}

Result<std::unique_ptr<ProgressPage>> ProgressPage::Open(int descriptor) {
  auto mapped = Map(descriptor);
  close(descriptor);
  if (!mapped) return mapped.error();
  return std::unique_ptr<ProgressPage>(new ProgressPage(-1, mapped.value()));
}

ProgressPage::~ProgressPage() {
  munmap(time_, kSize);
  if (descriptor_ >= 0) close(descriptor_);
}

std::optional<SteadyTime> ProgressPage::Last() const noexcept {
  const std::int64_t count = Time().load();
  if (count == 0) return std::nullopt;
  return SteadyTime(SteadyTime::duration(count));
}

}  // namespace baton::runtime
