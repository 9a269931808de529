#include "runtime/file_system.h"

#include <sys/vfs.h>

#include <fmt/format.h>

namespace baton::runtime {
namespace {

enum class Locks { kAreProof, kAreNoProof };

struct Known {
  std::int64_t type;
  const char* name;
  Locks locks;
};

constexpr const char* kOverlay = "overlayfs";
// overlayfs keeps the lock with its own inode, which stays the same when a file of a lower layer is
// copied up. Opening for writing, as StateLock does, copies up before it locks.
constexpr Known kKnown[] = {
    {0xEF53, "ext4", Locks::kAreProof},  // ext2 and ext3 have the same number
    {0x58465342, "xfs", Locks::kAreProof},
    {0x9123683E, "btrfs", Locks::kAreProof},
    {0xF2F52010, "f2fs", Locks::kAreProof},
    {0x2FC12FC1, "zfs", Locks::kAreProof},
    {0x01021994, "tmpfs", Locks::kAreProof},
    {0x794C7630, kOverlay, Locks::kAreProof},
    // Only for the name in the log.
    {0x6969, "nfs", Locks::kAreNoProof},
    {0xFF534D42, "cifs", Locks::kAreNoProof},
    {0xFE534D42, "smb2", Locks::kAreNoProof},
    {0x517B, "smb", Locks::kAreNoProof},
    {0x65735546, "fuse", Locks::kAreNoProof},
    {0x00C36400, "ceph", Locks::kAreNoProof},
    {0x0BD00BD0, "lustre", Locks::kAreNoProof},
    {0x7461636F, "ocfs2", Locks::kAreNoProof},
    {0x01021997, "9p", Locks::kAreNoProof},
    {0x01161970, "gfs2", Locks::kAreNoProof},
    {0x47504653, "gpfs", Locks::kAreNoProof},
    {0x19830326, "beegfs", Locks::kAreNoProof},
    {0x5346414F, "afs", Locks::kAreNoProof},
    {0xCA451A4E, "bcachefs", Locks::kAreNoProof},
};

}  // namespace

FileSystem FileSystemOfType(std::int64_t type) {
  for (const Known& known : kKnown) {
    if (known.type == type) return {known.name, known.locks == Locks::kAreProof};
  }
  return {fmt::format("type {:#x}", type), false};
}

FileSystem FileSystemOf(int file) {
  struct statfs info {};
  if (fstatfs(file, &info) != 0) return {"unknown type", false};
  // On 32-bit machines the kernel's number is negative if its highest bit is set.
  return FileSystemOfType(static_cast<std::uint32_t>(info.f_type));
}

bool MapsAnotherFile(int file) { return FileSystemOf(file).name == kOverlay; }

}  // namespace baton::runtime
