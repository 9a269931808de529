// FileSystem: what kind of file system a file is on, and whether its locks prove anything.
//
// A free lock proves that its holder is dead only if the kernel of this host alone decides about
// it. With a file system on other machines, a server or another host decides: it may forget a lock
// while its holder lives, and some of these file systems check no locks at all. So the file systems
// that are trusted are listed, and any other is not.
//
// A trusted one must also tell a copy from the original by device and inode. That is why bcachefs
// is not listed, although it is local: a snapshot of it has the original's device and inodes, but
// locks of its own.
//
// Pure, except FileSystemOf: any thread.
#pragma once

#include <cstdint>
#include <string>

namespace baton::runtime {

struct FileSystem {
  std::string name;  ///< "ext4", "nfs"; of an unknown one its number: "type 0x1234"
  bool locks_are_proof = false;
};

/// `type` is f_type of statfs().
FileSystem FileSystemOfType(std::int64_t type);
/// Of an open file. If the kernel does not say it: without proof.
FileSystem FileSystemOf(int file);
/// Whether mapping the open file keeps another file open, as on overlayfs: then a lock on it ends
/// with its last descriptor.
bool MapsAnotherFile(int file);

}  // namespace baton::runtime
