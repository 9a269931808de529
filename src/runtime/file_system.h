// FileSystem: the kind of file system that a file is on, and whether its free locks prove that
// their holders are dead.
//
// A free lock is a proof only if the kernel of this host alone decides about the lock. For a
// network file system, a server or another host decides, and may forget a lock while its holder
// lives. Some network file systems check no locks at all. So only the file systems that
// file_system.cc lists as proof are trusted.
//
// A trusted file system must also tell a copy from the original by device and inode. So bcachefs is
// not trusted, although it is local. In its snapshots, a file has the original's device and inode,
// but a lock of its own.
//
// Any thread. FileSystemOfType is pure; the other functions ask the kernel.
#pragma once

#include <cstdint>
#include <string>

namespace baton::runtime {

struct FileSystem {
  std::string name;  ///< for example "ext4"; "type 0x1234" for a type that is not listed
  bool locks_are_proof = false;  ///< a free lock proves that its holder is dead
};

/// `type`: f_type of statfs().
FileSystem FileSystemOfType(std::int64_t type);
/// The file system of an open file. If the kernel does not say which, the name is "unknown type",
/// and locks are no proof.
FileSystem FileSystemOf(int file);
/// Whether the open file is on overlayfs. On overlayfs, a mapping of the file (mmap) keeps another
/// file open. So the file's lock ends with the file's last descriptor, even if the mapping still
/// exists. False if the kernel does not say which file system the file is on.
bool MapsAnotherFile(int file);

}  // namespace baton::runtime
