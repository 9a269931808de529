// FileSystem: what kind of file system a file is on, and whether its locks prove anything.
//
// A free lock proves that its holder is dead only if the kernel of this host alone decides about
// the lock. For a file system on other machines, a server or another host decides. This server or
// host may forget a lock while the holder lives. Some network file systems check no locks at all.
// So a file system is trusted only if file_system.cc lists it as one whose locks are proof.
//
// A trusted file system must also tell a copy from the original by device and inode. That is why
// bcachefs is not trusted, although it is local: its snapshots have the original's device and
// inodes, but locks of their own.
//
// Any thread. FileSystemOfType is pure; the others ask the system.
#pragma once

#include <cstdint>
#include <string>

namespace baton::runtime {

struct FileSystem {
  std::string name;  ///< for example "ext4"; "type 0x1234" for a type that is not listed
  bool locks_are_proof = false;  ///< a free lock proves that its holder is dead
};

/// `type` is f_type of statfs().
FileSystem FileSystemOfType(std::int64_t type);
/// The file system of an open file. If the kernel does not say it, the name is "unknown type", and
/// locks are no proof.
FileSystem FileSystemOf(int file);
/// Whether the open file is on overlayfs. On overlayfs, a mapping of the file (mmap) keeps another
/// file open, below the overlay. So a lock ends when the last descriptor of this file is closed,
/// although the mapping still exists. False if the kernel does not say which file system it is.
bool MapsAnotherFile(int file);

}  // namespace baton::runtime
