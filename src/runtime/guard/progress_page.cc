#include "runtime/guard/progress_page.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace baton::runtime {
namespace {

constexpr std::size_t kSize = 4096;
constexpr std::int64_t kMagic = 0x6261746F6E50;  // another file's first bytes are hardly these

const Error kNoPage{ErrorCode::kInternal, "no page of memory to share with the guard"};

}  // namespace

static_assert(std::atomic_ref<std::int64_t>::is_always_lock_free, "two processes use it");

Result<ProgressPage::Content*> ProgressPage::Map(int descriptor) {
  struct stat status {};
  // A shorter file would end this process with a signal at the first read.
  const bool large = fstat(descriptor, &status) == 0 && status.st_size >= static_cast<off_t>(kSize);
  void* const page =
      large ? mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0) : MAP_FAILED;
  if (page == MAP_FAILED) return kNoPage;
  return static_cast<Content*>(page);
}

ProgressPage::ProgressPage(int descriptor, Content* content)
    : descriptor_(descriptor), content_(content) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0) return;
  device_ = status.st_dev;
  inode_ = status.st_ino;
}

int ProgressPage::descriptor() const {
  struct stat status {};
  const bool same = fstat(descriptor_, &status) == 0 && status.st_dev == device_ &&
                    status.st_ino == inode_ && inode_ != 0;
  return same ? descriptor_ : -1;
}

Result<std::unique_ptr<ProgressPage>> ProgressPage::Create() {
  const int created = memfd_create("baton-progress", MFD_CLOEXEC);
  // Never one of the standard streams', into which the program writes.
  const int descriptor = created < 0 ? -1 : fcntl(created, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (created >= 0) close(created);
  if (descriptor < 0) return kNoPage;
  if (ftruncate(descriptor, kSize) != 0) {
    close(descriptor);
    return kNoPage;
  }
  auto mapped = Map(descriptor);
  if (!mapped) {
    close(descriptor);
    return mapped.error();
  }
  mapped.value()->magic = kMagic;
  return std::unique_ptr<ProgressPage>(new ProgressPage(descriptor, mapped.value()));
}

Result<std::unique_ptr<ProgressPage>> ProgressPage::Open(int descriptor) {
  auto mapped = Map(descriptor);
  close(descriptor);
  if (!mapped) return mapped.error();
  std::unique_ptr<ProgressPage> page(new ProgressPage(-1, mapped.value()));
  if (page->content_->magic != kMagic) return kNoPage;
  return page;
}

ProgressPage::~ProgressPage() {
  munmap(content_, kSize);
  if (descriptor() >= 0) close(descriptor_);
}

std::optional<SteadyTime> ProgressPage::Last() const noexcept {
  const std::int64_t count = Time().load();
  if (count == 0) return std::nullopt;
  return SteadyTime(SteadyTime::duration(count));
}

}  // namespace baton::runtime
