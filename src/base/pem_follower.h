// PemFollower: reads certificates from files again and again, and passes on new ones.
//
// Thread-safe. A PemFollower has one thread, which reads the files every kLookAtPems. A pipe or a
// character device gives its content only once, so the thread does not read it again. If a file
// can't be read or is empty, the earlier texts stay in use, and problem() says why.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "base/changing_files.h"
#include "base/pem.h"
#include "baton/result.h"

namespace baton {

inline constexpr std::chrono::milliseconds kLookAtPems{500};

/// Paths of files; empty: the file is not given.
struct PemFiles {
  std::string ca = {};
  std::string cert = {};
  std::string key = {};
};

/// Reads the given files without checking their contents. Removes the line ends at the end of each
/// text. Blocks as long as the file system does. If a file is a pipe, waits for the pipe's writer.
/// kInvalidArgument: a file can't be read, is larger than 1 MiB, or has nothing but line ends.
Result<PemTexts> ReadPems(const PemFiles& files);

class PemFollower {
 public:
  /// Called after each read in which a text differs from the texts in use. Gets all texts. Nobody
  /// has checked them: call CheckPem (pem.h). If the function returns OK, the new texts are in use
  /// from now on. If it returns an error, the earlier texts stay in use. Then the next read leads
  /// to another call, even with the same texts.
  using Use = std::function<Status(const PemTexts& texts)>;

  /// `used`: the texts in use now, as ReadPems returned them. The thread first reads the files
  /// after kLookAtPems. It calls `use` without a lock, and never after the destructor has returned.
  /// Throws std::system_error if the host lacks threads. REQUIRES (not checked): `use` is not
  /// empty, and does not destroy this object.
  PemFollower(const PemFiles& files, const PemTexts& used, Use use);
  /// Waits until the present read and the present call of `use` are over. A read lasts as long as
  /// the file system takes.
  ~PemFollower();
  PemFollower(const PemFollower&) = delete;
  PemFollower& operator=(const PemFollower&) = delete;

  /// Why the present texts of the files are not used; empty: no reason is known. An error is shown
  /// once two reads in a row have found it, until a read does not find it (see
  /// ChangingFiles::trouble).
  std::string problem() const;

 private:
  void Run();

  const Use use_;
  ChangingFiles files_;       // only the thread uses it
  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable ended_;
  bool over_ = false;
  std::string problem_;
  std::thread thread_;  // last, because it uses the other members
};

}  // namespace baton
